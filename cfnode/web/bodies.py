"""Reading of a request's body in bounded time and size, and the check that it is JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import trio

from cfnode.web.bearer import RequestHeaders

__all__ = [
    "BODY_DEADLINE_S",
    "FREE_PIECES",
    "MIN_PIECE_BYTES",
    "NOT_JSON",
    "BodyRefused",
    "is_json",
    "read_body",
]

BODY_DEADLINE_S = 30.0
MIN_PIECE_BYTES = 64
"""Minimum average size of the pieces of a body, in bytes. Each piece costs a turn of the event loop, while a
chunk of one byte costs the client only six."""
FREE_PIECES = 1024
"""Pieces of a body (TCP segments, for instance) that may be smaller than MIN_PIECE_BYTES."""
NOT_JSON = (
    b"Supplied content type is not allowed. Content-Type: application/json is required\n"
    b"Add the header to the request; with curl: -H 'content-type: application/json'\n"
)

_JSON_TYPES = (b"application/json", b"application/json-rpc")

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class BodyRefused(Exception):
    """Error for a body whose remainder is not read; `status` is the HTTP status of the reason."""

    def __init__(self, status: int) -> None:
        self.status = status


def is_json(headers: RequestHeaders) -> bool:
    """Return whether the content type is JSON.

    For a foreign page a browser sends it only if the server consents.
    """
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower() in _JSON_TYPES


async def read_body(
    announced: bytes | None,
    receive: Receive,
    limit: int,
    add: Callable[[bytes], None],
    count_bytes: Callable[[int], None],
) -> bool:
    """Read the whole body and count its pieces; False if the client disconnects. Raises BodyRefused."""
    if announced is not None and int(announced) > limit:
        raise BodyRefused(413)
    size = pieces = 0
    with trio.move_on_after(BODY_DEADLINE_S):
        while True:
            event = await receive()
            if event["type"] != "http.request":
                return False
            piece = event["body"]
            size, pieces = size + len(piece), pieces + 1
            count_bytes(len(piece))
            if size > limit:
                raise BodyRefused(413)
            if pieces > FREE_PIECES + size // MIN_PIECE_BYTES:
                raise BodyRefused(400)
            add(piece)
            if not event["more_body"]:
                return True
    raise BodyRefused(408)
