"""How does finality travel, and what do peers have to hear from us to let us know of it?

Peers send commits only to those whose neighbour packet names the right set and a lower finalized block. So a
packet goes out when the protocol opens, when something becomes final, and every two minutes. A commit names
votes without the headers between them; those are ours to add, and the result is a justification, checked by
the chain like any other (`commits.py`).

Which set votes is the chain's to know; it says so with each final block, together with the votes, which are
passed on as they are. What has passed a node by is asked for (`set_changes.py`). Substrate, GRANDPA gossip.
"""

from __future__ import annotations

import logging

import trio

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import COMMIT, CommitMessage, EncodedJustification, NeighbourPacket
from cfnode.core.wire import WireError
from cfnode.core.wire.grandpa_gossip import SUFFIX, decode_gossip, encode_commit
from cfnode.network.model import Closed, Network, NotificationProtocol, Opened, Received
from cfnode.node.chain import Chain
from cfnode.node.chain_errors import BadJustification, FinalityRefused
from cfnode.node.events import Finalized, Imported
from cfnode.node.sync import repute
from cfnode.node.sync.book import PeerBook
from cfnode.node.sync.commits import Commits
from cfnode.node.sync.set_changes import SetChanges
from cfnode.runtime.door import LocalFault
from cfnode.store import StateDiscarded

__all__ = ["FinalityGossip"]

log = logging.getLogger("cfnode.grandpa")

NEIGHBOUR_S = 120.0
RETRY_S = 1.0
"""Seconds after which this node asks itself again what it could not answer."""

_COMMIT = bytes((COMMIT,))


class FinalityGossip:
    """GRANDPA as an observer takes part in it. `declare` before the network runs."""

    def __init__(self, network: Network, chain: Chain, book: PeerBook) -> None:
        self._network = network
        self._chain = chain
        self._book = book
        self._protocol: NotificationProtocol = network.notifications(SUFFIX, lambda: b"\x01")
        self._neighbours: dict[str, NeighbourPacket] = {}
        self._changes = SetChanges(network, chain, book, self._neighbours, self._finalize)
        self._commits = Commits(network, chain, self._finalize)
        self._newest: tuple[CommitMessage, bytes] | None = None
        self._offered: dict[str, CommitMessage] = {}
        self._set_id = 0

    async def run(self) -> None:
        """Until cancelled; begin when the chain has a state."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._commits.run)
            nursery.start_soon(self._follow, nursery)

    async def _follow(self, nursery: trio.Nursery) -> None:
        """Hear what becomes of the chain; anew, where events were lost."""
        begun = False
        while True:
            with self._chain.subscribe(4096) as events:
                self._set_id = await self._present_set()
                if not begun:
                    nursery.start_soon(self._listen)
                    nursery.start_soon(self._remind)
                    nursery.start_soon(self._changes.run)
                    begun = True
                async for event in events:
                    if isinstance(event, Finalized):
                        await self._finalized(event)
                    elif isinstance(event, Imported):
                        self._commits.arrived(event.block.hash)
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

    async def _finalized(self, event: Finalized) -> None:
        """Pass the votes on to those who want them, then say where we are."""
        if event.commit is not None:
            self._newest = event.commit, encode_commit(event.commit)
            for peer, packet in self._neighbours.items():
                self._offer(peer, packet)
        self._set_id = await self._present_set() if event.voters is None else event.voters.set_id
        self._tell_all()

    def _offer(self, peer: str, packet: NeighbourPacket) -> None:
        """Send the newest votes, once, to a peer of their set that does not know their block to be final."""
        if self._newest is None or peer not in self._protocol.peers:
            return
        newest, encoded = self._newest
        if packet.set_id != newest.set_id or packet.finalized >= newest.commit.target_number:
            return
        if self._offered.get(peer) is not newest and self._protocol.send(peer, encoded):
            self._offered[peer] = newest

    # --- what we hear

    async def _listen(self) -> None:
        async for event in self._protocol.events:
            match event:
                case Opened(peer_id=peer):
                    self._tell(peer)
                case Closed(peer_id=peer):
                    self._forget(peer)
                case Received(peer_id=peer, data=data):
                    self._received(peer, data)

    def _forget(self, peer: str) -> None:
        self._neighbours.pop(peer, None)
        self._offered.pop(peer, None)
        self._commits.forget(peer)

    def _received(self, peer: str, data: bytes) -> None:
        if data[:1] == _COMMIT:
            self._commits.received(peer, data)
            return
        try:
            message = decode_gossip(data)
        except WireError as error:
            self._network.report(peer, repute.BAD_MESSAGE, str(error))
            return
        if isinstance(message, NeighbourPacket) and peer in self._protocol.peers:
            before = self._neighbours.get(peer)
            self._neighbours[peer] = message
            if before is None or before.finalized != message.finalized:
                self._changes.wake()
            self._offer(peer, message)

    async def _finalize(
        self, peer: str, block: BlockRef, justification: bytes | EncodedJustification
    ) -> bool:
        """Have the chain judge votes of a peer; False where they do not hold."""
        try:
            await self._chain.finalize(block.hash, justification)
        except BadJustification as error:
            log.warning("Peer %s sent votes that do not hold: %s", peer, error)
            self._network.report(peer, repute.BAD_GOSSIP, str(error))
            return False
        except FinalityRefused as error:
            log.debug("Votes of %s are of no use: %s", peer, error)
        except (LocalFault, StateDiscarded) as fault:
            log.warning("Votes for #%d are not judged: %s", block.number, fault)
        return True
