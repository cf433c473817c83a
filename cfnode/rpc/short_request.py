"""Which requests need no protocol library? The usual POST of a client, if it came in one piece.

Nearly every request is a few headers and a small JSON body, received together. For such a one it is enough
to find its end; hypercorn's protocol, which is made for everything that HTTP allows, takes ten times as long.
Whatever is unusual here (another method, a chunked body, a header that is repeated or malformed, a part still
missing) is no short request, and goes to hypercorn unchanged: this module refuses nothing itself.

Syntax: RFC 9112, section 5; RFC 9110, section 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["ShortRequest", "short_request"]

MAX_HEAD: Final = 8 * 1024
"""Bytes of the request line and the headers."""
MAX_BODY: Final = 16 * 1024
"""Bytes of the body."""

_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_HEAD: Final = re.compile(
    rb"POST (/[\x21-\x24\x26-\x3e\x40-\x7e]*)(?:\?[\x21-\x7e]*)? HTTP/1\.1((?:\r\n"
    + _TOKEN
    + rb":[\t\x20-\x7e\x80-\xff]*)+)"
)
_UNUSUAL: Final = frozenset({b"transfer-encoding", b"expect", b"upgrade", b"te", b"trailer"})


@dataclass(frozen=True, slots=True)
class ShortRequest:
    """A whole POST. `size`: its bytes in all."""

    path: str
    """Without a query."""
    headers: Mapping[bytes, bytes]
    """By name in lower case; no name occurs twice."""
    body: bytes
    size: int


def short_request(data: bytes) -> ShortRequest | None:
    """The short request at the beginning of received bytes; None if there is none."""
    end = data.find(b"\r\n\r\n", 0, MAX_HEAD)
    if end < 0 or (head := _HEAD.fullmatch(data, 0, end)) is None:
        return None
    headers: dict[bytes, bytes] = {}
    lines = head[2].split(b"\r\n")
    for line in lines[1:]:
        name, _, value = line.partition(b":")
        headers[name.lower()] = value.strip(b" \t")
    if len(headers) != len(lines) - 1 or not headers.keys().isdisjoint(_UNUSUAL):
        return None
    if headers.get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    length = headers.get(b"content-length", b"")
    if not (length.isdigit() and len(length) <= 5 and int(length) <= MAX_BODY):
        return None
    start = end + 4
    size = start + int(length)
    if len(data) < size:
        return None
    return ShortRequest(head[1].decode(), headers, data[start:size], size)
