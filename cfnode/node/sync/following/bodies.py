"""Fetching and importing the bodies of linked headers.

Bodies are fetched in the order in which they can be imported, a segment of linked blocks in one request, from
the best of the peers that have them; when it is silent, another peer is asked too. A body that does not lead
to our tree is never kept.
"""

from __future__ import annotations

import logging
from functools import partial

import trio

from cfnode.flow.wakeup import Wakeup
from cfnode.node.asking.asker import AllPeersFailed, Asker
from cfnode.node.asking.block_requests import FetchedBlock, whole_up_to
from cfnode.node.asking.reputation import PeerFailure
from cfnode.node.chain.chain import NodeChain
from cfnode.node.sync.following.imports import BadBlock, Imports
from cfnode.node.sync.following.linking import LinkedHeaders

__all__ = ["Bodies"]

log = logging.getLogger("cfnode.sync")

MAX_SEGMENT = 64
"""Blocks of one request."""

MAX_SEGMENTS = 2
"""Segments fetched at a time: with two ranges of `catch_up.py`, four answers of up to 16 MiB each: 64 MiB."""

SEGMENT_TIMEOUT_S = 30.0
"""Seconds within which one of the peers that have a segment has to provide it."""


class Bodies:
    """The fetching and importing of the bodies of linked headers."""

    def __init__(self, chain: NodeChain, asker: Asker, links: LinkedHeaders, imports: Imports) -> None:
        self._chain = chain
        self._asker = asker
        self._links = links
        self._imports = imports
        self._under_way: set[bytes] = set()
        self._news = Wakeup()

    def wake(self) -> None:
        """Look for blocks to fetch, since blocks have been linked or imported."""
        self._news.notify()

    async def run(self) -> None:
        """Fetch and import until cancelled."""
        async with trio.open_nursery() as nursery:
            while True:
                news = self._news.next
                self._links.prune(self._chain.finalized.number)
                for block in self._links.ready():
                    if block not in self._under_way and len(self._under_way) < MAX_SEGMENTS:
                        self._under_way.add(block)
                        nursery.start_soon(self._import_segment, block)
                await news.wait()

    async def _import_segment(self, first: bytes) -> None:
        try:
            while not self._chain.descends_from_finalized(first) and (peers := self._sources(first)):
                if not await self._fetch(self._links.segment(first, peers[0], MAX_SEGMENT)):
                    break
        finally:
            self._under_way.discard(first)
            if not self._chain.descends_from_finalized(first):
                self._links.discard(first)
            self.wake()

    async def _fetch(self, blocks: list[bytes]) -> bool:
        """Import the lowest blocks of a segment; return False if that fails."""
        count = len(blocks)
        while True:
            last_hash = blocks[count - 1]
            question = whole_up_to(last_hash, count)
            try:
                answer = await self._asker.ask(
                    question, among=partial(self._sources, last_hash), seconds=SEGMENT_TIMEOUT_S
                )
            except AllPeersFailed as error:
                log.debug("No peer provides block 0x%s: %s", last_hash.hex(), error)
                return False
            if answer.value[0].hash == blocks[0]:
                return await self._import(answer.peer, answer.value)
            count = min(count - 1, len(answer.value))  # long bodies: only the upper blocks fit in one answer

    def _sources(self, block: bytes) -> list[str]:
        """Return the peers that have a block, the best first."""
        sources = self._links.sources(block)
        return [peer for peer in self._asker.peer_set.candidates() if peer in sources]

    async def _import(self, peer: str, blocks: list[FetchedBlock]) -> bool:
        try:
            is_imported = await self._imports.import_blocks(peer, blocks)
        except BadBlock as error:
            self._asker.fail(peer, PeerFailure.BAD_BLOCK, str(error))
            self._links.remove([block.hash for block in blocks])
            return False
        self._asker.peer_set.count_claims(peer)
        self._links.remove([block.hash for block in blocks] if is_imported else [])
        return is_imported
