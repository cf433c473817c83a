"""Port of the swap service: its socket, its application, and the server below (`cfnode.serving`)."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import Final

import trio

from cfnode.serving.limits import PortLimits
from cfnode.serving.listening import Listen, ListenError, allow_files, listen
from cfnode.serving.server import SPARE_CONNECTIONS, PortServer
from cfnode.swap_service.live_network.app import ServiceApp, WebPage
from cfnode.swap_service.live_network.source import LiveSource
from cfnode.web.networks import is_loopback
from cfnode.web.origins import origin_policy
from cfnode.web.tokens import Tokens

__all__ = ["ListenAddress", "ListenError", "serve"]

log = logging.getLogger("cfnode.service")
MAX_SERVICE_CONNECTIONS: Final = 1_000
SERVICE_STOP_GRACE_S: Final = 5.0
"""Seconds for running requests when the service stops."""
OPENING_GRACE_S: Final = 60.0
"""Seconds for channels that are being opened: a channel whose answer is lost is paid for and of no use."""
_BUSY: Final = b"Too many connections. Please try again later.\n"


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Address to listen on, and the clients that are allowed.

    `cors` and `hosts` mean what a node's `--rpc-cors` and `--rpc-allowed-hosts` do.
    """

    host: str
    port: int
    cors: tuple[str, ...] | None = None
    hosts: tuple[str, ...] = ()
    tokens: Tokens | None = None


async def serve(
    source: LiveSource,
    where: ListenAddress,
    web: WebPage | None = None,
    *,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until cancelled, with the operator's page if it is given; `started` reports the port.

    Raises ListenError, BadFlagError.
    """
    origin_policy(where.cors, where.hosts, where.port)  # raises before a socket is open
    allow_files(MAX_SERVICE_CONNECTIONS + SPARE_CONNECTIONS, "expect fewer clients at a time")
    sockets = listen(Listen([where.host], where.port, "service's", "choose another --listen HOST:PORT"))
    port: int = sockets[0].getsockname()[1]
    app = ServiceApp(source, origin_policy(where.cors, where.hosts, port), where.tokens, web)
    limits = PortLimits(
        what="service",
        log=log,
        max_connections=MAX_SERVICE_CONNECTIONS,
        is_external=not all(is_loopback(sock.getsockname()[0]) for sock in sockets),
        busy=_BUSY,
        grace_s=SERVICE_STOP_GRACE_S,
        before_grace=partial(_openings, source, app),
    )
    beats = partial(source.restarts.keep, "the beats of channel requests", app.partners.run)
    host = f"[{where.host}]" if ":" in where.host else where.host
    log.info("Swap service: http://%s:%d", host, port)
    if web is not None:
        web.listening(f"http://{host}:{port}")
    task_status.started(port)
    await PortServer(app, limits, companions=[source.run, beats]).run(sockets)


async def _openings(source: LiveSource, app: ServiceApp) -> None:
    """Wait for channels that are being opened, `OPENING_GRACE_S` at most."""
    with trio.move_on_after(OPENING_GRACE_S):
        await source.broker.idle()
        await app.partners.idle()
