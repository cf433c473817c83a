"""How does a monitoring system fetch the metrics?

A GET of /metrics over HTTP/1.1, one request per connection: all that Prometheus needs.
A request is limited to a few seconds and kilobytes, so that a client cannot block connections or memory.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Awaitable, Callable

import trio

from cfnode.network.accept import accept_connections

log = logging.getLogger("cfnode.prometheus")

MAX_REQUEST = 8 * 1024
PATIENCE_S = 10.0
MAX_CONNECTIONS = 32
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class MetricsPortError(Exception):
    """The port cannot be listened on; the text says what to do."""


async def listen(host: str, port: int) -> list[trio.SocketListener]:
    """Sockets on the port. Raises MetricsPortError."""
    try:
        return await trio.open_tcp_listeners(port, host=host)
    except OSError as error:
        raise MetricsPortError(_listen_error_text(error, host, port)) from error


async def serve_metrics(
    render: Callable[[], Awaitable[bytes]],
    host: str,
    port: int,
    *,
    task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until cancelled; starts with the port number (of use with port 0). Raises MetricsPortError."""
    listeners = await listen(host, port)
    number: int = listeners[0].socket.getsockname()[1]
    log.info("〽️ Prometheus exporter started at %s:%d", host, number)
    task_status.started(number)
    slots = trio.CapacityLimiter(MAX_CONNECTIONS)

    async def answer(stream: trio.SocketStream) -> None:
        try:
            slots.acquire_nowait()
        except trio.WouldBlock:
            await stream.aclose()
            return
        try:
            await _answer(stream, render)
        except Exception:  # an error in one metric fails this answer, not the node
            log.exception("The metrics could not be written, please report it")
        finally:
            slots.release()

    async with trio.open_nursery() as nursery:
        await accept_connections(answer, listeners, nursery, log, "metrics")


async def _answer(stream: trio.SocketStream, render: Callable[[], Awaitable[bytes]]) -> None:
    async with stream:
        try:
            with trio.move_on_after(PATIENCE_S):
                line = await _request_line(stream)
                if line is not None:
                    await stream.send_all(await _response(line, render))
                    await stream.send_eof()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return


async def _request_line(stream: trio.SocketStream) -> bytes | None:
    """The first line of a complete request head; None if the client closed early, or sent too much."""
    head = b""
    while b"\r\n\r\n" not in head:
        chunk = await stream.receive_some(MAX_REQUEST)
        head += chunk
        if not chunk or len(head) > MAX_REQUEST:
            return None
    return head.split(b"\r\n", 1)[0]


async def _response(request_line: bytes, render: Callable[[], Awaitable[bytes]]) -> bytes:
    method, _, rest = request_line.partition(b" ")
    path = rest.split(b" ")[0].split(b"?")[0]
    if method not in (b"GET", b"HEAD"):
        return _message("405 Method Not Allowed", "text/plain", b"GET /metrics\n", method)
    if path != b"/metrics":
        return _message("404 Not Found", "text/plain", b"Not found: the metrics are at /metrics\n", method)
    return _message("200 OK", CONTENT_TYPE, await render(), method)


def _message(status: str, content_type: str, body: bytes, method: bytes) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    ).encode()
    return head if method == b"HEAD" else head + body


def _listen_error_text(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"the metrics port {port} on {host} is in use: stop the other program, choose another "
            "with --prometheus-port, or do without (--no-prometheus)"
        )
    return f"cannot listen for metrics on {host}:{port}: {error.strerror}"
