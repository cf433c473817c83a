"""How does memory go back to the system after a burst of large answers? By settings of glibc's allocator.

glibc takes blocks of 128 KiB and more from the system one by one, and gives each back when it is freed; but
the first time it frees one of up to 32 MiB, it takes from then on blocks of that size from its heap, which
shrinks only from its end. A burst of large answers then stays with the process for good (docs/design/rpc.md
has figures). Where there is no glibc nothing is done.
"""

from __future__ import annotations

import ctypes
import logging
from typing import Any, Final

import trio

from cfnode.rpc.memory_budget import MemoryBudgets

__all__ = ["fix_threshold", "trim_after_bursts"]

log = logging.getLogger("cfnode.rpc")

MMAP_THRESHOLD_BYTES: Final = 128 * 1024
"""Blocks of this size and more are given back one by one: glibc's own first value, which setting it fixes."""
BURST_BYTES: Final = 32 * 1024 * 1024
"""What clients held and hold no longer, after which the heap is trimmed."""
TRIM_INTERVAL_S: Final = 5.0
"""Trimming takes milliseconds in a thread; while a burst lasts it is of no use."""
_M_MMAP_THRESHOLD: Final = -3  # malloc.h


def _glibc(name: str) -> Any:
    """A function of the C library; None where it has no such."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except OSError:
        return None


def fix_threshold() -> None:
    """Let large blocks go back to the system when they are freed, for as long as the process lives."""
    if (mallopt := _glibc("mallopt")) is not None:
        mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)


async def trim_after_bursts(budgets: MemoryBudgets) -> None:
    """Give back what is free inside of the heap, whenever clients hold much less than they did."""
    malloc_trim = _glibc("malloc_trim")
    while malloc_trim is not None:
        await trio.sleep(TRIM_INTERVAL_S)
        if budgets.peak - budgets.size >= BURST_BYTES:
            budgets.peak = budgets.size
            await trio.to_thread.run_sync(malloc_trim, 0)
            log.debug("memory of a burst of answers was given back")
