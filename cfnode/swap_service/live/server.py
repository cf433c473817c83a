"""How does the service start, run and stop? It listens, limits connections, and lets running requests end."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config as HypercornConfig
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext

from cfnode.swap_service.live.app import App, WebPage
from cfnode.swap_service.live.source import LiveSource
from cfnode.web.origins import origin_policy
from cfnode.web.tokens import Tokens

__all__ = ["ListenError", "Listening", "listen", "serve"]

log = logging.getLogger("cfnode.service")
MAX_CONNECTIONS: Final = 1_000
GRACE_S: Final = 5.0
"""Seconds for running requests when the service stops."""
OPENING_GRACE_S: Final = 60.0
"""Seconds for channels that are being opened: a channel whose answer is lost is paid for and of no use."""
_BUSY: Final = b"Too many connections. Please try again later.\n"
TURNED_AWAY: Final = (
    b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(_BUSY), _BUSY)
)


class ListenError(Exception):
    """The service cannot listen; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where to listen, and for which clients. `cors` and `hosts` as a node's `--rpc-cors` and
    `--rpc-allowed-hosts`.
    """

    host: str
    port: int
    cors: tuple[str, ...] | None = None
    hosts: tuple[str, ...] = ()
    tokens: Tokens | None = None


async def listen(where: Listening) -> list[trio.SocketListener]:
    """The listening sockets. Raises ListenError."""
    try:
        return await trio.open_tcp_listeners(where.port, host=where.host)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ListenError(
            f"cannot listen on {where.host}:{where.port}: {reason}; choose another --listen HOST:PORT"
        ) from None


async def serve(
    source: LiveSource,
    where: Listening,
    web: WebPage | None = None,
    *,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until cancelled, with the operator's page if it is given; `started` gives the port.

    Raises ListenError, BadFlagError.
    """
    origin_policy(where.cors, where.hosts, where.port)  # raises before a socket is open
    listeners = await listen(where)
    port: int = listeners[0].socket.getsockname()[1]
    app = App(source, origin_policy(where.cors, where.hosts, port), where.tokens, web)
    server = _Server(app, source)
    host = f"[{where.host}]" if ":" in where.host else where.host
    log.info("Swap service: http://%s:%d", host, port)
    task_status.started(port)
    await server.run(listeners)


class _Server:
    """The connections of the port."""

    def __init__(self, app: App, source: LiveSource) -> None:
        self._app, self._partners = ASGIWrapper(cast(Any, app)), app.partners
        self._source = source
        self._settings = _settings()
        self._context = WorkerContext(None)
        self._count = 0
        self._empty, self._stopping = trio.Event(), trio.Event()

    async def run(self, listeners: Sequence[trio.SocketListener]) -> None:
        """Accept until cancelled; then wait for running requests, up to GRACE_S."""
        async with trio.open_nursery() as keeper:
            handlers = await keeper.start(self._keep)
            try:
                await trio.serve_listeners(self._serve, list(listeners), handler_nursery=handlers)
            finally:
                self._stopping.set()
                keeper.cancel_scope.cancel()

    async def _keep(self, task_status: trio.TaskStatus[trio.Nursery]) -> None:
        """The connections, and what they answer from, until the last request has ended."""
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as handlers:
                handlers.start_soon(self._source.run)
                handlers.start_soon(self._source.restarts.keep, "the beats of orders", self._partners.run)
                task_status.started(handlers)
                await self._stopping.wait()
                await self._drain()
                handlers.cancel_scope.cancel()

    async def _drain(self) -> None:
        await self._context.terminated.set()
        with trio.move_on_after(OPENING_GRACE_S):
            await self._source.broker.idle()
            await self._partners.idle()
        with trio.move_on_after(GRACE_S):
            while self._count:
                self._empty = trio.Event()
                await self._empty.wait()

    async def _serve(self, stream: trio.SocketStream) -> None:
        if self._count >= MAX_CONNECTIONS:
            with trio.move_on_after(1):
                await _turn_away(stream)
            return
        self._count += 1
        try:
            await TCPServer(self._app, self._settings, self._context, cast(Any, {}), cast(Any, stream)).run()
        # A catch-all around the protocol library: an exception there costs only its own connection.
        except* Exception as errors:
            log.error("a connection ended with a bug, please report it", exc_info=errors)
        finally:
            self._count -= 1
            self._empty.set()


async def _turn_away(stream: trio.SocketStream) -> None:
    with contextlib.suppress(trio.BrokenResourceError):
        await stream.send_all(TURNED_AWAY)
    await stream.aclose()


def _settings() -> HypercornConfig:
    settings = HypercornConfig()
    settings.errorlog = logging.getLogger("cfnode.service.http")
    settings.include_server_header = False
    settings.read_timeout = 40
    settings.keep_alive_timeout = 60
    settings.h11_max_incomplete_size = 16 * 1024
    return settings
