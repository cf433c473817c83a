"""What is an answer while it waits to be sent? Pieces, of which many clients may share the largest.

The metadata, a block's environment and the like are encoded once and kept as text (`blocks.JsonCache`). An
answer with such a text in it has a head of its own and a view of the text, so that a hundred clients that
read slowly hold one copy of it and not one each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from cfnode.core import jsonrpc

__all__ = ["NOTHING", "SHARED_FROM", "Part", "Reply", "batch", "notification", "success", "whole"]

Part = bytes | memoryview
SHARED_FROM: Final = 16 * 1024
"""Bytes of kept text from which on it is not copied into an answer; below, a copy is cheaper than a piece."""


class Reply:
    """The pieces of an answer in order; none where none is due."""

    __slots__ = ("parts", "size")

    def __init__(self, *parts: Part) -> None:
        self.parts = parts
        self.size = sum(map(len, parts))

    def __bool__(self) -> bool:
        return self.size > 0

    @property
    def shared(self) -> list[memoryview]:
        """The pieces that others may hold, too."""
        return [part for part in self.parts if type(part) is memoryview]

    @property
    def own(self) -> int:
        """The bytes that this answer alone holds."""
        return self.size - sum(map(len, self.shared))


NOTHING: Final = Reply()


def whole(data: bytes) -> Reply:
    """An answer of one piece; nothing if it is empty."""
    return Reply(data) if data else NOTHING


def success(identity: bytes, result: Any, most: int) -> Reply:
    """The answer to one call with a JSON value. Raises TooLarge if that has more than so many bytes."""
    text = _text(result)
    if len(text) > most:
        raise TooLargeError
    return _around(jsonrpc.success(identity, _MARK), text) if identity else NOTHING


def notification(method: str, subscription: str, result: Any) -> Reply:
    """One message of a subscription."""
    return _around(jsonrpc.notification(method, subscription, _MARK), _text(result))


def batch(replies: Iterable[Reply]) -> Reply:
    """The answers to a batch in its order; nothing if it held nothing but notifications."""
    joined: list[Part] = []
    for reply in replies:
        joined += (b"," if joined else b"[", *reply.parts)
    return Reply(*_merged([*joined, b"]"])) if joined else NOTHING


class TooLargeError(Exception):
    """A result has more bytes than an answer may have."""


_MARK: Final = b"\x00"  # never in JSON


def _text(result: Any) -> Part:
    if type(result) is msgspec.Raw and len(view := memoryview(result)) >= SHARED_FROM:
        return view
    return jsonrpc.encode(result)


def _around(frame: bytes, text: Part) -> Reply:
    head, _, tail = frame.rpartition(_MARK)
    return Reply(head, text, tail) if type(text) is memoryview else Reply(b"".join((head, text, tail)))


def _merged(parts: Iterable[Part]) -> list[Part]:
    """The same with neighbours that nobody shares joined."""
    merged: list[Part] = []
    own: list[bytes] = []
    for part in parts:
        if type(part) is memoryview:
            merged += (b"".join(own), part)
            own = []
        else:
            own.append(bytes(part))
    return [*merged, b"".join(own)]
