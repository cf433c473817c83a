"""How does finality travel, and what do peers have to hear from us to let us know of it?

Peers send votes and commits only to those whose neighbour packet names the right round and set and a lower
final block (`neighbours.py`). Votes are checked (`vote_queue.py`), counted (`rounds.py`) and passed on
(`vote_relay.py`); enough precommits make a commit. A commit names votes without the headers between them;
those are ours to add, and the result is a justification, checked by the chain like any other (`commits.py`).

Which set votes is the chain's to know; it says so with each final block, together with the votes. A commit
from a peer goes on at once to those that lack it. Where votes have made the block final, they do so elsewhere
too: then the commit goes, a second later, only to those that still lack it. What has passed a node by is
asked for (`set_changes.py`, `round_catch_up.py`). Substrate, GRANDPA gossip.
"""

from __future__ import annotations

import logging

import trio

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import (
    CATCH_UP,
    COMMIT,
    ENGINE,
    VOTE,
    AuthoritySet,
    CatchUpRequest,
    CommitMessage,
    EncodedJustification,
    Justification,
    NeighborPacket,
    Vote,
    scheduled_change,
)
from cfnode.core.wire import WireError
from cfnode.core.wire.grandpa_gossip import SUFFIX, decode_gossip, encode_commit
from cfnode.network.model import (
    Closed,
    Network,
    NotificationLimits,
    NotificationProtocol,
    Opened,
    Received,
)
from cfnode.node.chain import Chain
from cfnode.node.chain_errors import BadJustification, FinalityRefused
from cfnode.node.events import Finalized, Imported, Reverted
from cfnode.node.sync import reputation
from cfnode.node.sync.commits import OURS, Commits
from cfnode.node.sync.neighbors import NEIGHBOUR_S, Neighbors
from cfnode.node.sync.peer_set import PeerSet
from cfnode.node.sync.round_catch_up import RoundCatchUp
from cfnode.node.sync.rounds import Rounds
from cfnode.node.sync.set_changes import SetChanges
from cfnode.node.sync.vote_queue import VoteQueue
from cfnode.node.sync.vote_relay import VoteRelay
from cfnode.runtime.calls import LocalFault
from cfnode.store import StateDiscarded

__all__ = ["FinalityGossip"]

log = logging.getLogger("cfnode.grandpa")

LIMITS = NotificationLimits(queue=2_048, per_second=400, burst=2_000)
"""The votes of 150 authorities in two rounds are 600 messages at once, and some 200 in each second."""

RETRY_S = 1.0
"""Seconds after which this node asks itself again what it could not answer."""

LOOK_S = 0.5
"""Seconds between two looks at what time alone changes: slow rounds, late commits."""

LATE_S = 1.0
"""Seconds that a peer may take to hear of a final block by votes: voters send commits within one second."""

FULL, AUTHORITY = b"\x01", b"\x04"
"""Roles, the handshake of this protocol. A light client would get no votes."""


class FinalityGossip:
    """GRANDPA as an observer takes part in it. `declare` before the network runs."""

    def __init__(self, network: Network, chain: Chain, book: PeerSet, *, author: bool = False) -> None:
        self._network = network
        self._chain = chain
        self._book = book
        role = AUTHORITY if author else FULL
        self._protocol: NotificationProtocol = network.notifications(SUFFIX, lambda: role, LIMITS)
        self.rounds = Rounds(chain)
        self._neighbours = Neighbors(self._protocol)
        self._relay = VoteRelay(self._protocol, self.rounds, self._neighbours)
        self._queue = VoteQueue(network, self.rounds, self._accepted)
        self._catch_up = RoundCatchUp(network, self._protocol, self.rounds, self._neighbours, self._moved)
        self._changes = SetChanges(network, chain, book, self._neighbours.packets, self._finalize)
        self._commits = Commits(network, chain, self._finalize)
        self._newest: tuple[CommitMessage, bytes] | None = None
        self._offered_from = 0.0
        self._offered: dict[str, CommitMessage] = {}
        self._ours: CommitMessage | None = None
        self._progress = trio.Event()

    async def run(self) -> None:
        """Until cancelled; begin when the chain has a state."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._commits.run)
            nursery.start_soon(self._queue.run)
            nursery.start_soon(self._catch_up.run)
            nursery.start_soon(self._follow, nursery)

    async def _follow(self, nursery: trio.Nursery) -> None:
        """Hear what becomes of the chain; anew, where events were lost."""
        begun = False
        while True:
            with self._chain.subscribe(4096) as events:
                self.rounds.begin(await self._present_set())
                self._newest = self._newest or self._kept()
                self._moved()
                if not begun:
                    nursery.start_soon(self._listen)
                    nursery.start_soon(self._remind)
                    nursery.start_soon(self._look)
                    nursery.start_soon(self._changes.run)
                    begun = True
                async for event in events:
                    if isinstance(event, Finalized):
                        await self._finalized(event)
                    elif isinstance(event, Reverted):
                        self.rounds.forget()
                        self._newest = self._ours = None
                    elif isinstance(event, Imported):
                        self._commits.arrived(event.block.hash)
                        self.rounds.arrived(event.block.hash)
                        self._moved()
                    self._changes.wake()

    def _kept(self) -> tuple[CommitMessage, bytes] | None:
        """The votes for the final block that were kept from before, for peers that are behind it; those for a
        change of the set are asked for.
        """
        final = self._chain.finalized.hash
        votes, header = dict(self._chain.justifications(final)).get(ENGINE), self._chain.header(final)
        if votes is None or header is None or scheduled_change(header) is not None:
            return None
        justification = Justification.decode(votes)
        message = CommitMessage(justification.round, self.rounds.set_id, justification.commit)
        return message, encode_commit(message)

    async def _present_set(self) -> AuthoritySet:
        """The set that votes now; a local fault only delays the answer."""
        while True:
            try:
                return await self._chain.voters()
            except (LocalFault, StateDiscarded) as fault:
                log.warning("The present authorities are not known yet: %s", fault)
                await trio.sleep(RETRY_S)

    def silent(self) -> list[str]:
        """The peers that have sent no neighbour packet."""
        return sorted(self._protocol.peers - self._neighbours.packets.keys())

    # --- rounds

    def cast(self, vote: Vote) -> None:
        """A vote of this node's own authority, which goes to all peers that take it."""
        data = vote.encode()
        if self.rounds.add(vote, data):
            self._relay.spread(vote.round, data)
        self.rounds.advance()
        self._moved()

    @property
    def in_step(self) -> bool:
        """Does a peer name our set, and none a round too far ahead? Else votes of ours reach no voter."""
        of_set = any(packet.set_id == self.rounds.set_id for packet in self._neighbours.packets.values())
        return of_set and not self._neighbours.ahead(self.rounds.set_id, self.rounds.current)

    async def progress(self) -> None:
        """Wait until rounds, votes or finality may have changed."""
        await self._progress.wait()

    def _accepted(self, peer: str, votes: list[tuple[Vote, bytes]]) -> None:
        """Votes of a peer hold."""
        for vote, data in votes:
            if self.rounds.add(vote, data):
                self._relay.has(peer, vote.round, data)
                self._relay.spread(vote.round, data)
        self.rounds.advance()
        self._moved()

    def _moved(self) -> None:
        """The round may be another one, and its votes may make a block final."""
        self._relay.turn()
        self._tell_all()
        commit = self.rounds.commit()
        if commit is not None:
            self._ours = commit
            self._commits.made(commit)
        self._progress.set()
        self._progress = trio.Event()

    async def _look(self) -> None:
        while True:
            await trio.sleep(LOOK_S)
            self._relay.turn()
            self._catch_up.turn()
            self._offer_all()

    # --- what we say

    def _tell(self, peer: str) -> None:
        """Send a packet, if it brings news; before the set is known there is none."""
        rounds = self.rounds
        if rounds.set_id >= 0:
            completed = 0 if rounds.completed is None else rounds.completed.number
            final = self._chain.finalized.number
            self._neighbours.send(peer, rounds.set_id, rounds.current, completed, final)

    def _tell_all(self) -> None:
        for peer in self._protocol.peers:
            self._tell(peer)

    async def _remind(self) -> None:
        while True:
            self._tell_all()
            await trio.sleep(NEIGHBOUR_S)

    async def _finalized(self, event: Finalized) -> None:
        """Say where we are, then pass the votes on to those who want them."""
        if event.commit is not None:
            self.rounds.noted(event.commit)
            late = LATE_S if event.commit == self._ours else 0.0
            self._newest = event.commit, encode_commit(event.commit)
            self._offered_from = trio.current_time() + late
        self.rounds.begin(await self._present_set() if event.voters is None else event.voters)
        self._moved()
        self._offer_all()

    def _offer_all(self) -> None:
        for peer, packet in self._neighbours.packets.items():
            self._offer(peer, packet)

    def _offer(self, peer: str, packet: NeighborPacket) -> None:
        """Send the newest votes, once, to a peer of their set that does not know their block to be final."""
        sent = self._neighbours.last_sent(peer)
        if self._newest is None or sent is None or trio.current_time() < self._offered_from:
            return
        newest, encoded = self._newest
        target = newest.commit.target_number
        if packet.set_id != newest.set_id or packet.finalized >= target or sent.finalized > target:
            return
        if self._offered.get(peer) is not newest and self._protocol.send(peer, encoded):
            self._offered[peer] = newest

    # --- what we hear

    async def _listen(self) -> None:
        async for event in self._protocol.events:
            match event:
                case Opened(peer_id=peer, handshake=role):
                    self._relay.opened(peer, authority=role == AUTHORITY)
                    self._tell(peer)
                case Closed(peer_id=peer):
                    self._forget(peer)
                case Received(peer_id=peer, data=data):
                    self._received(peer, data)

    def _forget(self, peer: str) -> None:
        self._offered.pop(peer, None)
        for part in (self._neighbours, self._relay, self._queue, self._catch_up, self._commits):
            part.forget(peer)

    def _received(self, peer: str, data: bytes) -> None:
        """Votes, commits and catch-ups wait for their turn; the rest is short."""
        kind = data[0] if data else None
        if kind == COMMIT:
            self._commits.received(peer, data)
        elif kind == CATCH_UP:
            self._catch_up.answered(peer, data)
        elif kind != VOTE:
            self._short(peer, data)
        elif (known := self._queue.received(peer, data)) is not None:
            self._relay.has(peer, known, data)

    def _short(self, peer: str, data: bytes) -> None:
        try:
            message = decode_gossip(data)
        except WireError as error:
            self._network.report(peer, reputation.BAD_MESSAGE, str(error))
            return
        if isinstance(message, NeighborPacket) and peer in self._protocol.peers:
            self._neighbour(peer, message)
        elif isinstance(message, CatchUpRequest):
            self._catch_up.requested(peer, message)

    def _neighbour(self, peer: str, packet: NeighborPacket) -> None:
        before = self._neighbours.received(peer, packet)
        if before is None or before.finalized != packet.finalized:
            self._changes.wake()
        self._tell(peer)  # to a peer that was rounds behind, our round may be news
        if before != packet:
            self._relay.catch(peer)
        self._offer(peer, packet)

    async def _finalize(
        self, peer: str, block: BlockRef, justification: bytes | EncodedJustification
    ) -> bool:
        """Have the chain judge votes of a peer; False where they do not hold."""
        try:
            await self._chain.finalize(block.hash, justification)
        except BadJustification as error:
            if peer != OURS:
                log.warning("Peer %s sent votes that do not hold: %s", peer, error)
                self._network.report(peer, reputation.BAD_GOSSIP, str(error))
            return False
        except FinalityRefused as error:
            log.debug("Votes of %s are of no use: %s", peer, error)
        except (LocalFault, StateDiscarded) as fault:
            log.warning("Votes for #%d are not judged: %s", block.number, fault)
        return True
