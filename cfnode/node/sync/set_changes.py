"""What if the votes for a change of the authorities have passed us by?

Nothing after such a change can become final before it, and peers send votes only to those who are in their
set. So its justification is asked for: at once from a peer that has said that it is past the change; as not
all say where they are, also from the others in turn, now and then. It goes from change to change as fast as
answers come: who has missed many epochs is through with them in seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import trio

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import ENGINE, NeighborPacket
from cfnode.network.model import Network
from cfnode.node.chain import Chain
from cfnode.node.sync.asker import Asker, NobodyHelps, Unanswered
from cfnode.node.sync.blocks import justifications_of
from cfnode.node.sync.interval import Interval
from cfnode.node.sync.peer_set import PeerSet

__all__ = ["SetChanges"]

log = logging.getLogger("cfnode.grandpa")

ASK_S = 6.0
"""Seconds between two questions to peers of whom one only hopes that they know."""

IN_TURN = 2
"""Peers of whom one only hopes that they know, asked at a time."""

Finalize = Callable[[str, BlockRef, bytes], Awaitable[object]]
"""(peer, block, its justification): have the chain check it."""


class SetChanges:
    """Asks for justifications of changes. `neighbours`: what peers say of their finality, kept by another."""

    def __init__(
        self, network: Network, chain: Chain, book: PeerSet,
        neighbours: Mapping[str, NeighborPacket], finalize: Finalize,
    ) -> None:  # fmt: skip
        self._chain = chain
        self._book = book
        self._asker = Asker(network, book)
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
        interval = Interval(ASK_S)
        while True:
            woken = self._woken
            is_over = interval.is_over()
            if is_over:
                self._useless.clear()
            change = self._chain.next_set_change(self._chain.best.hash)
            if change is not None and self._past(change):
                await self._ask(change, lambda change=change: self._past(change))  # type: ignore[misc]
            elif is_over:
                await self._ask_in_turn()
            else:
                await interval.rest(woken.wait)

    def _past(self, change: BlockRef) -> list[str]:
        """The peers whose final block is the change or a later one, by their own word; the best first."""
        return [
            peer
            for peer in sorted(self._neighbours, key=lambda peer: self._book.record(peer).rank)
            if self._neighbours[peer].finalized >= change.number and (peer, change.hash) not in self._useless
        ]

    async def _ask_in_turn(self) -> None:
        """Ask a few of those who have not said where they are; others the next time."""
        change = self._chain.next_set_change(self._chain.best.hash)
        peers = self._book.candidates(change.number) if change is not None else []
        if change is not None and peers:
            self._turn += 1
            first = self._turn % len(peers)
            some = [*peers[first:], *peers[:first]][:IN_TURN]
            await self._ask(change, lambda: some)

    async def _ask(self, change: BlockRef, among: Callable[[], list[str]]) -> None:
        """Ask until the change is final, or nobody is left."""
        try:
            await self._asker.race(lambda peer: self._ask_one(peer, change), among)
        except NobodyHelps as error:
            log.debug("No justification of #%d: %s", change.number, error)

    async def _ask_one(self, peer: str, change: BlockRef) -> None:
        """Ask one peer; it is not asked again at once where that did not help. Raises Unanswered."""
        self._useless.add((peer, change.hash))
        question = replace(justifications_of(change.hash), may_lack=True)
        answer = await self._asker.ask_one(peer, question)
        for engine, encoded in answer.value:
            if engine == ENGINE:
                await self._finalize(peer, change, encoded)
        if self._chain.finalized.number < change.number:
            raise Unanswered("it gives no justification that holds")
        self._asker.credit(answer)
