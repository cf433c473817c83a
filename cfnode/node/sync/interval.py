"""What is done every few seconds, however often something wakes the task in between?

Who counts such seconds anew at each wake-up never gets there on a busy network, where peers send news several
times a second: whom it wanted to ask again later, it would ask never again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

__all__ = ["Interval"]


class Interval:
    """An interval of so many seconds; the first one begins now, the next one when its end was seen."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = trio.current_time() + seconds

    def is_over(self) -> bool:
        """Has it ended? Then the next one begins."""
        now = trio.current_time()
        if now < self._end:
            return False
        self._end = now + self._seconds
        return True

    async def rest(self, news: Callable[[], Awaitable[object]]) -> None:
        """Wait for news, at most until the interval ends."""
        with trio.move_on_at(self._end):
            await news()
