"""HTTP answers as ASGI events, and refusals with a status and a text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from email.utils import formatdate
from functools import lru_cache
from time import time
from typing import Any, Final

from cfnode.serving.memory_budget import MemoryBudget
from cfnode.serving.reply import Reply, whole
from cfnode.web.bearer import HttpRefusal
from cfnode.web.origins import Headers

__all__ = [
    "JSON",
    "TEXT",
    "Busy",
    "Receive",
    "Scope",
    "Send",
    "answer_start",
    "budget_of",
    "deny",
    "respond",
    "with_head",
    "with_status",
]

JSON: Final = (b"content-type", b"application/json; charset=utf-8")
TEXT: Final = (b"content-type", b"text/plain")

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]


def budget_of(scope: Scope) -> MemoryBudget:
    """Return the memory budget of the request's connection."""
    budget: MemoryBudget = scope["state"]["connection"].budget
    return budget


async def respond(
    send: Send, status: int, body: bytes | Reply, headers: Headers, *, close: bool = False
) -> None:
    """Send one whole HTTP answer."""
    reply = body if isinstance(body, Reply) else whole(body)
    head = [*headers, (b"content-length", b"%d" % reply.size)]
    if close:
        head.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "parts": reply.parts, "more_body": False})


def answer_start(headers: Headers) -> bytes:
    """Return the head of an answer with status 200, up to its length."""
    fields = b"".join(b"%b: %b\r\n" % field for field in headers)
    return b"%b%bcontent-length: " % (_status_line(200), fields)


def with_status(start: bytes, status: int) -> bytes:
    """Return the head that `answer_start` returned, with another status."""
    return _status_line(status) + start.removeprefix(_status_line(200))


def _status_line(status: int) -> bytes:
    return b"HTTP/1.1 %d \r\n" % status


def with_head(reply: Reply, start: bytes) -> Reply:
    """Return an answer with its head, which begins with `start`.

    The bytes are those that hypercorn sends for `respond`.
    """
    return Reply(b"%b%d\r\ndate: %b\r\n\r\n" % (start, reply.size, _date(int(time()))), *reply.parts)


@lru_cache(maxsize=1)
def _date(seconds: int) -> bytes:
    return formatdate(seconds, usegmt=True).encode()


async def deny(send: Send, refusal: HttpRefusal) -> None:
    """Refuse a WebSocket before it is accepted, with a status and a text."""
    body = refusal.text
    headers = [TEXT, *refusal.headers, (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    await send({"type": "websocket.http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body, "more_body": False})


class Busy:
    """The ASGI application for connections beyond the limit: it answers 429 with a text, and closes."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse any request."""
        if scope["type"] == "websocket":
            await receive()
            await deny(send, HttpRefusal(429, self._text))
        else:
            await respond(send, 429, self._text, [TEXT], close=True)
