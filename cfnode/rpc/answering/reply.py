"""The answers of JSON-RPC as pieces: to a call, to a batch, and the messages of a subscription.

The metadata, a block's environment and the like are encoded once and kept as text (`blocks.JsonCache`); an
answer with such a text shares it (`cfnode.serving.reply`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from cfnode.core import jsonrpc
from cfnode.serving.reply import NOTHING, SHARED_FROM, Part, Reply

__all__ = ["TooLargeError", "batch", "notification", "success", "text_of"]


def text_of(result: Any, max_bytes: int) -> Part:
    """Return a JSON value as text. Raises TooLargeError if it has more than `max_bytes`."""
    text = _text(result)
    if len(text) > max_bytes:
        raise TooLargeError
    return text


def success(identity: bytes, text: Part) -> Reply:
    """Return the answer to one call with a JSON text; NOTHING for a notification, which has no id."""
    if not identity:
        return NOTHING
    if type(text) is bytes:
        return Reply(jsonrpc.success(identity, text))
    return _around(jsonrpc.success(identity, _MARK), text)


def notification(method: str, subscription: str, result: Any) -> Reply:
    """Return one message of a subscription."""
    return _around(jsonrpc.notification(method, subscription, _MARK), _text(result))


def batch(replies: Iterable[Reply]) -> Reply:
    """Return the answers to a batch in its order; NOTHING if the batch had only notifications."""
    joined: list[Part] = []
    for reply in replies:
        joined += (b"," if joined else b"[", *reply.parts)
    return Reply(*_merged([*joined, b"]"])) if joined else NOTHING


class TooLargeError(Exception):
    """A result exceeds the maximum size of an answer."""


_MARK: Final = b"\x00"  # never in JSON


def _text(result: Any) -> Part:
    if type(result) is msgspec.Raw and len(view := memoryview(result)) >= SHARED_FROM:
        return view
    return jsonrpc.encode(result)


def _around(frame: bytes, text: Part) -> Reply:
    head, _, tail = frame.rpartition(_MARK)
    return Reply(head, text, tail) if type(text) is memoryview else Reply(b"".join((head, text, tail)))


def _merged(parts: Iterable[Part]) -> list[Part]:
    """Return the pieces with adjacent unshared ones joined."""
    merged: list[Part] = []
    small_parts: list[bytes] = []
    for part in parts:
        if type(part) is memoryview:
            merged += (b"".join(small_parts), part)
            small_parts = []
        else:
            small_parts.append(bytes(part))
    return [*merged, b"".join(small_parts)]
