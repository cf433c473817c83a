"""How often may one connection call? A number of calls a minute; further calls wait, none is refused.

A connection may send the calls of a whole minute at once, as at the official node (a quota per minute whose
burst is the quota), and one more call in each 60 s / quota from then on.
"""

from __future__ import annotations

from math import inf
from typing import Final

import trio

BURST_SECONDS: Final = 60.0
"""A connection that was idle for so many seconds may send the calls of that time without a pause."""


class RateLimiter:
    """A steady rate with a burst: each call takes one interval, and waits until it is free."""

    def __init__(self, calls_a_minute: int) -> None:
        self._interval = 60.0 / calls_a_minute
        self._next = -inf

    async def wait(self) -> None:
        """Return when the next call may be made."""
        now = trio.current_time()
        self._next = max(self._next, now - BURST_SECONDS) + self._interval
        if self._next > now:
            await trio.sleep_until(self._next)
