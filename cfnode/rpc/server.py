"""How does the JSON-RPC server start, run and stop? It listens, limits connections, and closes them all at
the end.

hypercorn serves each connection (`connection.py`); this module implements what hypercorn has no settings for.
A connection over the limit gets status 429 and is closed. When the server stops, running calls have `GRACE`
seconds; then every socket is closed, so that a client that does not read cannot delay the node's end.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import resource
import socket
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config as HypercornConfig
from hypercorn.trio.worker_context import WorkerContext

from cfnode.network.accept import accept_connections
from cfnode.node.config import Config, RpcConfig
from cfnode.rpc.access import AccessPolicy
from cfnode.rpc.account_figures import read_accounts_for_metrics
from cfnode.rpc.allocator import fix_threshold, trim_after_bursts
from cfnode.rpc.app import App
from cfnode.rpc.connection import KEEP_ALIVE_S, Connection, ShortRequests
from cfnode.rpc.dispatch import Client, Dispatcher, ServedNode
from cfnode.rpc.kept_answers import NOTHING_KEPT, KeptAnswers
from cfnode.rpc.memory_budget import MemoryBudgets
from cfnode.rpc.methods import AnyMethod, absent_for, table_for
from cfnode.rpc.observer import Observer
from cfnode.rpc.rate_limit import RateLimits
from cfnode.rpc.responses import TOO_MANY_CONNECTIONS, Busy
from cfnode.rpc.shares import Shares
from cfnode.rpc.table import SIGNING, Access, Table
from cfnode.rpc.turns import Turns
from cfnode.web.hangup import on_hangups
from cfnode.web.networks import BadFlagError
from cfnode.web.pages import Pages
from cfnode.web.tokens import Tokens

if TYPE_CHECKING:
    from cfnode.node.node import Node

log = logging.getLogger("cfnode.rpc")

GRACE: Final = 1.0
SPARE_CONNECTIONS: Final = 32
"""Connections beyond the limit that are served a proper 429; for further ones a fixed 429 is written without
reading the request."""
OTHER_FILES: Final = 512
"""File descriptors for everything else: peers, database, executor processes, metrics."""
TURNED_AWAY: Final = (
    b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: text/plain\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(TOO_MANY_CONNECTIONS), TOO_MANY_CONNECTIONS)
)
USER_TIMEOUT_MS: Final = 30_000
"""TCP_USER_TIMEOUT: how long sent bytes may stay unacknowledged."""


class ListenError(Exception):
    """The server cannot listen on the port; the text names the port and what to do."""

    exit_code = 5


def allow_files(connections: int) -> None:
    """Raise the process's limit of open files to what the connections need, as far as the system allows."""
    wanted = connections + SPARE_CONNECTIONS + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        log.warning(
            "%d connections need %d open files, this process may have %d: lower --rpc-max-connections, "
            "or raise the limit (ulimit -n, LimitNOFILE= of a service)", connections, wanted, hard,
        )  # fmt: skip
        wanted = hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


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
        raise ListenError(_listen_failure(error, host, port)) from None
    return sock


def _listen_failure(error: OSError, host: str, port: int) -> str:
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
    """hypercorn's own settings."""
    settings = HypercornConfig()
    settings.errorlog = logging.getLogger("cfnode.rpc.http")
    settings.include_server_header = False
    settings.read_timeout = 40
    settings.websocket_ping_interval = 20.0
    settings.websocket_max_message_size = config.max_request_size
    settings.keep_alive_timeout = KEEP_ALIVE_S
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
        self._rates = RateLimits(config.rate_limit)
        self._budgets = MemoryBudgets()
        self._turns = Turns()
        self._shares = Shares(config)
        self._served: set[Connection] = set()
        self._turned_away: set[Connection] = set()
        self._stopping = trio.Event()
        self._empty = trio.Event()

    async def run(self, sockets: Sequence[socket.socket]) -> None:
        """Accept until cancelled; then shut down within little more than GRACE."""
        fix_threshold()
        listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(sock)) for sock in sockets]
        async with trio.open_nursery() as keeper:
            keeper.start_soon(trim_after_bursts, self._budgets)
            handlers = await keeper.start(self._keep_connections)
            try:
                await accept_connections(self._accept, listeners, handlers, log, "JSON-RPC")
            finally:
                self._stopping.set()
                keeper.cancel_scope.cancel()

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
            while self._served or self._turned_away:
                self._empty = trio.Event()
                await self._empty.wait()
        for connection in self._served | self._turned_away:
            connection.abort()

    async def _accept(self, stream: trio.SocketStream) -> None:
        try:
            peer = stream.socket.getpeername()[0]
        except OSError:  # the client has disconnected already
            await stream.aclose()
            return
        if self._shares.admit(peer, self._served):
            await self._serve(stream, peer, self._app_wrapper, self._served, self._app)
        elif len(self._turned_away) < SPARE_CONNECTIONS:
            await self._serve(stream, peer, self._busy_wrapper, self._turned_away)
        else:
            _turn_away(stream.socket.fileno())
            await stream.aclose()

    async def _serve(
        self,
        stream: trio.SocketStream,
        peer: str,
        app: ASGIWrapper,
        kind: set[Connection],
        short: ShortRequests | None = None,
    ) -> None:
        client, limiter = Client(address=peer), self._rates.of_connection()
        connection = Connection(
            app, self._settings, self._context, stream, client, limiter, self._budgets, self._turns, short
        )
        kind.add(connection)
        try:
            await connection.run()
        # A catch-all around the protocol library: an exception there costs only its own connection.
        except* Exception as errors:
            log.error("a connection ended with a bug, please report it", exc_info=errors)
            connection.abort()
        finally:
            kind.discard(connection)
            self._empty.set()


def _turn_away(descriptor: int) -> None:
    """Send a 429 without waiting for anything. Received bytes are read first: closing a socket with unread
    bytes resets the connection, and the client might not receive the answer.
    """
    with contextlib.suppress(OSError):  # no request yet, or disconnected
        os.read(descriptor, 65536)
    with contextlib.suppress(OSError):
        os.write(descriptor, TURNED_AWAY)


async def serve(
    node: Node,
    config: Config,
    *,
    methods: Sequence[AnyMethod] = (),
    pages: Pages | None = None,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve a node's JSON-RPC until cancelled; `started` gets the addresses.

    Raises ListenError, BadFlagError, or StoreError for a file of tokens that cannot be used.

    `methods`: those of higher layers, in addition to the node's own.
    """
    read_accounts_for_metrics(node)
    await serve_table(
        node,
        table_for(node, methods),
        config.rpc,
        absent=absent_for(node),
        observer=node.metrics,
        kept=KeptAnswers(lambda: node.chain.revision),
        pages=pages,
        task_status=task_status,
    )


async def serve_table(
    node: ServedNode,
    table: Table,
    config: RpcConfig,
    *,
    absent: Mapping[str, str] = MappingProxyType({}),
    observer: Observer | None = None,
    kept: KeptAnswers = NOTHING_KEPT,
    pages: Pages | None = None,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Like `serve`, with the given method table.

    `absent`: by name, why methods of other nodes are missing. `kept`: the answers that blocks fix.
    """
    tokens = None if config.auth_token_file is None else Tokens(config.auth_token_file)
    allow_files(config.max_connections)
    sockets = listen(config)
    names = addresses(sockets)
    try:
        policy = AccessPolicy(config, sockets[0].getsockname()[1], tokens)
    except BadFlagError:
        for sock in sockets:
            sock.close()
        raise
    dispatcher = Dispatcher(node, table, config, absent=absent, observer=observer, kept=kept)
    app = App(dispatcher, config, policy, pages)
    if observer is not None:
        for access in SIGNING:
            observer.watch_exposure(access.value, partial(_is_exposed, app, access))
    async with trio.open_nursery() as nursery:
        if tokens is not None:
            await nursery.start(on_hangups, tokens.reload)
        log.info("Running JSON-RPC server: addr=%s", ",".join(names))
        for text in app.exposures.values():
            log.warning("JSON-RPC is open to other machines: %s", text)
        task_status.started(names)
        await Server(app, config).run(sockets)


def _is_exposed(app: App, access: Access) -> bool:
    return access in app.exposures
