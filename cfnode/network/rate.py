"""How often may something happen?

So many times at once, and so many times a second on the average. Time (seconds on any steady clock) is an
argument.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Rate"]


@dataclass(slots=True)
class Rate:
    """One limit. `burst`: times at once."""

    per_second: float
    burst: float
    _credit: float = field(init=False)
    _at: float | None = None

    def __post_init__(self) -> None:
        self._credit = self.burst

    def take(self, now: float, times: float = 1) -> float:
        """It happens, so many times; how many seconds it should wait, 0 within the limit."""
        elapsed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._at = now
        self._credit = min(self.burst, self._credit + elapsed * self.per_second) - times
        return max(0.0, -self._credit / self.per_second)

    def allows(self, now: float) -> bool:
        """Whether it may happen now; where it may not, it does not count."""
        if self.take(now) <= 0:
            return True
        self._credit += 1
        return False
