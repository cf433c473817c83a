"""Settings of glibc's allocator that return memory to the system after a burst of large answers.

glibc maps each block of 128 KiB or more separately and unmaps it when it is freed. But once it has freed such
a block of up to 32 MiB, it takes blocks of that size from its heap, and the heap shrinks only from its end.
The memory of a burst of large answers then stays with the process for good (docs/design/rpc.md has figures).
Without glibc this module does nothing.
"""

from __future__ import annotations

import ctypes
import logging
from typing import Any, Final

import trio

from cfnode.serving.memory_budget import MemoryBudgets

__all__ = ["fix_threshold", "trim_after_bursts"]

log = logging.getLogger("cfnode.serving")

MMAP_THRESHOLD_BYTES: Final = 128 * 1024
"""Blocks of this size and more are mapped separately: glibc's initial value, which setting it fixes."""
BURST_BYTES: Final = 32 * 1024 * 1024
"""The heap is trimmed when the memory held for clients has fallen by this much."""
TRIM_INTERVAL_S: Final = 5.0
"""Seconds between two checks: trimming takes milliseconds in a thread, and is useless while a burst lasts."""
_M_MMAP_THRESHOLD: Final = -3  # malloc.h


def _glibc(name: str) -> Any:
    """Return a function of the C library; None if the library lacks it."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except OSError:
        return None


def fix_threshold() -> None:
    """Let the allocator of this process return large blocks to the system when they are freed."""
    if (mallopt := _glibc("mallopt")) is not None:
        mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)


async def trim_after_bursts(budgets: MemoryBudgets) -> None:
    """Return free heap memory to the system each time that clients hold BURST_BYTES less than before.

    Runs until cancelled; returns at once without glibc.
    """
    malloc_trim = _glibc("malloc_trim")
    while malloc_trim is not None:
        await trio.sleep(TRIM_INTERVAL_S)
        if budgets.peak - budgets.size >= BURST_BYTES:
            budgets.peak = budgets.size
            await trio.to_thread.run_sync(malloc_trim, 0)
            log.debug("returned the memory of a burst of answers to the system")
