"""A clock that jumps to the next deadline as soon as nothing is at work: neither a task nor a worker thread.

trio's own `MockClock` does not see threads: tests that use some would have to wait a moment before each jump.
What other processes do it does not see either: tests that wait for these take real time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import trio
from trio.testing import MockClock

AT_ONCE, NEVER = 0.0, float("inf")


@pytest.fixture
def patient_clock() -> Iterator[MockClock]:
    """Let time jump when all tasks wait and no thread is at work."""
    clock = MockClock(autojump_threshold=AT_ONCE)
    run_sync, threads = trio.to_thread.run_sync, 0

    async def counted(*call: Any, **options: Any) -> Any:
        nonlocal threads
        threads += 1
        clock.autojump_threshold = NEVER
        try:
            return await run_sync(*call, **options)
        finally:
            threads -= 1
            clock.autojump_threshold = NEVER if threads else AT_ONCE

    with pytest.MonkeyPatch.context() as patch:  # of its own: a test may undo all of its patches
        patch.setattr(trio.to_thread, "run_sync", counted)
        yield clock
