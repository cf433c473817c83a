"""Measured run of a ledger's follower.

`python -m scripts.benchmarks._ledger_follow NODE FIRST LAST DATABASE`. DATABASE is a URL, or `none`: then the
same answers are requested, and not read. Prints as JSON the blocks and events after the first exchange, the
seconds that they took, the processor's seconds of this process, and its largest memory in bytes.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Mapping, Sequence

import trio

from cfnode.ledger.books import Books
from cfnode.ledger.chain import ChainReader, Head
from cfnode.ledger.client import connected
from cfnode.ledger.database import Database
from cfnode.ledger.decoding import Block
from cfnode.ledger.follower import MAX_BATCH_BLOCKS, Follower, Source
from cfnode.ledger.prices import Price


class Watched:
    """Times and numbers of the blocks and events that are done.

    The first ones are not counted: a start has other costs.
    """

    def __init__(self, last: int) -> None:
        self.last = last
        self.blocks = self.events = 0
        self.began = self.ended = self.processor = 0.0

    def done(self, blocks: int, events: int) -> None:
        """Count blocks and events that are done."""
        now = time.perf_counter()
        if not self.began:
            self.began, self.processor = now, time.process_time()
            return
        self.blocks, self.events, self.ended = self.blocks + blocks, self.events + events, now

    def print(self) -> None:
        """Print the figures as JSON."""
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        figures = {"blocks": self.blocks, "events": self.events, "seconds": self.ended - self.began,
                 "processor": time.process_time() - self.processor, "memory": memory}  # fmt: skip
        print(json.dumps(figures))


class WatchedBooks(Books):
    """Books that report what is written."""

    def __init__(self, database: Database, watched: Watched) -> None:
        super().__init__(database)
        self._watched = watched

    def write(self, blocks: Sequence[Block], prices: Mapping[int, Sequence[Price]]) -> Head:
        """Write, and count what is written."""
        head = super().write(blocks, prices)
        counted = [block for block in blocks if block.number <= self._watched.last]
        if counted:
            self._watched.done(len(counted), sum(len(block.events) for block in counted))
        return head


async def fetch(node: str, first: int, last: int, watched: Watched) -> None:
    """Request the answers that a follower requests."""
    async with connected(node) as client:
        reader = ChainReader(client)
        for start in range(first, last + 1, MAX_BATCH_BLOCKS):
            count = min(MAX_BATCH_BLOCKS, last + 1 - start)
            await reader.raw_blocks(await reader.hashes(range(start, start + count)))
            watched.done(count, 0)


def main() -> None:
    """Follow or fetch, once."""
    node, first, last, url = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    watched = Watched(last)
    if url == "none":
        trio.run(fetch, node, first, last, watched)
    else:
        follower = Follower(Source(node, first=first), WatchedBooks(Database(url), watched))
        outcome = trio.run(lambda: follower.run(once=True))
        assert outcome is not None
        assert not outcome.differences
    watched.print()


if __name__ == "__main__":
    main()
