"""How often may one connection call? A number of times a minute; further calls wait, none is refused."""

from __future__ import annotations

from typing import Final

import trio

BURST_SECONDS: Final = 1.0
"""A connection that was idle may send the calls of this many seconds without a pause."""


class RateLimiter:
    """A steady rate with a small burst: each call takes one interval, and waits until it is free."""

    def __init__(self, calls_a_minute: int) -> None:
        self._interval = 60.0 / calls_a_minute
        self._burst = max(BURST_SECONDS, self._interval)
        self._next = 0.0

    async def wait(self) -> None:
        """Return when the next call may be made."""
        now = trio.current_time()
        self._next = max(self._next, now - self._burst) + self._interval
        if self._next > now:
            await trio.sleep_until(self._next)
