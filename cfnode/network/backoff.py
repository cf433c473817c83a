"""When may something that failed be tried again?

Each failure in a row doubles the wait, up to a minute. Substrate's nodes wait for five seconds after a
substream was refused or has ended, each time; who doubles spares both sides. But a node with nobody at all
falls behind with each second, so it waits for ten seconds at most. Time (seconds on any steady clock) is an
argument.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["FIRST_WAIT", "LASTING", "LONGEST_ALONE", "LONGEST_WAIT", "BackOff"]

FIRST_WAIT = 5.0
LONGEST_WAIT = 60.0
LONGEST_ALONE = 10.0
LASTING = 10.0
"""Seconds after which what was open counts as a success, however it ends."""
MAX_KNOWN = 4096
"""Peers remembered; of more, the one whose wait is over first is forgotten."""


@dataclass(slots=True)
class _Wait:
    failures: int = 0
    since: float = 0.0
    until: float = 0.0


@dataclass(slots=True)
class BackOff:
    """The waits of many peers for one kind of thing."""

    _waits: dict[str, _Wait] = field(default_factory=dict)

    def failed(self, peer: str, now: float, *, alone: bool = False) -> float:
        """It did not work, or did not last; how long to wait, which is less for who is `alone`."""
        if peer not in self._waits and len(self._waits) >= MAX_KNOWN:
            del self._waits[min(self._waits, key=lambda known: self._waits[known].until)]
        wait = self._waits.setdefault(peer, _Wait())
        seconds = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(wait.failures, 16))
        wait.failures += 1
        wait.since, wait.until = now, now + seconds
        return min(seconds, LONGEST_ALONE) if alone else seconds

    def ended(self, peer: str, since: float | None, now: float) -> float:
        """What was open `since` then (None: never) is not any more; how long to wait."""
        if since is not None and now - since >= LASTING:
            self.succeeded(peer)
        return self.failed(peer, now)

    def succeeded(self, peer: str) -> None:
        """It works: the next failure is the first one again."""
        self._waits.pop(peer, None)

    def failures(self, peer: str) -> int:
        """How many there were in a row."""
        wait = self._waits.get(peer)
        return wait.failures if wait else 0

    def allows(self, peer: str, now: float, *, alone: bool = False) -> bool:
        """Whether the wait is over, which is shorter for who is `alone`."""
        wait = self._waits.get(peer)
        return wait is None or now >= (min(wait.until, wait.since + LONGEST_ALONE) if alone else wait.until)
