"""JSON-RPC 2.0 of a client: requests, batches, their answers, and subscriptions, without I/O.

It follows the JSON-RPC 2.0 specification. One request may hold many calls (a batch); its answers come in any
order and are matched by id. A server that could not read a request answers with one error under the id null.
Over HTTP a request has one answer (`outcomes`, `read_outcomes`). Over a WebSocket many requests are open at a
time, and messages of subscriptions come between: a `Conversation` numbers the calls, and says of each message
which calls it answers, or which subscription it belongs to.

What a server sends is foreign: it is read within limits (`foreign`), an error's text is made printable before
it enters a message, and anything that is not an answer to the calls is a ForeignError.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cfnode.core.foreign import ForeignError, read_json
from cfnode.core.jsonrpc import RpcError, encode
from cfnode.core.safe_text import printable

__all__ = [
    "Answered",
    "Asked",
    "Conversation",
    "Notified",
    "RequestRefused",
    "encoded",
    "outcomes",
    "read_outcomes",
    "request",
    "with_data",
]

MethodCall = tuple[str, Sequence[Any]]
"""Method and parameters."""
Identity = int | str
MAX_ERROR_TEXT: Final = 4_000
"""Characters of an error's text that are kept: a program may look for a word in it."""
MAX_CODE: Final = 1 << 63
NO_RPC: Final = "is not JSON-RPC"


class RequestRefused(RpcError):
    """A server refused a whole request: its error names no call."""


def request(identity: Identity, method: str, params: Sequence[Any] | dict[str, Any]) -> dict[str, Any]:
    """Return one call, ready to be encoded, alone or in a list with others."""
    arguments = params if isinstance(params, dict) else list(params)
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": arguments}


def encoded(document: Any) -> bytes:
    """Return the JSON bytes of a request."""
    return encode(document)


def outcomes(document: Any, identities: Sequence[Identity]) -> list[Any | RpcError]:
    """Return the result, or the error, of each call of a request, in the order of `identities`.

    Raises RequestRefused, or ForeignError if the document is not an answer to all of the calls.
    """
    by_identity: dict[str, Any | RpcError] = {}
    for answer in document if isinstance(document, list) else [document]:
        outcome, identity = _outcome(answer), answer.get("id")
        if identity is None and isinstance(outcome, RpcError):
            raise RequestRefused(outcome.code, outcome.message, outcome.data)
        by_identity[str(identity)] = outcome
    expected = [str(identity) for identity in identities]
    answered = by_identity.keys() & set(expected)
    if len(answered) < len(expected):
        raise ForeignError(f"has {len(answered)} answers to {len(expected)} calls: it {NO_RPC}")
    return [by_identity[identity] for identity in expected]


def read_outcomes(body: bytes, identities: Sequence[Identity]) -> list[Any | RpcError]:
    """Return what `outcomes` does for the bytes of an answer."""
    return outcomes(read_json(body), identities)


@dataclass(frozen=True, slots=True)
class Asked:
    """Calls that were numbered, to be sent together."""

    identities: range
    requests: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Answered:
    """A message that answers calls."""

    identities: range
    answers: list[Any]

    def outcomes(self) -> list[Any | RpcError]:
        """Return the result, or the error, of each call. Raises RequestRefused, ForeignError."""
        return outcomes(self.answers, self.identities)


@dataclass(frozen=True, slots=True)
class Notified:
    """A message of a subscription."""

    subscription: Any
    result: Any


class Conversation:
    """The open calls of one WebSocket."""

    def __init__(self) -> None:
        self._next = 1
        self._open: dict[int, range] = {}

    def ask(self, calls: Sequence[MethodCall]) -> Asked:
        """Return calls with their numbers, and expect one message with all their answers."""
        identities = range(self._next, self._next + len(calls))
        self._open[self._next] = identities
        self._next = identities.stop
        requests = [request(number, *call) for number, call in zip(identities, calls, strict=True)]
        return Asked(identities, requests)

    def forget(self, asked: Asked) -> None:
        """Expect no answer any more: a later one is ignored."""
        self._open.pop(asked.identities.start, None)

    def receive(self, message: Any) -> Answered | Notified | None:
        """Return what a message means; None for one to ignore. Raises ForeignError.

        An error without an id, for a request that the server could not read, answers the oldest calls.
        """
        if not isinstance(message, dict | list):
            raise ForeignError(NO_RPC)
        if isinstance(message, dict) and isinstance(params := message.get("params"), dict):
            return Notified(params.get("subscription"), params.get("result"))
        answers = message if isinstance(message, list) else [message]
        numbers = [answer.get("id") for answer in answers if isinstance(answer, dict)]
        own_numbers = [number for number in numbers if type(number) is int]
        first = min(own_numbers) if own_numbers else next(iter(self._open), None)
        identities = None if first is None else self._open.pop(first, None)
        return None if identities is None else Answered(identities, answers)


def _outcome(answer: Any) -> Any | RpcError:
    if not isinstance(answer, dict):
        raise ForeignError(NO_RPC)
    if (error := answer.get("error")) is not None:
        return _error(error)
    if "result" not in answer:
        raise ForeignError(NO_RPC)
    return answer["result"]


def with_data(error: RpcError) -> str:
    """Return the text of an error, with its data if that is a text, on one printable line, cut."""
    data = f" ({error.data})" if isinstance(error.data, str) else ""
    return printable(error.message + data)


def _error(error: Any) -> RpcError:
    if not isinstance(error, dict):
        raise ForeignError(NO_RPC)
    code, data = error.get("code"), error.get("data")
    bounded_code = code if type(code) is int and abs(code) < MAX_CODE else 0
    return RpcError(bounded_code, printable(error.get("message"), MAX_ERROR_TEXT), data)
