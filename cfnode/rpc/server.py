"""The JSON-RPC port of a node: its sockets, its application, and the server below (`cfnode.serving`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import trio

from cfnode.node.config import Config, RpcConfig
from cfnode.rpc.answering.client import ServedNode
from cfnode.rpc.answering.dispatch import Dispatcher
from cfnode.rpc.answering.kept_answers import NOTHING_KEPT, KeptAnswers
from cfnode.rpc.answering.observer import Observer
from cfnode.rpc.cf.account_figures import read_accounts_for_metrics
from cfnode.rpc.methods import AnyMethod, absent_for, table_for
from cfnode.rpc.port.access import AccessPolicy
from cfnode.rpc.port.app import RpcApp
from cfnode.rpc.table.rows import SIGNING, Access, Table
from cfnode.serving.limits import PortLimits
from cfnode.serving.listening import Listen, addresses, allow_files, listen
from cfnode.serving.server import SPARE_CONNECTIONS, PortServer
from cfnode.web.hangup import on_hangups
from cfnode.web.networks import BadFlagError, Network, networks
from cfnode.web.pages import Pages
from cfnode.web.tokens import Tokens

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["RPC_STOP_GRACE_S", "TOO_MANY_CONNECTIONS", "exempt_networks", "listen_at", "serve", "serve_table"]

log = logging.getLogger("cfnode.rpc")

RPC_STOP_GRACE_S: Final = 1.0
"""Seconds for calls under way when the node stops."""
TOO_MANY_CONNECTIONS: Final = b"Too many connections; see --rpc-max-connections. Please try again later.\n"


def listen_at(config: RpcConfig) -> Listen:
    """Return where to listen: 127.0.0.1 and ::1, or all interfaces, all with one port."""
    hosts = ("0.0.0.0", "::") if config.external else ("127.0.0.1", "::1")
    remedy = "stop the other program (perhaps another node) or choose another port with --rpc-port"
    return Listen(hosts, config.port, "JSON-RPC", remedy)


async def serve(
    node: Node,
    config: Config,
    *,
    methods: Sequence[AnyMethod] = (),
    pages: Pages | None = None,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve a node's JSON-RPC until cancelled; `started` gets the addresses.

    Raises ListenError, BadFlagError, or StoreError for a file of tokens that cannot be used. `methods`: those
    of higher layers, in addition to the node's own.
    """
    read_accounts_for_metrics(node)
    await serve_table(
        node,
        table_for(node, methods),
        config.rpc,
        absent=absent_for(node),
        observer=node.metrics.rpc,
        kept=KeptAnswers(node.chain),
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
    """Serve JSON-RPC with the given method table until cancelled; `started` gets the addresses.

    Raises ListenError, BadFlagError, or StoreError for a file of tokens that cannot be used. `absent`: by
    name, why methods of other nodes are missing. `kept`: the answers that blocks fix.
    """
    tokens = None if config.auth_token_file is None else Tokens(config.auth_token_file)
    allow_files(config.max_connections + SPARE_CONNECTIONS, "lower --rpc-max-connections")
    exempt = exempt_networks(config)
    sockets = listen(listen_at(config))
    names = addresses(sockets)
    try:
        policy = AccessPolicy(config, sockets[0].getsockname()[1], tokens)
    except BadFlagError:
        for sock in sockets:
            sock.close()
        raise
    dispatcher = Dispatcher(node, table, config, absent=absent, observer=observer, kept=kept)
    app = RpcApp(dispatcher, config, policy, pages)
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
        limits = PortLimits(
            what="JSON-RPC",
            log=log,
            max_connections=config.max_connections,
            is_external=config.external,
            busy=TOO_MANY_CONNECTIONS,
            exempt=exempt,
            max_message=config.max_request_size,
            grace_s=RPC_STOP_GRACE_S,
            before_grace=app.stop,
        )
        await PortServer(app, limits, short=app).run(sockets)


def exempt_networks(config: RpcConfig) -> tuple[Network, ...]:
    """Return the networks that may have all connections. Raises BadFlagError."""
    return (
        *networks("--rpc-rate-limit-whitelisted-ips", config.rate_limit_whitelist),
        *networks("--rpc-trusted-proxies", config.trusted_proxies),
    )


def _is_exposed(app: RpcApp, access: Access) -> bool:
    return access in app.exposures
