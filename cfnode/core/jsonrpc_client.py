"""JSON-RPC 2.0 of a client, as bytes: encoding of requests and reading of answers, without I/O.

It follows the JSON-RPC 2.0 specification. One request may hold many calls (a batch); its answers come in any
order and are matched by id. A server that could not read a request answers with one error under the id null.

What a server sends is foreign: it is read within limits (`foreign`), an error's text is made printable before
it enters a message, and anything that is not an answer to the calls is a ForeignError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from cfnode.core.foreign import ForeignError
from cfnode.core.jsonrpc import RpcError, encode
from cfnode.core.messages import printable

__all__ = ["ACCESS_STATUSES", "Call", "RequestRefused", "encoded", "outcomes", "request", "with_data"]

Call = tuple[str, Sequence[Any]]
"""Method and parameters."""
Identity = int | str
ACCESS_STATUSES: Final = (401, 403)
"""HTTP statuses of a server whose access rules refuse the client."""
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
