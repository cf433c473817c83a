"""Queue of unchecked votes of peers, their signature checks, and the cost of a bad vote.

The cheap checks come first and need no decoding: length, stage, round and set, and whether the vote is known.
The remaining votes wait as bytes, a bounded number of each peer. One task serves the peers in turn, some
votes at a time, and has the signatures checked in a thread. The first vote by a key outside the set, or with
a bad signature, ends the peer's turn and costs it reputation; its next turn comes two seconds later.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence

import trio

from cfnode.core.grandpa import PROPOSE, VOTE_SIZE, Vote
from cfnode.flow.wakeup import Wakeup
from cfnode.network.interface import PeerNetwork
from cfnode.node.asking import reputation
from cfnode.node.grandpa.rounds import Rounds
from cfnode.node.threads import check_in_thread

__all__ = ["MAX_QUEUED_VOTES", "TURN_AFTER_BAD_VOTE_S", "VoteQueue"]

MAX_QUEUED_VOTES = 1_024
"""Waiting votes of a peer: three rounds of 150 authorities, 150 KiB."""

MAX_VOTE_BATCH = 32
"""Votes checked in one turn, some 2 ms in a thread."""

TURN_AFTER_BAD_VOTE_S = 2.0
"""Seconds without a turn after a bad vote: detecting one takes up to 5 ms."""

_ROUND, _SET, _STAGE = slice(1, 9), slice(9, 17), 17


class VoteQueue:
    """The unchecked votes of peers. `accepted(peer, votes)` is called with valid votes and their bytes."""

    def __init__(
        self, network: PeerNetwork, rounds: Rounds, accepted: Callable[[str, list[tuple[Vote, bytes]]], None]
    ) -> None:
        self._network = network
        self._rounds = rounds
        self._accepted = accepted
        self._queued: dict[str, deque[bytes]] = {}
        self._next_turn: dict[str, float] = {}
        self._arrival = Wakeup()

    def received(self, peer: str, data: bytes) -> int | None:
        """Queue a vote of a peer; return its round if the vote is known already."""
        if len(data) != VOTE_SIZE or data[_STAGE] > PROPOSE:
            self._network.report(peer, reputation.BAD_MESSAGE, "a malformed vote")
            return None
        number = int.from_bytes(data[_ROUND], "little")
        if not self._rounds.expects(number, int.from_bytes(data[_SET], "little")):
            return None  # no fault: the peer cannot know that we have just changed the round
        if self._rounds.has_vote(number, data):
            return number
        self._next_turn.setdefault(peer, 0.0)
        queue = self._queued.setdefault(peer, deque())
        if len(queue) < MAX_QUEUED_VOTES:
            queue.append(data)
            self._arrival.notify()
        return None

    def forget(self, peer: str) -> None:
        """Forget a peer that has disconnected."""
        self._queued.pop(peer, None)
        self._next_turn.pop(peer, None)

    async def run(self) -> None:
        """Check queued votes until cancelled."""
        while True:
            arrival = self._arrival.next
            peer = min(self._queued, key=self._turn_of, default=None)
            turn = math.inf if peer is None else self._turn_of(peer)
            if peer is None or turn > trio.current_time():
                with trio.move_on_at(turn):
                    await arrival.wait()
                continue
            queue = self._queued.pop(peer)
            batch = [queue.popleft() for _ in range(min(MAX_VOTE_BATCH, len(queue)))]
            if queue:
                self._queued[peer] = queue  # after the other peers
            await self._check(peer, batch)

    def _turn_of(self, peer: str) -> float:
        return self._next_turn.get(peer, 0.0)

    async def _check(self, peer: str, batch: Sequence[bytes]) -> None:
        votes = [(Vote.decode(data), data) for data in batch]
        new_votes = [(vote, data) for vote, data in votes if self._is_wanted(vote, data)]
        if not new_votes:
            return  # the set has changed meanwhile, or the chain has been reverted and has no set yet
        members = self._rounds.voters.weights
        of_set = next(
            (index for index, (vote, _) in enumerate(new_votes) if vote.authority not in members),
            len(new_votes),
        )
        valid = await check_in_thread(_count_valid, [vote for vote, _ in new_votes[:of_set]])
        self._accepted(
            peer, [(vote, data) for vote, data in new_votes[:valid] if self._is_wanted(vote, data)]
        )
        if valid < len(new_votes):
            self._queued.pop(peer, None)
            if peer in self._next_turn:  # else it has disconnected meanwhile
                self._next_turn[peer] = trio.current_time() + TURN_AFTER_BAD_VOTE_S
            fault = "a vote by a key outside the set" if valid == of_set else "a vote with a bad signature"
            self._network.report(peer, reputation.BAD_GOSSIP, fault)

    def _is_wanted(self, vote: Vote, data: bytes) -> bool:
        rounds = self._rounds
        expected = rounds.expects(vote.round, vote.set_id) and not rounds.has_vote(vote.round, data)
        return expected and not rounds.is_full(vote)


def _count_valid(votes: Sequence[Vote]) -> int:
    """Return how many votes are valid, up to the first invalid one."""
    return next((index for index, vote in enumerate(votes) if not vote.is_signed()), len(votes))
