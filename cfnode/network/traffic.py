"""Counts of the network's connections, requests and notifications since the start.

Each is counted where it passes, by plain additions: nothing is allocated for a message. The metrics read the
counts (`cfnode/node/metrics/network.py`); labels have Substrate's values where Substrate has the case.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import trio

from cfnode.core.p2p.errors import RemoteError
from cfnode.network.connection import NO_PONG, UNUSED, PeerConnection
from cfnode.network.interface import RequestFailed, RequestTimedOut

__all__ = [
    "ConnectionTraffic",
    "Distribution",
    "NotificationTraffic",
    "RequestTraffic",
    "Traffic",
    "counting",
]

DIRECTIONS: Final = ("in", "out")
CLOSED: Final = ("keep-alive-timeout", "ping-timeout", "protocol-error", "closed-here", "transport-error")
"""Reasons for the end of a connection: unused; no answer to a ping; the peer broke the protocol; this node
closed it for another reason; the peer or the network ended it."""
_KNOWN_ENDS: Final = {UNUSED: "keep-alive-timeout", NO_PONG: "ping-timeout"}
FAILED_DIALS: Final = ("transport-error", "denied")
"""Reasons for failed dials: not reached or not secured; refused once the peer was known (banned, connected
already, no slot)."""
FAILED_HANDSHAKES: Final = ("limit-reached", *FAILED_DIALS)
"""Reasons for failed inbound connections: too many half-open ones, or of that address; else those of
dials."""
FAILED_REQUESTS: Final = ("timeout", "refused", "protocol-error")

NOTIFICATION_BYTES: Final = tuple(64 * 4**power for power in range(8))
REQUEST_SECONDS: Final = tuple(0.001 * 2**power for power in range(16))
"""Upper limits of the distributions, as in Substrate."""


class Distribution:
    """A histogram: how many values are at most each limit, and their sum.

    `counts` has one more, for larger values.
    """

    __slots__ = ("counts", "limits", "total")

    def __init__(self, limits: Sequence[float]) -> None:
        self.limits = limits
        self.counts = [0] * (len(limits) + 1)
        self.total: float = 0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.limits, value)] += 1
        self.total += value


class NotificationTraffic:
    """Counts of one notification protocol: message sizes in bytes, and how often it opened and closed."""

    def __init__(self) -> None:
        self.received, self.sent = Distribution(NOTIFICATION_BYTES), Distribution(NOTIFICATION_BYTES)
        self.opened = self.closed = 0


@contextmanager
def counting(error: type[Exception], counts: dict[str, int], reason: str) -> Iterator[None]:
    """Count errors of this type in the block."""
    try:
        yield
    except error:
        counts[reason] += 1
        raise


class RequestTraffic:
    """Counts of one request protocol: seconds of our successful requests and of our answers, and failures."""

    def __init__(self) -> None:
        self.succeeded, self.answered = Distribution(REQUEST_SECONDS), Distribution(REQUEST_SECONDS)
        self.failed = dict.fromkeys(FAILED_REQUESTS, 0)
        self.refused = 0

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Count the request that is sent in this block; a cancelled one does not count."""
        started = trio.current_time()
        try:
            yield
        except RequestFailed as error:
            self.failed[_reason(error)] += 1
            raise
        self.succeeded.add(trio.current_time() - started)


def _reason(failed: RequestFailed) -> str:
    if isinstance(failed, RequestTimedOut):
        return "timeout"
    return "protocol-error" if isinstance(failed.__cause__, RemoteError) else "refused"


class ConnectionTraffic:
    """Counts of connections by direction: opened, closed, and failed before they were open."""

    def __init__(self) -> None:
        self.opened = dict.fromkeys(DIRECTIONS, 0)
        self.closed = {(direction, reason): 0 for direction in DIRECTIONS for reason in CLOSED}
        self.incoming = 0
        self.failed_incoming = dict.fromkeys(FAILED_HANDSHAKES, 0)
        self.failed_dials = dict.fromkeys(FAILED_DIALS, 0)

    @contextmanager
    def open(self, connection: PeerConnection) -> Iterator[None]:
        """Count the connection that is open during this block."""
        direction = DIRECTIONS[not connection.inbound]
        self.opened[direction] += 1
        try:
            yield
        finally:
            self.closed[direction, _end_of(connection)] += 1


def _end_of(connection: PeerConnection) -> str:
    if connection.at_fault:
        return "protocol-error"
    if connection.end_reason in _KNOWN_ENDS:
        return _KNOWN_ENDS[connection.end_reason]
    return "closed-here" if connection.closed_here else "transport-error"


class Traffic:
    """Counts of the whole network, with protocols by their full names."""

    def __init__(self, connections: ConnectionTraffic) -> None:
        self.connections = connections
        self.notifications: dict[str, NotificationTraffic] = {}
        self.requests: dict[str, RequestTraffic] = {}
