"""The clock of a development chain: the slot of the next block, and the time of each slot.

Slots are 6,000 ms long and have one block each, and followers refuse blocks from the future. So a chain that
is faster than one block in 6 s cannot run in real time. It gets its own clock, which starts in the past (a
year back by default): each block takes the next slot, a jump skips slots, and the clock never runs ahead of
the real one. At 6 s a block the chain's time is the real time. A chain that begins with the state of another
chain always has its own clock, which continues from that state's last block.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from cfnode.core.aura import SLOT_MS
from cfnode.node.chain.errors import ChainRefusal

YEAR_MS = 365 * 24 * 3_600 * 1_000


class ClockError(ChainRefusal):
    """A refusal of the chain's clock; the text says what to do."""


class SlotInTheFuture(ClockError):
    """A next slot that has not begun in real time; `wait_ms`: real milliseconds until then."""

    def __init__(self, message: str, wait_ms: int) -> None:
        super().__init__(message)
        self.wait_ms = wait_ms


def wall_ms() -> int:
    """Return the real time, Unix milliseconds."""
    return time.time_ns() // 1_000_000


class ChainClock:
    """Slots for an author.

    `start_ms`: Unix milliseconds at which a chain with its own clock begins; None: it runs in real time.
    `wall_ms`: the real clock, Unix milliseconds.
    """

    def __init__(self, *, start_ms: int | None = None, wall_ms: Callable[[], int] = wall_ms) -> None:
        self._wall_ms = wall_ms
        self._start_slot = None if start_ms is None else start_ms // SLOT_MS
        self._skip = 0
        self._last: int | None = None
        if start_ms is not None and start_ms > wall_ms():
            raise ClockError(
                f"the start time {start_ms} ms lies in the future, by {(start_ms - wall_ms()) / 1000:.0f} s: "
                "a chain may begin at any time up to now (--dev-start-time)"
            )

    @classmethod
    def own(
        cls, start_ms: int | None = None, *, back_ms: int = YEAR_MS, wall_ms: Callable[[], int] = wall_ms
    ) -> ChainClock:
        """Create an own clock that begins at `start_ms`, else `back_ms` before now. Raises ClockError."""
        if start_ms is not None and start_ms < SLOT_MS:
            raise ClockError(
                f"the start time {start_ms} ms is in slot 0, which no block can have: begin at "
                f"{SLOT_MS} ms (1970-01-01T00:00:06Z) or later (--dev-start-time)"
            )
        return cls(start_ms=wall_ms() - back_ms if start_ms is None else start_ms, wall_ms=wall_ms)

    @classmethod
    def after(cls, last_ms: int, *, wall_ms: Callable[[], int] = wall_ms) -> ChainClock:
        """Create an own clock that continues after a block at `last_ms`, in the next slot.

        That slot may not have begun yet. Raises ClockError if the block itself lies in the future.
        """
        clock = cls(start_ms=last_ms, wall_ms=wall_ms)
        clock._start_slot = last_ms // SLOT_MS + 1
        return clock

    @property
    def is_real(self) -> bool:
        """Whether the chain runs in real time."""
        return self._start_slot is None

    def real_slot(self) -> int:
        """Return the present slot in real time; no block may have a later one."""
        return self._wall_ms() // SLOT_MS

    def now_ms(self) -> int:
        """Return the real time, Unix milliseconds."""
        return self._wall_ms()

    def next_slot(self, parent_slot: int | None) -> int:
        """Return the slot of the next block on a parent in `parent_slot` (None: the genesis block).

        Raises SlotInTheFuture if that slot has not begun in real time.
        """
        slot = self._candidate(parent_slot)
        self.check(slot)
        return slot

    def check(self, slot: int) -> None:
        """Raise SlotInTheFuture if `slot` has not begun in real time."""
        if slot > self.real_slot():
            raise self._too_early(slot)

    def use_slot(self, slot: int) -> None:
        """Record that a block was sealed in `slot`.

        No other block gets that slot, on any fork, and a pending jump is done.
        """
        self._last = slot
        self._skip = 0

    @property
    def position(self) -> tuple[int | None, int]:
        """The last used slot, and the number of slots to skip; can be set to an earlier value."""
        return self._last, self._skip

    @position.setter
    def position(self, position: tuple[int | None, int]) -> None:
        self._last, self._skip = position

    def jump(self, milliseconds: int, parent_slot: int | None) -> int:
        """Skip at least so much time before the next block, and return that block's slot.

        Jumps add up. Raises ClockError.
        """
        if self.is_real:
            raise ClockError(
                "this chain runs in real time and cannot jump: start it with --dev-start-time, "
                "--dev-block-time below 6 or --dev-seal instant"
            )
        if milliseconds < 0:
            raise ClockError("time goes forward only: a jump takes a positive length")
        slots = -(-milliseconds // SLOT_MS)
        target = self._candidate(parent_slot) + slots
        self.check(target)
        self._skip += slots
        return target

    def timestamp_ms(self, slot: int) -> int:
        """Return the timestamp of a block in `slot`, Unix milliseconds.

        It is the beginning of the slot, or now on a chain in real time.
        """
        now = self._wall_ms()
        return now if self.is_real and now // SLOT_MS == slot else slot * SLOT_MS

    def until_slot_ms(self, slot: int) -> int:
        """Return the real milliseconds until `slot` begins; 0 when it has begun."""
        return max(0, slot * SLOT_MS - self._wall_ms())

    def _candidate(self, parent_slot: int | None) -> int:
        next_slots = [slot + 1 for slot in (parent_slot, self._last) if slot is not None]
        if self._start_slot is None:
            return max(*next_slots, self.real_slot()) if next_slots else self.real_slot()
        return (max(next_slots) if next_slots else self._start_slot) + self._skip

    def _too_early(self, slot: int) -> SlotInTheFuture:
        wait = self.until_slot_ms(slot)
        if self.is_real:
            text = f"the next slot begins in {wait / 1000:.1f} s: this chain makes one block in 6 s"
        else:
            text = (
                f"the chain's clock would run {wait / 1000:.0f} s ahead of the real time: "
                "its reserve is used up. Start a new chain further back (--dev-start-time, with --tmp or "
                "after purge-chain), "
                "or continue at one block in 6 s"
            )
        return SlotInTheFuture(text, wait)
