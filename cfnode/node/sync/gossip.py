"""How does finality travel, and what do peers have to hear from us to let us know of it?

Peers send commits only to those whose neighbour packet names the right set and a lower finalized block. So a
packet goes out when the protocol opens, when something becomes final, and every two minutes. A commit names
votes without the headers between them; those are ours to add, and the result is a justification, checked by
the chain like any other. A commit for a block that is not here yet waits for it, the newest of each peer.

Who makes blocks final passes the commit on. What has passed a node by is asked for (`set_changes.py`).
Substrate, GRANDPA gossip.
"""

from __future__ import annotations

import logging

import trio

from cfnode.core.grandpa import (
    CommitMessage,
    Justification,
    NeighbourPacket,
    scheduled_change,
)
from cfnode.core.header import Header
from cfnode.core.scale import ScaleError
from cfnode.core.wire import WireError
from cfnode.core.wire.grandpa_gossip import SUFFIX, decode_gossip, encode_commit
from cfnode.network.model import Closed, Network, NotificationProtocol, Opened, Received
from cfnode.node.chain import Chain
from cfnode.node.chain_errors import BadJustification, FinalityRefused
from cfnode.node.events import BestChanged, BlockRef, Finalized
from cfnode.node.sync import repute
from cfnode.node.sync.book import PeerBook
from cfnode.node.sync.set_changes import SetChanges
from cfnode.runtime.door import LocalFault
from cfnode.store import StateDiscarded

__all__ = ["FinalityGossip", "justification_of"]

log = logging.getLogger("cfnode.grandpa")

NEIGHBOUR_S = 120.0
RETRY_S = 1.0
"""Seconds after which this node asks itself again what it could not answer."""
MAX_ANCESTRY = 1_024
"""Headers between the votes of a commit."""


def justification_of(message: CommitMessage, chain: Chain) -> Justification | None:
    """The commit with the headers between its votes; None where one is not here."""
    votes = message.commit.precommits
    base = min((vote.target_number for vote in votes), default=0)
    headers: dict[bytes, Header] = {}
    for block in {vote.target_hash for vote in votes}:
        header = chain.header(block)
        while header is not None and header.number > base and block not in headers:
            headers[block] = header
            block = header.parent_hash
            header = chain.header(block)
            if len(headers) > MAX_ANCESTRY:
                return None
        if header is None:
            return None
    return Justification(message.round, message.commit, tuple(headers.values()))


class FinalityGossip:
    """GRANDPA as an observer takes part in it. `declare` before the network runs."""

    def __init__(self, network: Network, chain: Chain, book: PeerBook) -> None:
        self._network = network
        self._chain = chain
        self._book = book
        self._protocol: NotificationProtocol = network.notifications(SUFFIX, lambda: b"\x01")
        self._neighbours: dict[str, NeighbourPacket] = {}
        self._changes = SetChanges(network, chain, book, self._neighbours, self._finalize)
        self._waiting: dict[str, CommitMessage] = {}
        self._newest: CommitMessage | None = None
        self._set_id = 0

    async def run(self) -> None:
        """Until cancelled; begin when the chain has a state."""
        with self._chain.subscribe(4096) as events:
            self._set_id = await self._present_set()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._listen)
                nursery.start_soon(self._remind)
                nursery.start_soon(self._changes.run)
                async for event in events:
                    if isinstance(event, Finalized):
                        self._finalized(event)
                    elif isinstance(event, BestChanged):
                        await self._retry()
                    self._changes.wake()

    async def _present_set(self) -> int:
        """The set that votes now; a local fault only delays the answer."""
        while True:
            try:
                return (await self._chain.voters()).set_id
            except (LocalFault, StateDiscarded) as fault:
                log.warning("The present authorities are not known yet: %s", fault)
                await trio.sleep(RETRY_S)

    def silent(self) -> list[str]:
        """The peers that have not told what is final for them."""
        return sorted(self._protocol.peers - self._neighbours.keys())

    # --- what we say

    def _tell(self, peer: str) -> None:
        packet = NeighbourPacket(1, self._set_id, self._chain.finalized.number)
        self._protocol.send(peer, packet.encode())

    def _tell_all(self) -> None:
        for peer in self._protocol.peers:
            self._tell(peer)

    async def _remind(self) -> None:
        while True:
            self._tell_all()
            await trio.sleep(NEIGHBOUR_S)

    def _finalized(self, event: Finalized) -> None:
        """Pass the votes on to those who want them, then say where we are."""
        if event.justification is not None:
            self._pass_on(event.justification)
        last = event.blocks[-1]
        header = self._chain.header(last.hash)
        if header is not None and scheduled_change(header) is not None:
            self._set_id += 1
        self._tell_all()

    def _pass_on(self, encoded: bytes) -> None:
        try:
            justification = Justification.decode(encoded)
        except ScaleError:
            return
        self._newest = CommitMessage(justification.round, self._set_id, justification.commit)
        for peer, packet in self._neighbours.items():
            self._offer(peer, packet)

    def _offer(self, peer: str, packet: NeighbourPacket) -> None:
        """Send the newest votes to a peer of their set that does not know their block to be final."""
        newest = self._newest
        if newest is None or packet.set_id != newest.set_id:
            return
        if packet.finalized < newest.commit.target_number and peer in self._protocol.peers:
            self._protocol.send(peer, encode_commit(newest))

    # --- what we hear

    async def _listen(self) -> None:
        async for event in self._protocol.events:
            match event:
                case Opened(peer_id=peer):
                    self._tell(peer)
                case Closed(peer_id=peer):
                    self._neighbours.pop(peer, None)
                    self._waiting.pop(peer, None)
                case Received(peer_id=peer, data=data):
                    await self._received(peer, data)

    async def _received(self, peer: str, data: bytes) -> None:
        try:
            message = decode_gossip(data)
        except WireError as error:
            self._network.report(peer, repute.BAD_MESSAGE, str(error))
            return
        if isinstance(message, NeighbourPacket):
            self._neighbours[peer] = message
            self._changes.wake()
            self._offer(peer, message)
        elif isinstance(message, CommitMessage):
            await self._commit(peer, message)

    async def _commit(self, peer: str, message: CommitMessage) -> None:
        if message.set_id != self._set_id or message.commit.target_number <= self._chain.finalized.number:
            return
        justification = justification_of(message, self._chain)
        if justification is None or not self._chain.can_win(message.commit.target_hash):
            self._waiting[peer] = message
            return
        self._waiting.pop(peer, None)
        target = BlockRef(message.commit.target_hash, message.commit.target_number)
        await self._finalize(peer, target, justification.encode())

    async def _finalize(self, peer: str, block: BlockRef, justification: bytes) -> None:
        try:
            await self._chain.finalize(block.hash, justification)
        except BadJustification as error:
            log.warning("Peer %s sent votes that do not hold: %s", peer, error)
            self._network.report(peer, repute.BAD_GOSSIP, str(error))
        except FinalityRefused as error:
            log.debug("Votes of %s are of no use: %s", peer, error)
        except (LocalFault, StateDiscarded) as fault:
            log.warning("Votes for #%d are not judged: %s", block.number, fault)

    async def _retry(self) -> None:
        """A block has come: commits may have waited for it."""
        for peer, message in list(self._waiting.items()):
            await self._commit(peer, message)
