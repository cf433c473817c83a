"""How does the JSON-RPC server start, live and stop? Listening sockets, the count of connections, the end
of all.

hypercorn serves each connection (`connection.py`); what it has no settings for is decided here. A
connection over the limit is told so and closed. When the server stops, calls under way have `GRACE`
seconds; then every socket is closed, so that no client that does not read can hold the node back.
"""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Sequence
from typing import Any, Final, cast

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config as HypercornConfig
from hypercorn.trio.worker_context import WorkerContext

from cfnode.node.config import RpcConfig
from cfnode.rpc.access import gate_for, is_within, networks
from cfnode.rpc.app import App, Busy
from cfnode.rpc.connection import Connection
from cfnode.rpc.dispatch import Client, Dispatcher, ServedNode
from cfnode.rpc.methods import table_for
from cfnode.rpc.pace import Pace
from cfnode.rpc.table import Table

log = logging.getLogger("rpc")

GRACE: Final = 1.0
SPARE_CONNECTIONS: Final = 32
"""Connections beyond the limit that are still told so; further ones are closed without a word."""
USER_TIMEOUT_MS: Final = 30_000
"""TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged."""


class ListenError(Exception):
    """The port cannot be had; the text says which and what to do."""


def listen(config: RpcConfig) -> list[socket.socket]:
    """Sockets on 127.0.0.1 and ::1, or on all interfaces, all with one port. Raises ListenError.

    A machine without IPv6 gets the IPv4 socket alone.
    """
    hosts = ("0.0.0.0", "::") if config.external else ("127.0.0.1", "::1")
    first = _bind(socket.AF_INET, hosts[0], config.port)
    sockets = [first]
    try:
        sockets.append(_bind(socket.AF_INET6, hosts[1], first.getsockname()[1]))
    except ListenError as error:
        log.debug("no IPv6 for JSON-RPC: %s", error)
    return sockets


def _bind(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    try:
        sock = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise ListenError(f"no socket for {host}: {error.strerror}") from None
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)
    if family is socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        sock.bind((host, port))
        sock.listen(1024)
    except OSError as error:
        sock.close()
        raise ListenError(_words(error, host, port)) from None
    return sock


def _words(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"the JSON-RPC port {port} on {host} is in use, perhaps by another node; "
            "stop that program or choose another port with --rpc-port"
        )
    if error.errno == errno.EACCES:
        return f"the JSON-RPC port {port} needs privileges; choose one above 1023 with --rpc-port"
    return f"cannot listen for JSON-RPC on {host}:{port}: {error.strerror}"


def addresses(sockets: Sequence[socket.socket]) -> list[str]:
    """`127.0.0.1:9944` and `[::1]:9944`."""
    names = [sock.getsockname() for sock in sockets]
    return [f"[{name[0]}]:{name[1]}" if len(name) == 4 else f"{name[0]}:{name[1]}" for name in names]


def hypercorn_config(config: RpcConfig) -> HypercornConfig:
    """What hypercorn does have settings for."""
    settings = HypercornConfig()
    settings.errorlog = logging.getLogger("rpc.http")
    settings.include_server_header = False
    settings.read_timeout = 40
    settings.websocket_ping_interval = 20.0
    settings.websocket_max_message_size = config.max_request_size
    settings.keep_alive_timeout = 10.0
    settings.keep_alive_max_requests = 1_000_000
    settings.h11_max_incomplete_size = 16 * 1024
    return settings


class Server:
    """The connections of one node's JSON-RPC port."""

    def __init__(self, app: App, config: RpcConfig) -> None:
        self._app = app
        self._app_wrapper = ASGIWrapper(cast(Any, app))
        self._busy_wrapper = ASGIWrapper(cast(Any, Busy()))
        self._config = config
        self._settings = hypercorn_config(config)
        self._context = WorkerContext(None)
        self._unlimited = networks(config.rate_limit_whitelist)
        self._broker_networks = networks(config.broker_clients)
        self._open: set[Connection] = set()
        self._stopping = trio.Event()
        self._empty = trio.Event()

    async def run(self, sockets: Sequence[socket.socket]) -> None:
        """Accept until cancelled; then stop in order, within GRACE and a little."""
        listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(sock)) for sock in sockets]
        async with trio.open_nursery() as keeper:
            handlers = await keeper.start(self._keep_connections)
            try:
                await trio.serve_listeners(self._accept, listeners, handler_nursery=handlers)
            finally:
                self._stopping.set()

    async def _keep_connections(self, task_status: trio.TaskStatus[trio.Nursery]) -> None:
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as handlers:
                task_status.started(handlers)
                await self._stopping.wait()
                await self._close_all()
                handlers.cancel_scope.cancel()

    async def _close_all(self) -> None:
        self._app.stopping.set()
        await self._context.terminated.set()
        with trio.move_on_after(GRACE):
            while self._open:
                self._empty = trio.Event()
                await self._empty.wait()
        for connection in self._open:
            connection.abort()

    async def _accept(self, stream: trio.SocketStream) -> None:
        excess = len(self._open) - self._config.max_connections
        if excess >= SPARE_CONNECTIONS:
            await stream.aclose()
            return
        app = self._app_wrapper if excess < 0 else self._busy_wrapper
        try:
            peer = stream.socket.getpeername()[0]
        except OSError:  # gone before it was looked at
            await stream.aclose()
            return
        connection = Connection(app, self._settings, self._context, stream, self._client(peer))
        await self._serve(connection)

    async def _serve(self, connection: Connection) -> None:
        self._open.add(connection)
        try:
            await connection.run()
        # A fence around the protocol library: what a client's bytes do to it costs that connection alone.
        except* Exception as errors:
            log.error("a connection ended with a bug, please report it", exc_info=errors)
            connection.abort()
        finally:
            self._open.discard(connection)
            self._empty.set()

    def _client(self, peer: str) -> Client:
        allowed = self._broker_networks
        pace = None
        if (limit := self._config.rate_limit) and not is_within(peer, self._unlimited):
            pace = Pace(limit).wait
        return Client(may_use_broker=not allowed or is_within(peer, allowed), pace=pace)


async def serve(
    node: Any, config: Any, *, task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED
) -> None:
    """Serve a node's JSON-RPC until cancelled; `started` gives the addresses. Raises ListenError."""
    await serve_table(node, table_for(node), config.rpc, task_status=task_status)


async def serve_table(
    node: ServedNode,
    table: Table,
    config: RpcConfig,
    *,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Like `serve`, with the methods given."""
    sockets = listen(config)
    names = addresses(sockets)
    dispatcher = Dispatcher(node, table, config, allow_unsafe=allows_unsafe(config))
    app = App(dispatcher, config, gate_for(config.cors, sockets[0].getsockname()[1]))
    log.info("Running JSON-RPC server: addr=%s", ",".join(names))
    task_status.started(names)
    await Server(app, config).run(sockets)


def allows_unsafe(config: RpcConfig) -> bool:
    """Whether unsafe methods are answered: `auto` means only while the listener itself is on loopback."""
    return config.methods == "unsafe" or (config.methods == "auto" and not config.external)
