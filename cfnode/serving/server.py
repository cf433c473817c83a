"""The server of one listening port: it accepts, limits connections, and closes them all at the end.

hypercorn serves each connection (`connection.py`); this module implements what hypercorn has no settings for.
A connection over the limit gets status 429 and is closed. When the server stops, running requests have
`PortLimits.grace_s` seconds; then every socket is closed, so that a client that does not read cannot delay
the end of the process.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, cast

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.trio.worker_context import WorkerContext

from cfnode.flow.accept import accept_connections
from cfnode.flow.turns import Turns
from cfnode.flow.wakeup import Wakeup
from cfnode.serving.allocator import fix_threshold, trim_after_bursts
from cfnode.serving.connection import ServedConnection
from cfnode.serving.limits import PortLimits, hypercorn_config
from cfnode.serving.memory_budget import MemoryBudgets
from cfnode.serving.responses import Busy, Receive, Scope, Send
from cfnode.serving.shares import ConnectionShares
from cfnode.serving.short_request import ShortRequests

__all__ = ["SPARE_CONNECTIONS", "Application", "PortServer"]

SPARE_CONNECTIONS: Final = 32
"""Connections beyond the limit that are served a proper 429; for further ones a fixed 429 is written without
reading the request."""

Application = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An ASGI application. `scope["state"]["connection"]` is its `ServedConnection`."""
Companion = Callable[[], Awaitable[None]]


class PortServer:
    """The connections of one port.

    `short`: the application's side of short requests, which get no scope. `companions`: tasks that requests
    need; they run until the last request has ended.
    """

    def __init__(
        self,
        app: Application,
        limits: PortLimits,
        *,
        short: ShortRequests[ServedConnection, Any] | None = None,
        companions: Sequence[Companion] = (),
    ) -> None:
        self._app = ASGIWrapper(cast(Any, app))
        self._busy = ASGIWrapper(cast(Any, Busy(limits.busy)))
        self._limits, self._short, self._companions = limits, short, companions
        self._settings = hypercorn_config(limits)
        self._context = WorkerContext(None)
        self._budgets = MemoryBudgets()
        self._turns = Turns()
        self._shares = ConnectionShares(
            limits.max_connections, is_external=limits.is_external, exempt=limits.exempt
        )
        self._turned_away_answer = _turned_away(limits.busy)
        self._served: set[ServedConnection] = set()
        self._turned_away: set[ServedConnection] = set()
        self._stopping = trio.Event()
        self._left = Wakeup()

    async def run(self, sockets: Sequence[socket.socket]) -> None:
        """Accept until cancelled; then close the connections."""
        fix_threshold()
        listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(sock)) for sock in sockets]
        async with trio.open_nursery() as keeper:
            keeper.start_soon(trim_after_bursts, self._budgets)
            handlers = await keeper.start(self._keep_connections)
            try:
                limits = self._limits
                await accept_connections(self._accept, listeners, handlers, limits.log, limits.what)
            finally:
                self._stopping.set()
                keeper.cancel_scope.cancel()

    async def _keep_connections(self, task_status: trio.TaskStatus[trio.Nursery]) -> None:
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as handlers:
                for companion in self._companions:
                    handlers.start_soon(companion)
                task_status.started(handlers)
                await self._stopping.wait()
                await self._close_all()
                handlers.cancel_scope.cancel()

    async def _close_all(self) -> None:
        await self._context.terminated.set()
        if self._limits.before_grace is not None:
            await self._limits.before_grace()
        with trio.move_on_after(self._limits.grace_s):
            while self._served or self._turned_away:
                await self._left.wait()
        for connection in self._served | self._turned_away:
            connection.abort()

    async def _accept(self, stream: trio.SocketStream) -> None:
        try:
            peer = stream.socket.getpeername()[0]
        except OSError:  # the client has disconnected already
            await stream.aclose()
            return
        if self._shares.admit(peer, self._served):
            await self._serve(stream, peer, self._app, self._served, self._short)
        elif len(self._turned_away) < SPARE_CONNECTIONS:
            await self._serve(stream, peer, self._busy, self._turned_away)
        else:
            _turn_away(stream.socket.fileno(), self._turned_away_answer)
            await stream.aclose()

    async def _serve(
        self,
        stream: trio.SocketStream,
        peer: str,
        app: ASGIWrapper,
        kind: set[ServedConnection],
        short: ShortRequests[ServedConnection, Any] | None = None,
    ) -> None:
        connection = ServedConnection(
            app, self._settings, self._context, stream, peer, self._budgets, self._turns, short
        )
        kind.add(connection)
        try:
            await connection.run()
        # A catch-all around the protocol library: an exception there costs only its own connection.
        except* Exception as errors:
            self._limits.log.error("a connection ended with a bug, please report it", exc_info=errors)
            connection.abort()
        finally:
            kind.discard(connection)
            self._left.notify()


def _turned_away(text: bytes) -> bytes:
    return (
        b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: text/plain\r\n"
        b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(text), text)
    )


def _turn_away(descriptor: int, answer: bytes) -> None:
    """Send a 429 without waiting for anything.

    Received bytes are read first: closing a socket with unread bytes resets the connection, and the client
    might not receive the answer.
    """
    with contextlib.suppress(OSError):  # no request yet, or disconnected
        os.read(descriptor, 65536)
    with contextlib.suppress(OSError):
        os.write(descriptor, answer)
