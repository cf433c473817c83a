"""How does a node that is far behind catch up?

A peer that claims to be five blocks or more ahead is asked for the next ones: whole blocks upwards along its
best chain, 64 at a time, the next range while this one is imported. Where a range leads to our tree, and the
first header is sealed by an authority, the way ahead is proved (`behind.py`). A peer that has no bodies any
more is asked for headers, which prove the same.

A claim is never more than a reason to ask, and asking has an end: a peer that gives nothing is doubted, and
asked again only after the others.
"""

from __future__ import annotations

import trio

from cfnode.node.chain import Chain
from cfnode.node.sync.asker import Answer, Asker, NobodyHelps, Unanswered
from cfnode.node.sync.behind import BEHIND, Behind
from cfnode.node.sync.blocks import FetchedBlock, headers_above, whole_above
from cfnode.node.sync.final_ahead import FinalAhead
from cfnode.node.sync.imports import BadBlock, Imports
from cfnode.node.sync.interval import Interval
from cfnode.node.sync.linking import Links, Unlinked
from cfnode.node.sync.peer_set import PATIENCE_S
from cfnode.node.sync.reputation import Failure

__all__ = ["CatchUp"]

RANGE = 64
"""Blocks of one request."""

MIN_RANGE = 8
"""A peer that gives fewer blocks of a range, and claims to have all of them, is asked after others."""

PROOF = 128
"""Headers that a peer without bodies is asked for."""

AGAIN_S = 5.0
"""Seconds after which peers that could not help are asked again."""

Range = Answer[list[FetchedBlock]]
"""Blocks of a peer, of which none, or some, or all may be invented."""


class CatchUp:
    """Follows up claims to be ahead, and imports what comes of them."""

    def __init__(self, chain: Chain, asker: Asker, links: Links, imports: Imports, behind: Behind) -> None:
        self._chain = chain
        self._asker = asker
        self._book = asker.book
        self._links = links
        self._imports = imports
        self._behind = behind
        self._final_ahead = FinalAhead(chain, asker)
        self._asked: dict[str, int] = {}

    async def run(self) -> None:
        """Until cancelled."""
        interval = Interval(AGAIN_S)
        while True:
            if interval.is_over():
                self._asked.clear()
            if not self._ahead():
                await interval.rest(lambda: self._book.until(lambda: bool(self._ahead())))
                continue
            try:
                begun = await self._asker.race(self._begin, self._ahead, hedge=PATIENCE_S)
            except NobodyHelps:
                continue
            await self._go_on(begun)

    def _ahead(self) -> list[str]:
        """Whom to ask: those that claim to be ahead, and have not been asked for the same block of late."""
        best = self._chain.best.number
        return [peer for peer in self._book.candidates(best + BEHIND) if self._asked.get(peer) != best]

    async def _begin(self, peer: str) -> Range:
        """A peer's next blocks, which lead to our tree. Raises Unanswered; then its claims do not count."""
        self._asked[peer] = self._chain.best.number
        try:
            return await self._linked_range(peer)
        except (Unanswered, Unlinked) as error:
            self._behind.cannot(peer, str(error))
            if peer not in self._behind.without:
                self._book.doubt(peer)
            raise Unanswered(str(error)) from None

    async def _linked_range(self, peer: str) -> Range:
        """From our best block on; from our final one where the peer is on a fork."""
        finalized = self._chain.finalized
        for start in dict.fromkeys((self._chain.best.number + 1, finalized.number + 1)):
            found = await self._range(peer, start)
            if not found.value:
                await self._prove(peer, start)
            if self._chain.descends_from_finalized(found.value[0].header.parent_hash):
                await self._links.judged(peer, found.value[:1])
                return found
        reason = f"its blocks do not descend from our final block #{finalized.number}"
        if self._chain.finalized == finalized:
            self._asker.fail(peer, Failure.UNFOUNDED, reason)
        raise Unanswered(reason)

    async def _range(self, peer: str, number: int) -> Range:
        """Blocks of the peer from a number on; none where it does not have the first. Raises Unanswered."""
        claimed = self._book.get(peer)
        if claimed is None or claimed.number < number:
            return Answer(peer, [], 0, 0.0)
        found = await self._asker.ask_one(peer, whole_above(number, RANGE))
        if len(found.value) < MIN_RANGE and claimed.number >= number + RANGE:
            self._asker.fail(peer, Failure.LITTLE, f"{len(found.value)} blocks from #{number} on")
        return found

    async def _prove(self, peer: str, number: int) -> None:
        """The peer does not have the block: do its headers prove it to be ahead? Always raises Unanswered."""
        self._behind.without.discard(peer)
        found = await self._asker.ask_one(peer, headers_above(number, PROOF))
        rows = found.value
        if rows and self._chain.descends_from_finalized(rows[0].header.parent_hash):
            following = await self._links.judged(peer, rows)
            sealed = next((place for place, after in enumerate(following) if after is None), len(rows) - 1)
            self._asker.credit(found)
            self._behind.prove(rows[sealed].header.number)
            self._behind.without.add(peer)
        raise Unanswered(f"it does not have #{number} any more")

    async def _go_on(self, found: Range) -> None:
        """Import range after range of one peer."""
        self._behind.helps(found.peer)
        self._book.believe(found.peer)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._final_ahead.run, found.peer, found.value[0].header.number)
            await self._import_ranges(found)
            nursery.cancel_scope.cancel()

    async def _import_ranges(self, found: Range) -> None:
        peer = found.peer
        while found.value and peer in self._book:
            last = found.value[-1].header.number
            self._behind.prove(last)
            following: list[Range] = []
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._prefetch, peer, last + 1, following)
                if not await self._import(found):
                    nursery.cancel_scope.cancel()
            if not following or self._book.outdone(peer, last + BEHIND):
                return
            found = following[0]

    async def _prefetch(self, peer: str, number: int, into: list[Range]) -> None:
        try:
            into.append(await self._range(peer, number))
        except Unanswered as error:
            self._behind.cannot(peer, str(error))

    async def _import(self, found: Range) -> bool:
        try:
            taken = await self._imports.take(found.peer, found.value)
        except BadBlock as error:
            self._behind.refute()
            self._asker.fail(found.peer, Failure.BAD_BLOCK, str(error))
            return False
        if taken:
            self._asker.credit(found)
        return taken
