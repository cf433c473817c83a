"""How many messages may one peer send? A burst at once, and a steady rate; it costs two numbers a peer."""

from __future__ import annotations

import trio

__all__ = ["Allowance"]


class Allowance:
    """`burst` messages at once; they come back at `rate` a second."""

    __slots__ = ("_burst", "_left", "_rate", "_seen")

    def __init__(self, burst: int, rate: float) -> None:
        self._burst, self._rate = burst, rate
        self._left, self._seen = float(burst), trio.current_time()

    def take(self) -> bool:
        """Whether one more is within the allowance."""
        now = trio.current_time()
        self._left = min(self._burst, self._left + (now - self._seen) * self._rate)
        self._seen = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
