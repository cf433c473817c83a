"""Is what an earlier run proved still true by what peers can prove today?

JsonCache authorities save a restart hundreds of signatures, but whoever once misled the node, or took over
authorities that have retired since, would mislead it for good. So while a remembered block is in use, each
peer is asked which block it has in that place. One that does not name the remembered one is asked for its
proofs from the beginning; where they pass that place with another block, set or authorities, the peer
*refutes* the memory. Two such peers are enough: their proofs are checked like any others, so to refute a true
memory one would have to forge them.

A peer that merely lacks history has neither, and says nothing.
"""

from __future__ import annotations

import logging

import trio

from cfnode.core.grandpa import scheduled_change
from cfnode.core.wire.warp import SUFFIX
from cfnode.network.model import Network
from cfnode.node.sync.asker import Asker, Unanswered
from cfnode.node.sync.authority_set_cache import TrustedSet
from cfnode.node.sync.blocks import header_at
from cfnode.node.sync.peer_set import PeerSet
from cfnode.node.sync.question import Question
from cfnode.node.sync.warp import Followed, follow_answer

__all__ = ["CrossCheck", "contradicts"]

log = logging.getLogger("cfnode.sync")

ENOUGH = 2
"""Peers that have to refute a memory."""

HEADER_S = 10.0
"""Seconds in which a peer has to name its block: nothing is adopted before all that were asked did."""

PATIENCE_S = 60.0
"""Seconds in which a peer may prove the whole way from the beginning."""


def contradicts(memory: TrustedSet, passed: TrustedSet) -> bool:
    """Can a block on the way of a proof not be of one chain with the remembered one?"""
    if passed.number == memory.number:
        return passed.header != memory.header
    before, here, there = passed.number < memory.number, passed.authorities, memory.authorities
    if here.set_id != there.set_id:
        return before != (here.set_id < there.set_id)
    begins = scheduled_change(passed.header) is not None
    return here != there or (begins and not before)


class CrossCheck:
    """Asks peers about a remembered block. `beginning`: where its proofs began."""

    def __init__(self, network: Network, book: PeerSet, beginning: TrustedSet, memory: TrustedSet) -> None:
        self._book = book
        self._asker = Asker(network, book)
        self._beginning = beginning
        self._memory = memory
        self._asked: set[str] = set()
        self._asking: set[str] = set()
        self._answered = trio.Event()
        self._against: set[str] = set()
        self._refuted = trio.Event()
        self._proving = trio.CapacityLimiter(ENOUGH)

    async def confirmed(self) -> None:
        """Returns when enough peers have refuted the memory, and not before: cancel it."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ask_everyone, nursery)
            await self._refuted.wait()
            nursery.cancel_scope.cancel()

    @property
    def against(self) -> frozenset[str]:
        """The peers that have refuted the memory."""
        return frozenset(self._against)

    async def settled(self) -> None:
        """Returns when each peer that has been asked has answered, or has had the time for it."""
        with trio.move_on_after(PATIENCE_S):
            while self._asking:
                await self._answered.wait()

    async def undisputed(self) -> None:
        """Returns as `settled`, but not if a single peer has refuted the memory."""
        await self.settled()
        if self._against:
            await trio.sleep_forever()

    async def _ask_everyone(self, nursery: trio.Nursery) -> None:
        while True:
            for peer in self._book.candidates():
                if peer not in self._asked:
                    self._asked.add(peer)
                    self._asking.add(peer)
                    nursery.start_soon(self._ask, peer)
            await self._book.changed(float("inf"))

    async def _ask(self, peer: str) -> None:
        try:
            await self._hear(peer)
        finally:
            self._asking.discard(peer)
            self._answered.set()
            self._answered = trio.Event()

    async def _hear(self, peer: str) -> None:
        number = self._memory.number
        try:
            header = await self._asker.ask_one(peer, header_at(number), HEADER_S)
            if header.value == self._memory.header:
                return
            async with self._proving:
                if await self._refutes(peer):
                    log.warning("Peer %s proves that block #%d is not of this chain", peer, number)
                    self._against.add(peer)
        except Unanswered as error:
            log.debug("%s says nothing of block #%d: %s", peer, number, error)
        if len(self._against) >= ENOUGH:
            self._refuted.set()

    async def _refutes(self, peer: str) -> bool:
        """Do the peer's proofs from the beginning pass the remembered place with something else?"""
        trust = self._beginning
        while True:
            followed, passed = await self._proof(peer, trust)
            if any(contradicts(self._memory, each) for each in passed):
                return True
            beyond = followed.trust.number >= self._memory.number
            if beyond or followed.finished or followed.refused is not None or not followed.sets:
                return False
            trust = followed.trust

    async def _proof(self, peer: str, trust: TrustedSet) -> tuple[Followed, list[TrustedSet]]:
        """Where the peer's proof leads, and over what. A server without that much history may refuse."""
        passed: list[TrustedSet] = []
        question = Question(
            SUFFIX,
            trust.header.hash,
            lambda answer: follow_answer(answer, trust, passed.append),
            may_lack=True,
            proves=False,
        )
        return (await self._asker.ask_one(peer, question)).value, passed
