"""The rate limit of clients: a number of calls a minute; further calls wait, and none is refused.

A client may send the calls of a whole minute at once, as at the official node (a quota per minute whose
burst is the quota), and one more call in each 60 s / quota from then on. A client is a connection; behind a
trusted proxy, whose connections carry the requests of many, it is the party at the address that the proxy
names (`core/ip_addresses.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from cfnode.core.bounded import BoundedDict
from cfnode.core.ip_addresses import party_of
from cfnode.flow.rate import Rate
from cfnode.rpc.port.access import AccessDecision
from cfnode.rpc.port.forwarded import UNKNOWN_CLIENT

__all__ = ["RateLimiter", "RateLimits"]

MAX_CLIENTS: Final = 10_000
"""Clients of proxies that are remembered; the one that was silent longest is forgotten first."""


class RateLimiter:
    """A steady rate whose burst is the quota of a minute; further calls wait."""

    def __init__(self, calls_a_minute: int) -> None:
        self._rate = Rate(calls_a_minute / 60.0, calls_a_minute)

    async def wait(self) -> bool:
        """Wait until the next call may be made; return whether it had to wait."""
        pause = self._rate.take(trio.current_time())
        if pause <= 0:
            return False
        await trio.sleep(pause)
        return True


class RateLimits:
    """The rate limit of one server; `calls_a_minute` None: no limit."""

    def __init__(self, calls_a_minute: int | None) -> None:
        self._calls = calls_a_minute
        self._by_party = BoundedDict[str, RateLimiter](MAX_CLIENTS)

    def of_connection(self) -> RateLimiter | None:
        """Return the limit of a new connection; None without a limit."""
        return None if self._calls is None else RateLimiter(self._calls)

    def throttle(
        self, verdict: AccessDecision, own: RateLimiter | None
    ) -> Callable[[], Awaitable[bool]] | None:
        """Return the function that waits until the client may make one more call; None without a limit.

        `own`: the limit of the client's connection.
        """
        if self._calls is None or own is None or verdict.is_unlimited:
            return None
        if not verdict.is_proxied or verdict.address == UNKNOWN_CLIENT:
            return own.wait
        return self._of_address(verdict.address, self._calls).wait

    def _of_address(self, address: str, calls: int) -> RateLimiter:
        party = party_of(address)
        limiter = self._by_party.get(party) or RateLimiter(calls)
        self._by_party.put_last(party, limiter)
        return limiter
