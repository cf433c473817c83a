"""GRANDPA gossip: neighbor packets, votes and commits between this node and its peers.

Peers send votes and commits only to peers whose neighbor packet names the right round and set and a lower
final block (`neighbors.py`). Votes are checked (`vote_queue.py`), counted (`rounds.py`) and relayed
(`vote_relay.py`); enough precommits make a commit. A commit names votes without the headers between them.
This node adds the headers, and the result is a justification, which the chain verifies like any other
(`commits.py`).

The chain knows the voting set, and names it in each `BlocksFinalized` event, together with the votes. A
commit from a peer is relayed at once to the peers that lack it. If this node finalized the block by the votes
themselves, so do most peers: then the commit is sent a second later, only to the peers that still lack it.
Votes that this node has missed are requested (`set_changes.py`, `round_catch_up.py`). Substrate, GRANDPA
gossip.
"""

from __future__ import annotations

import logging
from collections import Counter

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
from cfnode.flow.wakeup import Wakeup
from cfnode.network.interface import (
    Closed,
    NotificationLimits,
    NotificationProtocol,
    PeerNetwork,
    ProtocolOpened,
    Received,
)
from cfnode.node.asking import reputation
from cfnode.node.asking.asker import Asker
from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.errors import BadJustification, FinalityRefused
from cfnode.node.chain.events import BlocksFinalized, ChainReset, Imported
from cfnode.node.grandpa.commits import Commits
from cfnode.node.grandpa.neighbors import NEIGHBOR_RESEND_S, Neighbors
from cfnode.node.grandpa.round_catch_up import RoundCatchUp
from cfnode.node.grandpa.rounds import Rounds
from cfnode.node.grandpa.set_changes import SetChanges
from cfnode.node.grandpa.vote_queue import VoteQueue
from cfnode.node.grandpa.vote_relay import VoteRelay
from cfnode.runtime.calls import LocalFault
from cfnode.store import StateDiscarded

__all__ = ["FinalityGossip"]

log = logging.getLogger("cfnode.grandpa")

GRANDPA_NOTIFICATION_LIMITS = NotificationLimits(queue=2_048, per_second=400, burst=2_000)
"""Limits of the protocol: the votes of 150 authorities in two rounds are 600 messages at once, and some 200
in each second."""

AUTHORITIES_RETRY_S = 1.0
"""Seconds before the present authorities are read again, after a local fault."""

GOSSIP_POLL_S = 0.5
"""Seconds between two checks of what changes with time alone: slow rounds, delayed commits."""

COMMIT_DELAY_S = 1.0
"""Seconds in which a peer can finalize a block by votes: voters send commits within one second."""

FULL, AUTHORITY = b"\x01", b"\x04"
"""The handshakes of this protocol, which name the node's role. A light client would get no votes."""


class FinalityGossip:
    """The GRANDPA protocol of a node that observes, or votes. Create it before the network runs."""

    def __init__(self, network: PeerNetwork, chain: NodeChain, asker: Asker, *, author: bool = False) -> None:
        self._network = network
        self._chain = chain
        role = AUTHORITY if author else FULL
        self._protocol: NotificationProtocol = network.notifications(
            SUFFIX, lambda: role, GRANDPA_NOTIFICATION_LIMITS
        )
        self.rounds = Rounds(chain)
        self._neighbors = Neighbors(self._protocol)
        self._relay = VoteRelay(self._protocol, self.rounds, self._neighbors)
        self._queue = VoteQueue(network, self.rounds, self._accepted)
        self._catch_up = RoundCatchUp(
            network, self._protocol, self.rounds, self._neighbors, self._rounds_changed
        )
        self._changes = SetChanges(chain, asker, self._neighbors.packets, self._finalize)
        self._commits = Commits(network, chain, self._finalize)
        self._newest: tuple[CommitMessage, bytes] | None = None
        self._offered_from = 0.0
        self._offered: dict[str, CommitMessage] = {}
        self._own_commit: CommitMessage | None = None
        self._progress = Wakeup()
        self.votes_cast: Counter[int] = Counter()
        """Votes of this node's own authorities so far, by stage."""

    async def run(self) -> None:
        """Run until cancelled; start it when the chain has a state. `listen` runs before that, too."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._commits.run)
            nursery.start_soon(self._queue.run)
            nursery.start_soon(self._catch_up.run)
            nursery.start_soon(self._follow, nursery)

    async def _follow(self, nursery: trio.Nursery) -> None:
        """Follow the events of the chain; subscribe again after events were lost."""
        has_begun = False
        while True:
            with self._chain.subscribe(4096) as events:
                self.rounds.begin(await self._current_set())
                self._newest = self._newest or self._stored_commit()
                self._rounds_changed()
                if not has_begun:
                    nursery.start_soon(self._resend_packets)
                    nursery.start_soon(self._poll)
                    nursery.start_soon(self._changes.run)
                    has_begun = True
                async for event in events:
                    if isinstance(event, BlocksFinalized):
                        await self._finalized(event)
                    elif isinstance(event, ChainReset):
                        self.rounds.forget()
                        self._newest = self._own_commit = None
                    elif isinstance(event, Imported):
                        self._commits.block_imported(event.block.hash)
                        self.rounds.block_imported(event.block.hash)
                        self._rounds_changed()
                    self._changes.wake()

    def _stored_commit(self) -> tuple[CommitMessage, bytes] | None:
        """Return the stored votes for the final block, for peers that are behind it; None without any.

        Votes for a change of the set are left out: peers request them.
        """
        final = self._chain.finalized.hash
        votes, header = dict(self._chain.justifications(final)).get(ENGINE), self._chain.header(final)
        if votes is None or header is None or scheduled_change(header) is not None:
            return None
        justification = Justification.decode(votes)
        message = CommitMessage(justification.round, self.rounds.set_id, justification.commit)
        return message, encode_commit(message)

    async def _current_set(self) -> AuthoritySet:
        """Return the set that votes now; retry after a local fault."""
        while True:
            try:
                return await self._chain.voters()
            except (LocalFault, StateDiscarded) as fault:
                log.warning("The present authorities cannot be read yet: %s", fault)
                await trio.sleep(AUTHORITIES_RETRY_S)

    def peers_without_packet(self) -> list[str]:
        """Return the peers that have sent no neighbor packet, sorted."""
        return sorted(self._protocol.peers - self._neighbors.packets.keys())

    # --- rounds

    def cast(self, vote: Vote) -> None:
        """Cast a vote of this node's own authority: count it, and send it to the peers that accept it."""
        data = vote.encode()
        self.votes_cast[vote.stage] += 1
        if self.rounds.add(vote, data):
            self._relay.relay(vote.round, data)
        self.rounds.advance()
        self._rounds_changed()

    @property
    def is_synced(self) -> bool:
        """Whether a peer is in our set, and none is too many rounds ahead.

        If not, our votes reach no voter.
        """
        of_set = any(packet.set_id == self.rounds.set_id for packet in self._neighbors.packets.values())
        return of_set and not self._neighbors.ahead(self.rounds.set_id, self.rounds.current)

    async def wait_progress(self) -> None:
        """Wait until rounds, votes or finality may have changed."""
        await self._progress.wait()

    def _accepted(self, peer: str, votes: list[tuple[Vote, bytes]]) -> None:
        """Count and relay valid votes of a peer."""
        for vote, data in votes:
            if self.rounds.add(vote, data):
                self._relay.note_sent(peer, vote.round, data)
                self._relay.relay(vote.round, data)
        self.rounds.advance()
        self._rounds_changed()

    def _rounds_changed(self) -> None:
        """Handle a change of rounds or votes: another round may be current, and a block may be final."""
        self._relay.update()
        self._send_packets()
        commit = self.rounds.commit()
        if commit is not None:
            self._own_commit = commit
            self._commits.add_own(commit)
        self._progress.notify()

    async def _poll(self) -> None:
        while True:
            await trio.sleep(GOSSIP_POLL_S)
            self._relay.update()
            self._catch_up.update()
            self._offer_all()

    # --- sending

    def _send_packet(self, peer: str) -> None:
        """Send a neighbor packet, if it contains news and the set is known."""
        rounds = self.rounds
        if rounds.set_id >= 0:
            completed = 0 if rounds.completed is None else rounds.completed.number
            final = self._chain.finalized.number
            self._neighbors.send(peer, rounds.set_id, rounds.current, completed, final)

    def _send_packets(self) -> None:
        for peer in self._protocol.peers:
            self._send_packet(peer)

    async def _resend_packets(self) -> None:
        while True:
            self._send_packets()
            await trio.sleep(NEIGHBOR_RESEND_S)

    async def _finalized(self, event: BlocksFinalized) -> None:
        """Begin the next set, send our packets, and then the votes to the peers that lack them."""
        if event.commit is not None:
            self.rounds.add_commit(event.commit)
            delay = COMMIT_DELAY_S if event.commit == self._own_commit else 0.0
            self._newest = event.commit, encode_commit(event.commit)
            self._offered_from = trio.current_time() + delay
        self.rounds.begin(await self._current_set() if event.voters is None else event.voters)
        self._rounds_changed()
        self._offer_all()

    def _offer_all(self) -> None:
        for peer, packet in self._neighbors.packets.items():
            self._offer(peer, packet)

    def _offer(self, peer: str, packet: NeighborPacket) -> None:
        """Send the newest commit, once, to a peer in the same set that has not finalized its block."""
        sent = self._neighbors.last_sent(peer)
        if self._newest is None or sent is None or trio.current_time() < self._offered_from:
            return
        newest, encoded = self._newest
        target = newest.commit.target_number
        if packet.set_id != newest.set_id or packet.finalized >= target or sent.finalized > target:
            return
        if self._offered.get(peer) is not newest and self._protocol.send(peer, encoded):
            self._offered[peer] = newest

    # --- receiving

    async def listen(self) -> None:
        """Read messages of peers until cancelled: a peer whose messages are not read ends the protocol.

        Before the voting set is known, votes are dropped.
        """
        async for event in self._protocol.events:
            match event:
                case ProtocolOpened(peer_id=peer, handshake=role):
                    self._relay.opened(peer, authority=role == AUTHORITY)
                    self._send_packet(peer)
                case Closed(peer_id=peer):
                    self._forget(peer)
                case Received(peer_id=peer, data=data):
                    self._received(peer, data)

    def _forget(self, peer: str) -> None:
        self._offered.pop(peer, None)
        for part in (self._neighbors, self._relay, self._queue, self._catch_up, self._commits):
            part.forget(peer)

    def _received(self, peer: str, data: bytes) -> None:
        """Queue votes, commits and catch-ups; handle the small messages at once."""
        kind = data[0] if data else None
        if kind == COMMIT:
            self._commits.received(peer, data)
        elif kind == CATCH_UP:
            self._catch_up.answered(peer, data)
        elif kind != VOTE:
            self._received_small(peer, data)
        elif (vote := self._queue.received(peer, data)) is not None:
            self._relay.note_sent(peer, vote, data)

    def _received_small(self, peer: str, data: bytes) -> None:
        try:
            message = decode_gossip(data)
        except WireError as error:
            self._network.report(peer, reputation.BAD_MESSAGE, str(error))
            return
        if isinstance(message, NeighborPacket) and peer in self._protocol.peers:
            self._received_packet(peer, message)
        elif isinstance(message, CatchUpRequest):
            self._catch_up.requested(peer, message)

    def _received_packet(self, peer: str, packet: NeighborPacket) -> None:
        before = self._neighbors.received(peer, packet)
        if before is None or before.finalized != packet.finalized:
            self._changes.wake()
        self._send_packet(peer)  # our round may be news to a peer that was rounds behind
        if before != packet:
            self._relay.send_missing(peer)
        self._offer(peer, packet)

    async def _finalize(
        self, peer: str | None, block: BlockRef, justification: bytes | EncodedJustification
    ) -> bool:
        """Have the chain verify a justification of a peer; return False if it is invalid.

        `peer`: None for votes that this node has collected.
        """
        try:
            await self._chain.finalize(block.hash, justification)
        except BadJustification as error:
            if peer is not None:
                log.warning("Peer %s sent invalid votes: %s", peer, error)
                self._network.report(peer, reputation.BAD_GOSSIP, str(error))
            return False
        except FinalityRefused as error:
            log.debug("Votes of %s do not finalize a block: %s", peer or "this node", error)
        except (LocalFault, StateDiscarded) as fault:
            log.warning("Votes for #%d could not be verified: %s", block.number, fault)
        return True
