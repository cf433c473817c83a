"""Threads for slow work: three separate limits, and what a cancelled task does about its thread.

Each kind of work has threads of its own, so that no kind waits for another:

- the import of blocks and all other work that changes this node: trio's own threads (`trio.to_thread`);
- checks of what peers sent: pure functions of bytes, so a cancelled task leaves at once, and the thread ends
  by itself, or where the check calls `leave_if_cancelled`. In a race of two answers, the winner does not
  wait for the loser's check, which may take seconds;
- reads and conversions for clients. Reads of the store hold a snapshot of it, and have to end before their
  task does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import trio

__all__ = ["check_in_thread", "convert_in_thread", "leave_if_cancelled", "read_in_thread"]

T = TypeVar("T")
Args = TypeVarTuple("Args")

MAX_CHECKS = 16
"""The maximum number of checks at a time, including those whose tasks have left."""
MAX_READS = 16
"""The maximum number of reads and conversions for clients at a time."""


class _Limiter:
    """The limiter of the threads of one kind, for each event loop."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._limiter = trio.lowlevel.RunVar[trio.CapacityLimiter]("threads")

    def get(self) -> trio.CapacityLimiter:
        """Return the limiter of the present event loop."""
        try:
            return self._limiter.get()
        except LookupError:
            limiter = trio.CapacityLimiter(self._limit)
            self._limiter.set(limiter)
            return limiter


_checks, _reads = _Limiter(MAX_CHECKS), _Limiter(MAX_READS)


async def check_in_thread(check: Callable[[*Args], T], *args: *Args) -> T:
    """Return the result of a pure function of what a peer sent, run in a thread."""
    return await trio.to_thread.run_sync(check, *args, abandon_on_cancel=True, limiter=_checks.get())


def leave_if_cancelled() -> None:
    """End the check if its task is cancelled. Call it in the check's thread, between its steps."""
    trio.from_thread.check_cancelled()


async def read_in_thread(read: Callable[[*Args], T], *args: *Args) -> T:
    """Return the result of a function that reads the store for a client, run in a thread."""
    return await trio.to_thread.run_sync(read, *args, limiter=_reads.get())


async def convert_in_thread(convert: Callable[[*Args], T], *args: *Args) -> T:
    """Return the result of a pure function for a client, run in a thread."""
    return await trio.to_thread.run_sync(convert, *args, abandon_on_cancel=True, limiter=_reads.get())
