"""A rate limit as a token bucket: `burst` times at once, and `per_second` times a second on average.

Time (seconds on any steady clock) is an argument.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Rate"]


@dataclass(slots=True)
class Rate:
    """One rate limit: a token bucket of `burst` tokens."""

    per_second: float
    burst: float
    _credit: float = field(init=False)
    _at: float | None = None

    def __post_init__(self) -> None:
        """Start with a full bucket."""
        self._credit = self.burst

    def take(self, now: float, times: float = 1) -> float:
        """Take `times` tokens; return the seconds to wait before going on, 0 within the limit."""
        elapsed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._at = now
        self._credit = min(self.burst, self._credit + elapsed * self.per_second) - times
        return max(0.0, -self._credit / self.per_second)

    def allows(self, now: float) -> bool:
        """Take a token if there is one, and return whether there was one."""
        if self.take(now) <= 0:
            return True
        self._credit += 1
        return False
