"""HTTP server of the metrics: a monitoring system fetches them by a GET of /metrics."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from cfnode.serving.limits import PortLimits
from cfnode.serving.listening import Listen, listen
from cfnode.serving.responses import TEXT, Receive, Scope, Send, deny, respond
from cfnode.serving.server import PortServer
from cfnode.web.bearer import HttpRefusal, joined
from cfnode.web.networks import is_loopback
from cfnode.web.origins import OriginPolicy, origin_policy

__all__ = ["listen_at", "serve_metrics"]

log = logging.getLogger("cfnode.prometheus")

MAX_METRICS_CONNECTIONS: Final = 32
METRICS: Final = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
_LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
_BUSY: Final = b"Too many connections. Please try again later.\n"


def listen_at(host: str, port: int) -> Listen:
    """Return the listening port of the metrics."""
    remedy = "stop the other program, choose another with --prometheus-port, or do without (--no-prometheus)"
    return Listen([host], port, "metrics", remedy)


async def serve_metrics(
    render: Callable[[], Awaitable[bytes]],
    host: str,
    port: int,
    further_hosts: tuple[str, ...] = (),
    *,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until cancelled; started with the port number (useful with port 0). Raise ListenError.

    `further_hosts`: names of hosts that a port for this machine alone answers to, besides this machine's.
    """
    sockets = listen(listen_at(host, port))
    number: int = sockets[0].getsockname()[1]
    log.info("〽️ Prometheus exporter started at %s:%d", host, number)
    task_status.started(number)
    limits = PortLimits(
        what="metrics",
        log=log,
        max_connections=MAX_METRICS_CONNECTIONS,
        is_external=not is_loopback(host),
        busy=_BUSY,
    )
    await PortServer(Metrics(render, _policy(host, further_hosts, number)), limits).run(sockets)


def _policy(host: str, further_hosts: tuple[str, ...], port: int) -> OriginPolicy:
    """Return the hosts and origins that the port answers to.

    A monitoring system on another machine names it as it likes. A port for this machine alone answers to
    names of this machine on any port, since a tunnel changes the port; but not to a name that the owner of a
    web page points at 127.0.0.1, nor to that page.
    """
    if not is_loopback(host):
        return origin_policy(("all",), (), port)
    return origin_policy(None, (*_LOCAL_HOSTS, *further_hosts), port)


class Metrics:
    """The ASGI application of the metrics."""

    def __init__(self, render: Callable[[], Awaitable[bytes]], origins: OriginPolicy) -> None:
        self._render, self._origins = render, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request; refuse a WebSocket."""
        headers = joined(scope["headers"])
        refused = self._origins.refusal(headers.get(b"host"), headers.get(b"origin"))
        if scope["type"] != "http":
            await receive()
            await deny(send, HttpRefusal(404, b"Not found: the metrics are at /metrics\n"))
        elif refused is not None:
            await respond(send, 403, refused, [TEXT])
        elif scope["method"] not in ("GET", "HEAD"):
            await respond(send, 405, b"GET /metrics\n", [TEXT, (b"allow", b"GET, HEAD")])
        elif scope["path"] != "/metrics":
            await respond(send, 404, b"Not found: the metrics are at /metrics\n", [TEXT])
        else:
            await self._answer(send)

    async def _answer(self, send: Send) -> None:
        try:
            body = await self._render()
        except Exception:  # an error in one metric fails this answer, not the node
            log.exception("The metrics could not be written, please report it")
            await respond(send, 500, b"The metrics could not be written; the node's log has more.\n", [TEXT])
        else:
            await respond(send, 200, body, [METRICS])
