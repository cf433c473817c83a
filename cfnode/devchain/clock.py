"""What time is it on the chain, and in which slot does the next block lie?

Slots are 6,000 ms and hold one block each, and its followers refuse blocks from the future. So a
chain that is faster than one block in 6 s cannot live in real time. It gets a clock of its own: it starts in
the past (a year back by default), each block takes the next slot, a jump leaves slots out, and it never runs
ahead of the real clock. At 6 s a block the chain's time is the real time. A chain that begins with the state
of another chain has a clock of its own at any pace, which goes on from that state's last block.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from cfnode.core.aura import SLOT_MS
from cfnode.node.chain_errors import ChainRefusal

YEAR_MS = 365 * 24 * 3_600 * 1_000


class ClockError(ChainRefusal):
    """The chain's clock cannot do what was asked; the text says what to do."""


class SlotInTheFuture(ClockError):
    """The next slot has not begun in real time."""

    def __init__(self, message: str, wait_ms: int) -> None:
        super().__init__(message)
        self.wait_ms = wait_ms


def wall_ms() -> int:
    """The real time, Unix milliseconds."""
    return time.time_ns() // 1_000_000


class ChainClock:
    """Slots for an author.

    `start_ms`: Unix milliseconds at which a chain with its own clock begins; None: it lives in real time.
    `wall_ms`: the real clock, Unix milliseconds.
    """

    def __init__(self, *, start_ms: int | None = None, wall_ms: Callable[[], int] = wall_ms) -> None:
        self._wall_ms = wall_ms
        self._start_slot = None if start_ms is None else start_ms // SLOT_MS
        self._skip = 0
        self._last: int | None = None
        if start_ms is not None and start_ms > wall_ms():
            raise ClockError(
                f"the start time {start_ms} ms lies in the future (now {wall_ms()} ms): "
                "a chain may begin at any time up to now"
            )

    @classmethod
    def own(
        cls, start_ms: int | None = None, *, back_ms: int = YEAR_MS, wall_ms: Callable[[], int] = wall_ms
    ) -> ChainClock:
        """A clock of the chain's own that begins at `start_ms`, else `back_ms` before now."""
        return cls(start_ms=wall_ms() - back_ms if start_ms is None else start_ms, wall_ms=wall_ms)

    @classmethod
    def after(cls, last_ms: int, *, wall_ms: Callable[[], int] = wall_ms) -> ChainClock:
        """A clock of the chain's own that goes on after a block at `last_ms`, in the next slot.

        That slot may not have begun yet; raises ClockError where the block itself lies in the future.
        """
        clock = cls(start_ms=last_ms, wall_ms=wall_ms)
        clock._start_slot = last_ms // SLOT_MS + 1
        return clock

    @property
    def is_real(self) -> bool:
        """Does the chain live in real time?"""
        return self._start_slot is None

    def real_slot(self) -> int:
        """The slot of this moment in real time; no block may lie beyond it."""
        return self._wall_ms() // SLOT_MS

    def now_ms(self) -> int:
        """Real time, Unix milliseconds."""
        return self._wall_ms()

    def next_slot(self, parent_slot: int | None) -> int:
        """The slot of the next block on a parent in `parent_slot` (None: the genesis block, which has none).

        Raises SlotInTheFuture when real time has not come so far.
        """
        slot = self._candidate(parent_slot)
        self.check(slot)
        return slot

    def check(self, slot: int) -> None:
        """Raises SlotInTheFuture when `slot` has not begun in real time."""
        if slot > self.real_slot():
            raise self._too_early(slot)

    def take(self, slot: int) -> None:
        """A block was sealed in `slot`: no other is, on whatever fork, and a pending jump is used up."""
        self._last = slot
        self._skip = 0

    @property
    def place(self) -> tuple[int | None, int]:
        """The last slot that was taken, and how many are to be left out; it can be set to what it was."""
        return self._last, self._skip

    @place.setter
    def place(self, place: tuple[int | None, int]) -> None:
        self._last, self._skip = place

    def jump(self, milliseconds: int, parent_slot: int | None) -> int:
        """Let at least so much time pass before the next block; returns that block's slot. Jumps add up."""
        if self.is_real:
            raise ClockError(
                "this chain lives in real time and cannot jump: start it with --dev-start-time, "
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
        """The time a block in `slot` states: its beginning, or now where the chain lives in real time."""
        now = self._wall_ms()
        return now if self.is_real and now // SLOT_MS == slot else slot * SLOT_MS

    def until_slot_ms(self, slot: int) -> int:
        """Real milliseconds until `slot` begins; 0 when it has begun."""
        return max(0, slot * SLOT_MS - self._wall_ms())

    def _candidate(self, parent_slot: int | None) -> int:
        taken = [slot + 1 for slot in (parent_slot, self._last) if slot is not None]
        if self._start_slot is None:
            return max(*taken, self.real_slot()) if taken else self.real_slot()
        return (max(taken) if taken else self._start_slot) + self._skip

    def _too_early(self, slot: int) -> SlotInTheFuture:
        wait = self.until_slot_ms(slot)
        if self.is_real:
            text = f"the next slot begins in {wait / 1000:.1f} s: this chain makes one block in 6 s"
        else:
            text = (
                f"the chain's clock would run {wait / 1000:.0f} s ahead of the real time: "
                "its reserve is used up. Begin a new chain further back (--dev-start-time, with --tmp or "
                "after purge-chain), "
                "or go on at one block in 6 s"
            )
        return SlotInTheFuture(text, wait)
