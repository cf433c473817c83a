"""Blocks of a replay, with the records that take effect in each.

A record takes effect in the first block that is not earlier than it. Blocks are 6 s apart. So a block never
contains what was recorded after it, and a strategy, which decides after a block, sees nothing of the future.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cfnode.core.aura import SLOT_MS
from cfnode.testing.replay.records import Price, RecordedSwap, newest

__all__ = ["Timeline", "TimelineStep", "slot_of"]


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """One block: the prices that are new by asset (microdollars), and the swaps that are sent."""

    slot: int
    prices: dict[str, int]
    swaps: tuple[RecordedSwap, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The blocks from one time up to another (Unix milliseconds, both included), with their records."""

    prices: Sequence[Price]
    swaps: Sequence[RecordedSwap]
    start: int
    end: int

    @property
    def slots(self) -> range:
        """The slots of the blocks, one of 6 s for each block."""
        return range(slot_of(self.start), slot_of(self.end) + 1)

    def steps(self) -> Iterator[TimelineStep]:
        """Yield the blocks; the first one has the prices that were known when it began."""
        price_times, swap_times = (
            [record.time for record in records] for records in (self.prices, self.swaps)
        )
        before = self.start - 1  # swaps that are earlier are left out
        first = 0
        for slot in self.slots:
            time = min(slot * SLOT_MS, self.end)
            end = bisect_right(price_times, time)
            due = slice(bisect_right(swap_times, before), bisect_right(swap_times, time))
            yield TimelineStep(slot, newest(self.prices[first:end]), tuple(self.swaps[due]))
            first, before = end, time


def slot_of(time: int) -> int:
    """Return the first slot that does not begin before a time."""
    return -(-time // SLOT_MS)
