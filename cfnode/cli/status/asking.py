"""How does the status command end in time? One time limit covers all its calls.

Answers have a maximum size, as in the SDK, whose connections are used. An error answer raises Failure, a
malformed answer raises Malformed.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec

from cfnode.cli.client import JSON, NodeUnreachable, result_of
from cfnode.sdk.errors import TimedOut, TransportError
from cfnode.sdk.exchange import HttpCall, origin_of
from cfnode.sdk.transport import Transport

__all__ = ["Asking", "Malformed", "members", "number", "printable", "text"]

MAX_TEXT = 200
"""Characters of a node's text that are printed."""
MAX_NUMBER_DIGITS = 80
"""Digits of a number in hex: more than 256 bits have."""


class Malformed(Exception):
    """A malformed answer of the node."""


class Asking:
    """Calls to one node with a total time limit of `seconds`, over reused connections."""

    def __init__(self, transport: Transport, url: str, seconds: float) -> None:
        self._transport = transport
        self._url = url
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    def call(self, method: str, *params: Any) -> Any:
        """The result of a call; raises NodeUnreachable or CallRefused."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise NodeUnreachable(f"no answer within {self._seconds:g} s")
        sent = tuple(JSON.items())
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        try:
            answer = self._transport.exchange(HttpCall("POST", self._url, left, headers=sent, body=body))
        except TimedOut as error:
            raise NodeUnreachable(error.message) from None
        except TransportError as error:
            raise NodeUnreachable(f"{error.message}. Is the node running, and --node right?") from None
        return result_of(origin_of(self._url), method, answer.status, answer.body)


def members(value: Any) -> dict[str, Any]:
    """An object in an answer."""
    if not isinstance(value, dict):
        raise Malformed("the node's answer is malformed: an object is expected")
    return value


def number(value: Any) -> int:
    """A number in an answer, as a number or in hex."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**256:
        return value
    if isinstance(value, str) and value.startswith("0x") and len(value) <= MAX_NUMBER_DIGITS:
        try:
            return int(value, 16)
        except ValueError:
            pass
    raise Malformed("the node's answer is malformed: a number is expected")


def text(value: Any) -> str:
    """A text in an answer, on one line and without control characters."""
    if not isinstance(value, str):
        raise Malformed("the node's answer is malformed: a text is expected")
    return printable(value)


def printable(value: str) -> str:
    """A text of the node on one line, cut to MAX_TEXT characters."""
    kept = (letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in value[:MAX_TEXT])
    return "".join(kept)
