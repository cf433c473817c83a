"""How often may a client call? A number of calls a minute; further calls wait, none is refused.

A client may send the calls of a whole minute at once, as at the official node (a quota per minute whose
burst is the quota), and one more call in each 60 s / quota from then on. A client is a connection; behind a
trusted proxy, whose connections carry the requests of many, it is the address that the proxy names.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from math import inf
from typing import Final

import trio

from cfnode.rpc.access import Verdict
from cfnode.rpc.forwarded import UNKNOWN

__all__ = ["RateLimiter", "RateLimits"]

BURST_SECONDS: Final = 60.0
"""A client that was idle for so many seconds may send the calls of that time without a pause."""
MAX_CLIENTS: Final = 10_000
"""Clients of proxies that are remembered; the one that was silent longest is forgotten first."""


class RateLimiter:
    """A steady rate with a burst: each call takes one interval, and waits until it is free."""

    def __init__(self, calls_a_minute: int) -> None:
        self._interval = 60.0 / calls_a_minute
        self._next = -inf

    async def wait(self) -> bool:
        """Return when the next call may be made: whether it had to wait."""
        now = trio.current_time()
        self._next = max(self._next, now - BURST_SECONDS) + self._interval
        if self._next <= now:
            return False
        await trio.sleep_until(self._next)
        return True


class RateLimits:
    """The rate limit of one server; `calls_a_minute` None: no limit."""

    def __init__(self, calls_a_minute: int | None) -> None:
        self._calls = calls_a_minute
        self._by_address: OrderedDict[str, RateLimiter] = OrderedDict()

    def of_connection(self) -> RateLimiter | None:
        """The limit of a new connection."""
        return None if self._calls is None else RateLimiter(self._calls)

    def throttle(self, verdict: Verdict, own: RateLimiter | None) -> Callable[[], Awaitable[bool]] | None:
        """Waits until the client may make one more call; None without a limit. `own`: its connection's."""
        if self._calls is None or own is None or verdict.is_unlimited:
            return None
        if not verdict.is_proxied or verdict.address == UNKNOWN:
            return own.wait
        return self._of_address(verdict.address, self._calls).wait

    def _of_address(self, address: str, calls: int) -> RateLimiter:
        limiter = self._by_address.setdefault(address, RateLimiter(calls))
        self._by_address.move_to_end(address)
        if len(self._by_address) > MAX_CLIENTS:
            self._by_address.popitem(last=False)
        return limiter
