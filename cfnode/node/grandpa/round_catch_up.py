"""Catch-up of a node that is GRANDPA rounds behind, and answers to peers that are behind.

A node that does not vote gets to the present round with the next commit, which comes soon on a healthy chain.
A voter, or any node while finality has stalled, asks a peer that names a later round for all votes of the
round before that one. One peer is asked at a time. The answer counts if all its votes are signed by members
of the set and prove that the round is over. Answers that were not requested are dropped unread.

A request of a peer is answered with the last completed round, at most once in 20 s for each peer; a request
that does not match the packets we have sent to that peer is ignored.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

import trio

from cfnode.core.grandpa import AuthoritySet, CatchUp, CatchUpRequest
from cfnode.core.wire import WireError
from cfnode.core.wire.grandpa_gossip import decode_catch_up
from cfnode.flow.wakeup import Wakeup
from cfnode.network.interface import NotificationProtocol, PeerNetwork
from cfnode.node.asking import reputation
from cfnode.node.grandpa.neighbors import Neighbors
from cfnode.node.grandpa.rounds import MAX_VOTES, Rounds
from cfnode.node.threads import check_in_thread

__all__ = ["ANSWER_INTERVAL_S", "WAIT_FOR_COMMIT_S", "RoundCatchUp"]

log = logging.getLogger("cfnode.grandpa")

WAIT_FOR_COMMIT_S = 10.0
"""Seconds in which a commit may lead to the present round, before a peer is asked: answering costs the peer
work."""

CATCH_UP_TIMEOUT_S = 45.0
"""Seconds for an answer, as in Substrate; after them another peer is asked."""

ANSWER_INTERVAL_S = 20.0
"""Minimum seconds between two answers to a peer, which asks once in 45 s."""


class RoundCatchUp:
    """The requests for the votes of a round, ours and those of peers.

    `rounds_changed` is called when an answer has changed our round.
    """

    def __init__(
        self, network: PeerNetwork, protocol: NotificationProtocol, rounds: Rounds, neighbors: Neighbors,
        rounds_changed: Callable[[], None],
    ) -> None:  # fmt: skip
        self._network = network
        self._protocol = protocol
        self._rounds = rounds
        self._neighbors = neighbors
        self._rounds_changed = rounds_changed
        self._behind_since: float | None = None
        self._asked: tuple[str, CatchUpRequest, float] | None = None
        self._times: Counter[str] = Counter()
        self._answer: tuple[str, CatchUpRequest, bytes] | None = None
        self._answered: dict[str, float] = {}
        self._arrival = Wakeup()

    def forget(self, peer: str) -> None:
        """Forget a peer that has disconnected."""
        self._answered.pop(peer, None)
        del self._times[peer]
        if self._asked is not None and self._asked[0] == peer:
            self._asked = None

    # --- our requests

    def update(self) -> None:
        """Ask a peer if nothing else has led to the present round in time. Call it periodically."""
        now, rounds = trio.current_time(), self._rounds
        peers = self._neighbors.ahead(rounds.set_id, rounds.current)
        if not peers:
            self._behind_since = None
            return
        self._behind_since = now if self._behind_since is None else self._behind_since
        waited = now - self._behind_since >= (WAIT_FOR_COMMIT_S if rounds.commits_end_rounds else 0)
        if waited and (self._asked is None or now >= self._asked[2] + CATCH_UP_TIMEOUT_S):
            peer = min(peers, key=lambda peer: self._times[peer])
            request = CatchUpRequest(self._neighbors.packets[peer].round - 1, rounds.set_id)
            if self._protocol.send(peer, request.encode()):
                self._times[peer] += 1
                self._asked = peer, request, now

    def answered(self, peer: str, data: bytes) -> None:
        """Keep a peer's answer, which has the votes of a round, if it was requested."""
        if self._asked is not None and self._asked[0] == peer:
            self._answer, self._asked = (peer, self._asked[1], data), None
            self._arrival.notify()

    async def run(self) -> None:
        """Check answers until cancelled."""
        while True:
            if self._answer is None:
                await self._arrival.wait()
                continue
            (peer, request, data), self._answer = self._answer, None
            await self._take(peer, request, data)

    async def _take(self, peer: str, request: CatchUpRequest, data: bytes) -> None:
        try:
            answer = await check_in_thread(decode_catch_up, data)
        except WireError as error:
            self._network.report(peer, reputation.BAD_MESSAGE, str(error))
            return
        if request.set_id != self._rounds.set_id:
            return  # another set has begun meanwhile
        fault = await check_in_thread(_fault, answer, request, self._rounds.voters)
        if fault is not None:
            self._network.report(peer, reputation.BAD_GOSSIP, f"a catch-up {fault}")
        elif self._rounds.apply_catch_up(answer):
            log.debug("Round %d of set %d is over: %s has its votes", answer.round, answer.set_id, peer)
            self._rounds_changed()

    # --- requests of peers

    def requested(self, peer: str, request: CatchUpRequest) -> None:
        """Answer a peer that requests the votes of a completed round."""
        completed, packet = self._rounds.completed, self._neighbors.packets.get(peer)
        if completed is None or packet is None or request.set_id != self._rounds.set_id:
            return
        due = trio.current_time() >= self._answered.get(peer, 0.0)
        if due and packet.round < request.round <= completed.number:
            self._answered[peer] = trio.current_time() + ANSWER_INTERVAL_S
            self._protocol.send(peer, completed.catch_up().encode())


def _fault(answer: CatchUp, request: CatchUpRequest, voters: AuthoritySet) -> str | None:
    """Return the fault of an answer; None if all its votes are valid."""
    if answer.set_id != request.set_id or answer.round < request.round:
        return "of another round than requested"
    votes = answer.votes()
    counts = Counter((vote.stage, vote.authority) for vote in votes)
    if any(authority not in voters.weights for _, authority in counts):
        return "with votes by keys outside the set"
    if any(count > MAX_VOTES for count in counts.values()):
        return "with too many votes of an authority"
    return None if all(vote.is_signed() for vote in votes) else "with a bad signature"
