"""Back-off of repeated attempts (dials, protocols) after failures, for each peer.

Each failure in a row doubles the wait, up to a minute. Substrate's nodes wait for five seconds after each
refused or ended substream; doubling the wait saves both sides work. An isolated node, one without any peer,
falls behind with each second, so it waits for ten seconds at most. Time (seconds on any steady clock) is an
argument.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["FIRST_WAIT", "MAX_WAIT", "MAX_WAIT_ISOLATED", "MIN_UPTIME_S", "BackOff"]

FIRST_WAIT = 5.0
MAX_WAIT = 60.0
MAX_WAIT_ISOLATED = 10.0
MIN_UPTIME_S = 10.0
"""Seconds after which an open substream or connection counts as a success, however it ends."""
MAX_BACKED_OFF_PEERS = 4096
"""Peers remembered; beyond that, the peer whose wait ends first is forgotten."""


@dataclass(slots=True)
class _BackoffWait:
    failures: int = 0
    since: float = 0.0
    until: float = 0.0


@dataclass(slots=True)
class BackOff:
    """The waits of many peers for one kind of attempt."""

    _waits: dict[str, _BackoffWait] = field(default_factory=dict)

    def failed(self, peer: str, now: float, *, isolated: bool = False) -> float:
        """Record a failure; return the seconds to wait, which are fewer if this node is `isolated`."""
        if peer not in self._waits and len(self._waits) >= MAX_BACKED_OFF_PEERS:
            del self._waits[min(self._waits, key=lambda known: self._waits[known].until)]
        wait = self._waits.setdefault(peer, _BackoffWait())
        seconds = min(MAX_WAIT, FIRST_WAIT * 2.0 ** min(wait.failures, 16))
        wait.failures += 1
        wait.since, wait.until = now, now + seconds
        return min(seconds, MAX_WAIT_ISOLATED) if isolated else seconds

    def ended(self, peer: str, since: float | None, now: float) -> float:
        """Record an end; return the seconds to wait. `since`: when the link had opened; None: never."""
        if since is not None and now - since >= MIN_UPTIME_S:
            self.succeeded(peer)
        return self.failed(peer, now)

    def succeeded(self, peer: str) -> None:
        """Forget the failures of a peer: its next failure counts as the first one."""
        self._waits.pop(peer, None)

    def failures(self, peer: str) -> int:
        """Return the peer's number of failures in a row."""
        wait = self._waits.get(peer)
        return wait.failures if wait else 0

    def allows(self, peer: str, now: float, *, isolated: bool = False) -> bool:
        """Return whether the peer's wait is over; the wait is shorter if this node is `isolated`."""
        wait = self._waits.get(peer)
        if wait is None:
            return True
        return now >= (min(wait.until, wait.since + MAX_WAIT_ISOLATED) if isolated else wait.until)
