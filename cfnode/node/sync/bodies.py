"""How do linked headers become blocks of the chain?

Bodies are fetched in the order in which they can be imported, a row of linked blocks in one request, from the
best of the peers that have them; another one is asked too where that is silent. A body is never kept for
something that does not lead to our tree.
"""

from __future__ import annotations

import logging
from functools import partial

import trio

from cfnode.node.chain import Chain
from cfnode.node.sync.asker import Asker, NobodyHelps
from cfnode.node.sync.blocks import FetchedBlock, whole_up_to
from cfnode.node.sync.imports import BadBlock, Imports
from cfnode.node.sync.linking import Links
from cfnode.node.sync.reputation import Failure

__all__ = ["Bodies"]

log = logging.getLogger("cfnode.sync")

MAX_ROW = 64
"""Blocks of one request."""

MAX_ROWS = 2
"""Rows fetched at a time: with two ranges of catching up, four answers of up to 16 MiB are held: 64 MiB."""

FETCH_S = 30.0
"""Seconds in which one of the peers that have a row has to give it."""


class Bodies:
    """Fetches and imports what is linked. `changed`: called when a row is done."""

    def __init__(self, chain: Chain, asker: Asker, links: Links, imports: Imports) -> None:
        self._chain = chain
        self._asker = asker
        self._links = links
        self._imports = imports
        self._under_way: set[bytes] = set()
        self._woken = trio.Event()

    def wake(self) -> None:
        """Something has been linked, or imported."""
        self._woken.set()

    async def run(self) -> None:
        """Until cancelled."""
        async with trio.open_nursery() as nursery:
            while True:
                self._woken = trio.Event()
                self._links.prune(self._chain.finalized.number)
                for block in self._links.ready():
                    if block not in self._under_way and len(self._under_way) < MAX_ROWS:
                        self._under_way.add(block)
                        nursery.start_soon(self._row, block)
                await self._woken.wait()

    async def _row(self, first: bytes) -> None:
        try:
            while not self._chain.descends_from_finalized(first) and (peers := self._sources(first)):
                if not await self._fetch(self._links.row(first, peers[0], MAX_ROW)):
                    break
        finally:
            self._under_way.discard(first)
            if not self._chain.descends_from_finalized(first):
                self._links.cut(first)
            self.wake()

    async def _fetch(self, blocks: list[bytes]) -> bool:
        """Import the lowest ones of a row; False where that does not go on."""
        count = len(blocks)
        while True:
            last = blocks[count - 1]
            question = whole_up_to(last, count)
            try:
                answer = await self._asker.ask(question, among=partial(self._sources, last), seconds=FETCH_S)
            except NobodyHelps as error:
                log.debug("Block 0x%s does not come: %s", last.hex(), error)
                return False
            if answer.value[0].hash == blocks[0]:
                return await self._import(answer.peer, answer.value)
            count = min(count - 1, len(answer.value))  # long bodies: fewer fit in one answer, the upper ones

    def _sources(self, block: bytes) -> list[str]:
        """The peers that have a block, the best first."""
        sources = self._links.sources(block)
        return [peer for peer in self._asker.book.candidates() if peer in sources]

    async def _import(self, peer: str, blocks: list[FetchedBlock]) -> bool:
        try:
            taken = await self._imports.take(peer, blocks)
        except BadBlock as error:
            self._asker.fail(peer, Failure.BAD_BLOCK, str(error))
            self._links.remove([block.hash for block in blocks])
            return False
        self._asker.book.believe(peer)
        self._links.remove([block.hash for block in blocks] if taken else [])
        return taken
