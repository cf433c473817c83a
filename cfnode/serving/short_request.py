"""Parsing of short requests: the usual POST of a client that was received in one piece.

Nearly every request is a few headers and a small JSON body, received together. For such a request it is
enough to find its end; hypercorn's protocol, which handles everything that HTTP allows, takes ten times as
long. An unusual request (another method, a chunked body, a header that is repeated or malformed, a part still
missing) is no short request, and goes to hypercorn unchanged: this module refuses nothing itself.

A client sends the same head with each request of a connection. So what a head allows is determined once (an
`RequestAdmission`), and holds for each further request that begins with the same bytes.

Syntax: RFC 9112, section 5; RFC 9110, section 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar

import trio

from cfnode.serving.reply import Reply

__all__ = ["RequestAdmission", "ShortRequest", "ShortRequests", "WaitingCall", "short_request"]

C = TypeVar("C")
"""The type of the application's own data about a client, or of its calls."""
K = TypeVar("K", contravariant=True)
"""The type of the connection."""

MAX_SHORT_HEAD_BYTES: Final = 8 * 1024
"""Bytes of the request line and the headers."""
MAX_SHORT_BODY_BYTES: Final = 16 * 1024
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
    """A whole POST."""

    path: str
    """The path, without a query."""
    headers: Mapping[bytes, bytes]
    """The values by name in lower case; no name occurs twice."""
    body: bytes
    head: bytes
    """The bytes before the body."""

    @property
    def size(self) -> int:
        """The number of bytes of the head and the body."""
        return len(self.head) + len(self.body)


@dataclass(frozen=True, slots=True)
class RequestAdmission(Generic[C]):
    """Rights and head of the answer, for each request of a connection that begins with the same bytes."""

    head: bytes = field(repr=False)
    """The bytes of the head, with the empty line; it may hold a token."""
    length: int
    """Bytes of the body."""
    client: C
    answer_start: bytes
    """The head of an answer, up to its length."""
    ends: trio.Event | None
    """The event that is set when the tokens have been read again: the head is then judged anew."""
    is_repeatable: bool
    """Whether the admission holds for further requests; otherwise each request is judged."""

    def covers(self, data: bytes) -> bool:
        """Return whether the received bytes begin with a whole request that has this head."""
        if len(data) < len(self.head) + self.length or not data.startswith(self.head):
            return False
        return self.ends is None or not self.ends.is_set()


@dataclass(frozen=True, slots=True)
class WaitingCall(Generic[C]):
    """A call that the application has parsed, and whose answer needs waiting."""

    call: C


class ShortRequests(Protocol[K, C]):
    """The application, as far as it answers short requests."""

    def admit(self, connection: K, request: ShortRequest) -> RequestAdmission[C] | None:
        """Return what the head allows.

        None if the request is refused, or has to come to hypercorn as a scope.
        """

    def answer_now(self, admission: RequestAdmission[C], body: bytes) -> Reply | WaitingCall[Any] | None:
        """Return the whole answer, with its head, to a call that needs no waiting.

        A call that needs waiting is returned, for `answer`; None for any other body.
        """

    async def answer(
        self, connection: K, admission: RequestAdmission[C], body: bytes, waiting: WaitingCall[Any] | None
    ) -> Reply:
        """Return the whole answer, with its head. `waiting`: the call, where it has been parsed."""
        ...


def short_request(data: bytes) -> ShortRequest | None:
    """Return the short request at the beginning of received bytes; None if there is none."""
    end = data.find(b"\r\n\r\n", 0, MAX_SHORT_HEAD_BYTES)
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
    if not (length.isdigit() and len(length) <= 5 and int(length) <= MAX_SHORT_BODY_BYTES):
        return None
    start = end + 4
    size = start + int(length)
    if len(data) < size:
        return None
    return ShortRequest(head[1].decode(), headers, data[start:size], data[:start])
