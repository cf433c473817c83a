"""Calls of the status command, all within one time limit.

An error answer raises Failure, a malformed answer raises Malformed.
"""

from __future__ import annotations

import time
from typing import Any

from cfnode.cli.client import CHECK_NODE, NodeUnreachable, asked
from cfnode.clients.http import HttpClient, HttpError, TooSlow
from cfnode.core.foreign import ForeignError, whole_number
from cfnode.core.safe_text import origin_of, printable

__all__ = ["Asking", "Malformed", "members", "number", "text"]

MAX_TEXT_CHARACTERS = 200
"""Characters of a node's text that are printed."""


class Malformed(Exception):
    """A malformed answer of the node."""


class Asking:
    """Calls to one node with a total time limit of `seconds`, over reused connections."""

    def __init__(self, client: HttpClient, url: str, seconds: float) -> None:
        self._client = client
        self._url = url
        self._seconds = seconds
        self._until = time.monotonic() + seconds

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call. Raise NodeUnreachable or CallRefused."""
        remaining_s = self._until - time.monotonic()
        if remaining_s <= 0:
            raise NodeUnreachable(
                f"no answer within {self._seconds:g} s: try again, or raise --timeout", "TIMEOUT"
            )
        try:
            return asked(self._client.exchange, self._url, method, params, remaining_s)
        except TooSlow as error:
            text = f"{error} ({origin_of(self._url)}): try again, or raise --timeout"
            raise NodeUnreachable(text, error.code) from None
        except HttpError as error:
            text = f"{error} ({origin_of(self._url)}). {CHECK_NODE}"
            raise NodeUnreachable(text, error.code) from None


def members(value: Any) -> dict[str, Any]:
    """Return an object in an answer. Raise Malformed."""
    if not isinstance(value, dict):
        raise Malformed("the node's answer is malformed: an object is expected")
    return value


def number(value: Any) -> int:
    """Return a number in an answer, written as a number or in hex. Raise Malformed."""
    try:
        return whole_number(value)
    except ForeignError:
        raise Malformed("the node's answer is malformed: a number is expected") from None


def text(value: Any) -> str:
    """Return a text in an answer, on one line and without control characters. Raise Malformed."""
    if not isinstance(value, str):
        raise Malformed("the node's answer is malformed: a text is expected")
    return printable(value, MAX_TEXT_CHARACTERS)
