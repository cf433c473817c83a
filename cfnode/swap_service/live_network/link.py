"""Connection to a node, made again after a break; each time the node's chain is checked.

After a fault the link tries again with growing pauses. News of the books ends a pause: they have begun, or
the ledger writes again, so that the node may be back too. While the node does not answer, a request ends
after a few seconds with a clear error, and never hangs.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import trio

from cfnode.flow.wakeup import Wakeup
from cfnode.ledger.chain import ChainReader
from cfnode.ledger.client import MethodCall, NodeClient, connected, origin_of
from cfnode.ledger.errors import CallError, LedgerError, NodeError
from cfnode.ledger.updates import Updates

__all__ = ["BrokerNotConnected", "NodeLink"]

log = logging.getLogger("cfnode.service")
RECONNECT_PAUSE_S: Final = 1.0
MAX_RECONNECT_PAUSE_S: Final = 15.0
MIN_RECONNECT_PAUSE_S: Final = 0.1
"""Seconds between two attempts, however fast the books get new blocks."""
WAIT_FOR_CONNECTION_S: Final = 5.0
"""Seconds that a request waits for a connection."""
NODE_ANSWER_TIMEOUT_S: Final = 30.0
"""Seconds for the answer to a request."""

Check = Callable[[ChainReader], Awaitable[None]]
"""Check of a connected node, which raises WrongChain for a node of another chain."""


class BrokerNotConnected(NodeError):
    """No connection, so nothing was sent."""


class NodeLink:
    """Connection to a node, which `run` keeps."""

    def __init__(self, url: str, token: str | None, check: Check) -> None:
        self.origin = origin_of(url)
        self._url, self._token, self._check = url, token, check
        self._client: NodeClient | None = None
        self._changed = Wakeup()
        self._reason: LedgerError = NodeError(f"no connection to {self.origin} yet")

    @property
    def fault(self) -> str | None:
        """The reason why there is no connection; None if there is one."""
        return None if self._client is not None else str(self._reason)

    async def check(self) -> None:
        """Connect once. Raises LedgerError if that fails, or for a node of another chain."""
        async with connected(self._url, self._token) as client:
            await self._check(ChainReader(client))

    async def run(self, news: Updates) -> None:
        """Keep a connection until cancelled; `news` of the books ends a pause."""
        pause, last_error = RECONNECT_PAUSE_S, ""
        while True:
            count = news.count
            try:
                async with connected(self._url, self._token) as client:
                    await self._check(ChainReader(client))
                    log.info("Connected to %s", self.origin)
                    pause, last_error = RECONNECT_PAUSE_S, ""
                    self._set(client)
                    await trio.sleep_forever()
            except LedgerError as error:
                self._reason = error
                level = logging.DEBUG if last_error == str(error) else logging.WARNING
                log.log(level, "%s; trying again in %g s, or when the books change", error, pause)
                last_error = str(error)
            finally:
                count = news.count if self._client is not None else count
                self._set(None)
            if await _pause(pause, news, count):
                pause, last_error = min(2 * pause, MAX_RECONNECT_PAUSE_S), ""

    def _set(self, client: NodeClient | None) -> None:
        self._client = client
        self._changed.notify()

    async def call(self, method: str, *params: Any, within_s: float = NODE_ANSWER_TIMEOUT_S) -> Any:
        """Return the result of one call. Raises CallError, NodeError."""
        (answer,) = await self.batch([(method, params)], within_s=within_s)
        if isinstance(answer, CallError):
            raise answer
        return answer

    async def batch(
        self, calls: Sequence[MethodCall], *, within_s: float = NODE_ANSWER_TIMEOUT_S
    ) -> list[Any]:
        """Return the result, or the CallError, of each call.

        Raises NodeError, or NotConnected if nothing was sent.
        """
        client = await self._connected()
        results: list[Any] = []
        failure: LedgerError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._end_with_connection, nursery.cancel_scope)
            nursery.cancel_scope.deadline = trio.current_time() + within_s
            try:
                results = await client.batch(calls)
            except LedgerError as error:  # raised outside, where the nursery makes no group of it
                failure = error
            nursery.cancel_scope.cancel()
        if failure is not None:
            raise failure
        if not results:
            raise NodeError(self.fault or f"no answer from {self.origin} within {within_s:g} s")
        return results

    async def _connected(self) -> NodeClient:
        with trio.move_on_after(WAIT_FOR_CONNECTION_S):
            while self._client is None:
                await self._changed.wait()
        if self._client is None:
            raise BrokerNotConnected(str(self._reason))
        return self._client

    async def _end_with_connection(self, scope: trio.CancelScope) -> None:
        await self._changed.wait()
        scope.cancel()


async def _pause(seconds: float, news: Updates, count: int) -> bool:
    """Wait some seconds, or until the newest block of the books has changed more than `count` times.

    Returns whether the whole time passed.
    """
    await trio.sleep(MIN_RECONNECT_PAUSE_S)
    with trio.move_on_after(seconds - MIN_RECONNECT_PAUSE_S) as scope:
        await news.moved_since(count)
    return scope.cancelled_caught
