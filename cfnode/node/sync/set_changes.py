"""What if the votes for a change of the authorities have passed us by?

Nothing after such a change can become final before it, and peers send votes only to those who are in their
set. So its justification is asked for: at once from a peer that has said that it is past the change; as not
all say where they are, also from the others in turn, now and then. It goes from change to change as fast as
answers come: who has missed many epochs is through with them in seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

import trio

from cfnode.core.grandpa import ENGINE, NeighbourPacket
from cfnode.core.wire import WireError
from cfnode.network.model import Network, RequestFailed
from cfnode.node.chain import Chain
from cfnode.node.events import BlockRef
from cfnode.node.sync.blocks import fetch_justification
from cfnode.node.sync.book import PeerBook

__all__ = ["SetChanges"]

log = logging.getLogger("cfnode.grandpa")

ASK_S = 6.0
"""Seconds between two questions to peers of whom one only hopes that they know."""

Finalize = Callable[[str, BlockRef, bytes], Awaitable[None]]
"""(peer, block, its justification): have the chain check it."""


class SetChanges:
    """Asks for justifications of changes. `neighbours`: what peers say of their finality, kept by another."""

    def __init__(
        self, network: Network, chain: Chain, book: PeerBook,
        neighbours: Mapping[str, NeighbourPacket], finalize: Finalize,
    ) -> None:  # fmt: skip
        self._network = network
        self._chain = chain
        self._book = book
        self._neighbours = neighbours
        self._finalize = finalize
        self._turn = 0
        self._useless: set[tuple[str, bytes]] = set()
        self._woken = trio.Event()

    def wake(self) -> None:
        """A peer has come further, or we have."""
        self._woken.set()
        self._woken = trio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            woken = self._woken
            change = self._chain.next_set_change(self._chain.best.hash)
            peer = None if change is None else self._who_is_past(change)
            if change is not None and peer is not None:
                await self._ask(peer, change)
                continue
            with trio.move_on_after(ASK_S) as waiting:
                await woken.wait()
            if waiting.cancelled_caught:
                self._useless.clear()
                await self._ask_in_turn()

    def _who_is_past(self, change: BlockRef) -> str | None:
        """A peer whose final block is the change or a later one, by its own word."""
        for peer, packet in self._neighbours.items():
            if packet.finalized >= change.number and (peer, change.hash) not in self._useless:
                return peer
        return None

    async def _ask_in_turn(self) -> None:
        change = self._chain.next_set_change(self._chain.best.hash)
        peers = self._book.candidates(change.number) if change is not None else []
        if change is not None and peers:
            self._turn += 1
            await self._ask(peers[self._turn % len(peers)], change)

    async def _ask(self, peer: str, change: BlockRef) -> None:
        """Ask one peer; it is not asked again at once where that did not help."""
        self._useless.add((peer, change.hash))
        try:
            found = await fetch_justification(self._network, peer, change.hash)
        except (RequestFailed, WireError) as error:
            log.debug("No justification of #%d from %s: %s", change.number, peer, error)
            return
        for engine, encoded in found:
            if engine == ENGINE:
                await self._finalize(peer, change, encoded)
