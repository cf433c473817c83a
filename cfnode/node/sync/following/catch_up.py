"""Catch-up of a node that is far behind: checking claims of peers, and importing their blocks.

A peer that claims to be five blocks or more ahead is asked for the next blocks: whole blocks upwards along
its best chain, 64 at a time, the next range while the present one is imported. A range whose first header is
sealed by an authority and leads to our tree proves that the node is behind (`proven_lag.py`). A peer that has
pruned the bodies is asked for headers, which prove it as well.

A claim is only a reason to ask. When a peer provides nothing, its claims are discounted, and it is asked
again only after the others.
"""

from __future__ import annotations

import trio

from cfnode.node.asking.asker import AllPeersFailed, Asker, PeerAnswer, PeerFailed
from cfnode.node.asking.block_requests import FetchedBlock, headers_above, whole_above
from cfnode.node.asking.interval import Interval
from cfnode.node.asking.peer_set import SLOW_ANSWER_S
from cfnode.node.asking.reputation import PeerFailure
from cfnode.node.chain.chain import NodeChain
from cfnode.node.sync.following.final_ahead import FinalAhead
from cfnode.node.sync.following.imports import BadBlock, Imports
from cfnode.node.sync.following.linking import LinkedHeaders, Unlinked
from cfnode.node.sync.following.proven_lag import SYNCING_LAG, SyncLag

__all__ = ["ClaimCatchUp"]

RANGE = 64
"""Blocks of one request."""

MIN_RANGE = 8
"""Blocks of an answer: a peer that returns fewer, though it claims to have the whole range, is asked after
others."""

MAX_CLAIMED_HEADERS = 128
"""Headers that a peer without bodies is asked for."""

CATCH_UP_RETRY_S = 5.0
"""Seconds after which peers that could not help are asked again."""

Range = PeerAnswer[list[FetchedBlock]]
"""Blocks of a peer; any of them may be invented."""


class ClaimCatchUp:
    """The checks of claims to be ahead, and the import of the blocks that prove true."""

    def __init__(
        self, chain: NodeChain, asker: Asker, links: LinkedHeaders, imports: Imports, lag: SyncLag
    ) -> None:
        self._chain = chain
        self._asker = asker
        self._peer_set = asker.peer_set
        self._links = links
        self._imports = imports
        self._lag = lag
        self._final_ahead = FinalAhead(chain, asker)
        self._asked: dict[str, int] = {}

    async def run(self) -> None:
        """Catch up until cancelled."""
        interval = Interval(CATCH_UP_RETRY_S)
        while True:
            if interval.has_elapsed():
                self._asked.clear()
            if not self._ahead():
                await interval.wait(lambda: self._peer_set.wait_until(lambda: bool(self._ahead())))
                continue
            try:
                first_range = await self._asker.race(self._begin, self._ahead, hedge=SLOW_ANSWER_S)
            except AllPeersFailed:
                continue
            await self._go_on(first_range)

    def _ahead(self) -> list[str]:
        """Return the peers that claim to be ahead, and were not just asked for the same block."""
        best = self._chain.best.number
        return [
            peer for peer in self._peer_set.candidates(best + SYNCING_LAG) if self._asked.get(peer) != best
        ]

    async def _begin(self, peer: str) -> Range:
        """Return a peer's next blocks, linked to our tree.

        Raise PeerFailed after discounting the peer's claims.
        """
        self._asked[peer] = self._chain.best.number
        try:
            return await self._linked_range(peer)
        except (PeerFailed, Unlinked) as error:
            self._lag.peer_failed(peer, str(error))
            if peer not in self._lag.pruned_peers:
                self._peer_set.discount_claims(peer)
            raise PeerFailed(str(error)) from None

    async def _linked_range(self, peer: str) -> Range:
        """Return the blocks after our best one, or after our final one if the peer is on a fork.

        Raise PeerFailed or Unlinked.
        """
        finalized = self._chain.finalized
        for start in dict.fromkeys((self._chain.best.number + 1, finalized.number + 1)):
            fetched_range = await self._range(peer, start)
            if not fetched_range.value:
                await self._prove(peer, start)
            if self._chain.descends_from_finalized(fetched_range.value[0].header.parent_hash):
                await self._links.check_headers(peer, fetched_range.value[:1])
                return fetched_range
        reason = f"its blocks do not descend from our final block #{finalized.number}"
        if self._chain.finalized == finalized:
            self._asker.fail(peer, PeerFailure.UNFOUNDED_CLAIM, reason)
        raise PeerFailed(reason)

    async def _range(self, peer: str, number: int) -> Range:
        """Return the peer's blocks from a number on; none if it lacks the first. Raise PeerFailed."""
        claimed = self._peer_set.get(peer)
        if claimed is None or claimed.number < number:
            return PeerAnswer(peer, [], 0, 0.0)
        fetched_range = await self._asker.ask_one(peer, whole_above(number, RANGE))
        if len(fetched_range.value) < MIN_RANGE and claimed.number >= number + RANGE:
            self._asker.fail(
                peer, PeerFailure.TOO_LITTLE, f"{len(fetched_range.value)} blocks from #{number} on"
            )
        return fetched_range

    async def _prove(self, peer: str, number: int) -> None:
        """Record whether headers prove a peer to be ahead that lacks the block. Always raise PeerFailed.

        While the peer is being asked, what it proved before counts.
        """
        try:
            is_ahead = await self._proves_ahead(peer, number)
        except (PeerFailed, Unlinked):
            self._lag.pruned_peers.discard(peer)
            raise
        self._lag.lacks_next(peer, is_ahead=is_ahead)
        raise PeerFailed(f"it does not have #{number} any more")

    async def _proves_ahead(self, peer: str, number: int) -> bool:
        """Return whether the peer has headers from the number on that lead to our tree.

        Those with a verified seal count as proved. Raise PeerFailed or Unlinked.
        """
        answer = await self._asker.ask_one(peer, headers_above(number, MAX_CLAIMED_HEADERS))
        headers = answer.value
        if not headers or not self._chain.descends_from_finalized(headers[0].header.parent_hash):
            return False
        authority_sets = await self._links.check_headers(peer, headers)
        unknown = (index for index, authorities in enumerate(authority_sets) if authorities is None)
        sealed = next(unknown, len(headers) - 1)
        self._asker.credit(answer)
        self._lag.add_proven(headers[sealed].header.number)
        return True

    async def _go_on(self, first_range: Range) -> None:
        """Import range after range of one peer."""
        self._lag.peer_helped(first_range.peer)
        self._peer_set.count_claims(first_range.peer)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._final_ahead.run, first_range.peer, first_range.value[0].header.number)
            await self._import_ranges(first_range)
            nursery.cancel_scope.cancel()

    async def _import_ranges(self, fetched_range: Range) -> None:
        peer = fetched_range.peer
        while fetched_range.value and peer in self._peer_set:
            last_number = fetched_range.value[-1].header.number
            self._lag.add_proven(last_number)
            next_ranges: list[Range] = []
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._prefetch, peer, last_number + 1, next_ranges)
                if not await self._import(fetched_range):
                    nursery.cancel_scope.cancel()
            if not next_ranges or self._peer_set.has_better(peer, last_number + SYNCING_LAG):
                return
            fetched_range = next_ranges[0]

    async def _prefetch(self, peer: str, number: int, into: list[Range]) -> None:
        try:
            into.append(await self._range(peer, number))
        except PeerFailed as error:
            self._lag.peer_failed(peer, str(error))

    async def _import(self, fetched_range: Range) -> bool:
        try:
            is_imported = await self._imports.import_blocks(fetched_range.peer, fetched_range.value)
        except BadBlock as error:
            self._lag.reset_proven()
            self._asker.fail(fetched_range.peer, PeerFailure.BAD_BLOCK, str(error))
            return False
        if is_imported:
            self._asker.credit(fetched_range)
        return is_imported
