"""WebSocket connections by trio-websocket, within limits and with one kind of error.

A server may stay silent, drip, send a head without end or break the protocol, and at the end not answer the
goodbye. So connecting and closing have limits in time, messages one in size, and what the libraries raise
about a server is one of the errors below. What the caller's own block raises stays as it is. Under asyncio
the connection is open in a trio run inside the loop (`guest.py`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.clients.guest import Ended, GuestCall, HeldContext, held, is_under_trio
from cfnode.core.foreign import ANSWER, read_json
from cfnode.core.jsonrpc_client import encoded
from cfnode.core.safe_text import reason_of

if TYPE_CHECKING:
    from trio_websocket import WebSocketConnection

__all__ = [
    "MAX_MESSAGE_BYTES",
    "Broken",
    "NotConnected",
    "Rejected",
    "Socket",
    "SocketError",
    "SocketMessageTooLarge",
    "opened",
]

MAX_MESSAGE_BYTES: Final = ANSWER.size
CLOSE_TIMEOUT_S: Final = 2.0
"""Seconds that the server has for its part of closing."""
LARGE_MESSAGE_BYTES: Final = 64 * 1024
"""Bytes from which a message is parsed in a thread."""
_LEFT: Final = "the connection is closed"
_CLOSE_CODE_TOO_BIG: Final = 1009
"""The close code of a message over the limit."""


class SocketError(Exception):
    """Error for a failed connection. The text has no address."""


class NotConnected(SocketError):
    """Error for a connection that was not established."""


class Rejected(NotConnected):
    """Error for a handshake that the server answered with an HTTP status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


class Broken(SocketError):
    """Error for an open connection that ended."""


class SocketMessageTooLarge(Broken):
    """Error for a message of more than MAX_MESSAGE_BYTES bytes."""


class Socket:
    """Open connection, for JSON both ways."""

    def __init__(self, connection: WebSocketConnection) -> None:
        self._connection = connection

    async def send(self, document: Any) -> None:
        """Send a JSON document. Raises Broken."""
        from trio_websocket import ConnectionClosed

        try:
            await self._connection.send_message(encoded(document).decode())
        except ConnectionClosed as error:
            raise _broken(error) from None

    async def receive(self) -> Any:
        """Return the next message. Raise Broken, or ForeignError if it cannot be read."""
        from trio_websocket import ConnectionClosed

        try:
            message = await self._connection.get_message()
        except ConnectionClosed as error:
            raise _broken(error) from None
        if len(message) < LARGE_MESSAGE_BYTES:
            return read_json(message)
        return await trio.to_thread.run_sync(read_json, message)


class _GuestSocket(Socket):
    """Open connection of a trio run inside an asyncio loop, for that loop.

    What a cancelled `receive` waits for is the next one's, so that no message is lost.
    """

    def __init__(self, holder: HeldContext[Socket]) -> None:
        self._holder = holder
        self._unclaimed: deque[GuestCall[Any]] = deque()

    async def send(self, document: Any) -> None:
        holder = self._holder
        try:
            call = holder.start(partial(holder.value.send, document))
            await call.finish()
            holder.result(call)
        except Ended:
            raise Broken(_LEFT) from None

    async def receive(self) -> Any:
        holder = self._holder
        try:
            call = self._unclaimed.popleft() if self._unclaimed else holder.start(holder.value.receive)
            try:
                await call.wait()
            except BaseException:
                self._unclaimed.append(call)
                raise
            return holder.result(call)
        except Ended:
            raise Broken(_LEFT) from None


@asynccontextmanager
async def opened(
    url: str, seconds: float, headers: Sequence[tuple[bytes, bytes]] = ()
) -> AsyncIterator[Socket]:
    """Connect to an http(s) or ws(s) address within some seconds. Raise SocketError. For trio and asyncio."""
    connecting = partial(_opened, url, seconds, headers)
    if is_under_trio():
        async with connecting() as socket:
            yield socket
    else:
        async with held(connecting) as holder:
            yield _GuestSocket(holder)


@asynccontextmanager
async def _opened(url: str, seconds: float, headers: Sequence[tuple[bytes, bytes]]) -> AsyncIterator[Socket]:
    from trio_websocket import ConnectionRejected, DisconnectionTimeout, open_websocket_url

    address = "ws" + url.removeprefix("ws").removeprefix("http")
    scope = trio.CancelScope(deadline=trio.current_time() + seconds)
    is_open, caller_error = False, None
    try:
        with scope:
            async with open_websocket_url(
                address,
                max_message_size=MAX_MESSAGE_BYTES,
                extra_headers=list(headers),
                connect_timeout=math.inf,
                disconnect_timeout=CLOSE_TIMEOUT_S,
            ) as connection:
                is_open, scope.deadline = True, math.inf
                try:
                    yield Socket(connection)
                except BaseException as error:
                    caller_error = error
                    raise
    except ConnectionRejected as error:
        raise Rejected(error.status_code) from None
    except Exception as error:
        if caller_error is not None and (
            error is caller_error or not isinstance(caller_error, trio.Cancelled)
        ):
            raise caller_error from None  # the caller's error, not what the library raised meanwhile
        if not isinstance(error, DisconnectionTimeout):
            raise (Broken if is_open else NotConnected)(_reason(error)) from None
        if caller_error is not None:
            raise caller_error from None
    if scope.cancelled_caught and not is_open:
        raise NotConnected(f"no answer within {seconds:g} s")


def _reason(error: BaseException) -> str:
    """Return why a connection failed: the first cause, since the library's own errors have no text."""
    while error.__cause__ is not None or isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__ or error
    return reason_of(error)


def _broken(error: Any) -> Broken:
    code = getattr(error.reason, "code", None)
    if code == _CLOSE_CODE_TOO_BIG:
        return SocketMessageTooLarge(f"the server sent a message of more than {MAX_MESSAGE_BYTES} bytes")
    return Broken("the server closed the connection" + (f" ({code})" if code else ""))
