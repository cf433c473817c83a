"""A timer for a task that acts every few seconds although events wake it more often.

A task that restarts its timer at each wake-up never reaches the end of it on a busy network, where peers send
news several times a second: it would never ask again the peers that it wanted to ask again later.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

__all__ = ["Interval"]


class Interval:
    """An interval of `seconds`. The first one begins now, each further one when `has_elapsed` is true."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = trio.current_time() + seconds

    def has_elapsed(self) -> bool:
        """Return whether the interval has ended; if so, begin the next one."""
        now = trio.current_time()
        if now < self._end:
            return False
        self._end = now + self._seconds
        return True

    async def wait(self, news: Callable[[], Awaitable[object]]) -> None:
        """Wait for news, at most until the interval ends."""
        with trio.move_on_at(self._end):
            await news()
