"""How does an HTTP answer leave the application? As events of ASGI; a refusal is a status and a text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from email.utils import formatdate
from functools import lru_cache
from time import time
from typing import Any, Final

from cfnode.rpc.access import Refusal
from cfnode.rpc.origins import Headers
from cfnode.rpc.reply import Reply, whole

__all__ = [
    "JSON",
    "TEXT",
    "TOO_MANY_CONNECTIONS",
    "Busy",
    "Receive",
    "Scope",
    "Send",
    "deny",
    "respond",
    "with_head",
]

JSON: Final = (b"content-type", b"application/json; charset=utf-8")
TEXT: Final = (b"content-type", b"text/plain; charset=utf-8")

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]


async def respond(
    send: Send, status: int, body: bytes | Reply, headers: Headers, *, close: bool = False
) -> None:
    """One whole HTTP answer."""
    reply = body if isinstance(body, Reply) else whole(body)
    head = [*headers, (b"content-length", b"%d" % reply.size)]
    if close:
        head.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "parts": reply.parts, "more_body": False})


def with_head(reply: Reply, headers: Headers) -> Reply:
    """An answer with status 200 and its head: the same bytes as hypercorn sends for `respond`."""
    fields = [*headers, (b"content-length", b"%d" % reply.size), (b"date", _date(int(time())))]
    head = b"".join(b"%b: %b\r\n" % field for field in fields)
    return Reply(b"HTTP/1.1 200 \r\n%b\r\n" % head, *reply.parts)


@lru_cache(maxsize=1)
def _date(seconds: int) -> bytes:
    return formatdate(seconds, usegmt=True).encode()


async def deny(send: Send, refusal: Refusal) -> None:
    """Refuse a WebSocket before it is accepted, with a status and a text."""
    body = refusal.text
    headers = [TEXT, *refusal.headers, (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    await send({"type": "websocket.http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body, "more_body": False})


TOO_MANY_CONNECTIONS = b"Too many connections; see --rpc-max-connections. Please try again later.\n"


class Busy:
    """The ASGI application for connections beyond the limit: it answers 429 and closes."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse any request."""
        text = TOO_MANY_CONNECTIONS
        if scope["type"] == "websocket":
            await receive()
            await deny(send, Refusal(429, text))
        else:
            await respond(send, 429, text, [TEXT], close=True)
