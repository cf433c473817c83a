"""Which bytes are sent to a node or to the swap service, and what do the answers mean? This module does no
I/O.

A call is a generator: it yields `HttpCall`s, receives an `HttpAnswer` for each (or a TransportError is thrown
into it) and returns its result. The blocking and the async client drive the same generators.

Nothing is ever sent twice. The caller may repeat a request by `retryable`; an exchange that opens a deposit
channel (`opens_channel`) is retryable only if it certainly never left this machine.

JSON-RPC follows @chainflip/rpc: always an array, answers matched by id.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import isfinite
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from cfnode.sdk.errors import BackendError, BadAnswer, BadStatus, RpcCallError, ValidationError, rpc_error
from cfnode.sdk.options import Session
from cfnode.sdk.record import R

__all__ = [
    "HttpAnswer",
    "HttpCall",
    "Steps",
    "backend",
    "error_text",
    "http_url",
    "origin_of",
    "read_answer",
    "rpc",
    "rpc_alone",
    "rpc_batch",
    "rpc_outcomes",
]

SDK_VERSION = "1.11.2"
"""The version of the JavaScript SDK with the same wire format; the swap service requires one."""

ACCESS_ADVICE = {
    401: ": the bearer token is missing or unknown; give the file that has it: rpc_token_file for the node, "
    "token_file for a broker or a subscription, --token-file or --broker-token-file on the command line",
    403: ": refused for this client, or for this host name; a node answers to the names of its "
    "--rpc-allowed-hosts",
}
"""What to do about a status of a server's access rules."""

_IDS = count(1)
_MESSAGE_LIMIT = 500
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One HTTP exchange; `timeout` in seconds, for the whole exchange."""

    method: str
    url: str
    timeout: float
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    opens_channel: bool = False


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The answer to an HTTP exchange."""

    status: int
    body: bytes


Steps: TypeAlias = Generator[HttpCall, HttpAnswer, T]


def origin_of(url: str) -> str:
    """Scheme, host and port for error texts, without a password or key in the address."""
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname or ''}" + (f":{parts.port}" if parts.port else "")
    except ValueError:
        return "a malformed URL"


def rpc(session: Session, url: str, method: str, params: Sequence[Any], **more: Any) -> Steps[Any]:
    """The result of one JSON-RPC call."""
    (result,) = yield from rpc_batch(session, url, [(method, params)], **more)
    return result


def rpc_batch(
    session: Session, url: str, calls: Sequence[tuple[str, Sequence[Any]]], **more: Any
) -> Steps[list[Any]]:
    """The results of several calls in one exchange; raises the first error."""
    outcomes = yield from rpc_outcomes(session, url, calls, **more)
    for outcome in outcomes:
        if isinstance(outcome, RpcCallError):
            raise outcome
    return outcomes


def rpc_outcomes(
    session: Session,
    url: str,
    calls: Sequence[tuple[str, Sequence[Any]]],
    *,
    opens_channel: bool = False,
    timeout: float | None = None,
) -> Steps[list[Any | RpcCallError]]:
    """The result or the error of each of several calls in one exchange."""
    requests = [_request(method, params) for method, params in calls]
    call = _post(url, requests, timeout or session.options.timeout, opens_channel)
    replies = _replies(call, (yield call))
    return [_outcome(call, replies, request["id"]) for request in requests]


def rpc_alone(session: Session, url: str, method: str, params: Sequence[Any]) -> Steps[Any]:
    """The result of one call without an array: some servers accept no batches, not even of one call."""
    request = _request(method, params)
    call = _post(url, request, session.options.timeout, opens_channel=False)
    outcome = _outcome(call, _replies(call, (yield call)), request["id"])
    if isinstance(outcome, RpcCallError):
        raise outcome
    return outcome


def _request(method: str, params: Sequence[Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": str(next(_IDS)), "method": method, "params": list(params)}


def _post(url: str, document: Any, timeout: float, opens_channel: bool) -> HttpCall:
    return HttpCall(
        "POST",
        http_url(url),
        timeout,
        headers=(("content-type", "application/json"),),
        body=json.dumps(document, separators=(",", ":")).encode(),
        opens_channel=opens_channel,
    )


def http_url(url: str) -> str:
    """The HTTP address of a node's WebSocket address; another address unchanged."""
    return url.replace("ws://", "http://", 1).replace("wss://", "https://", 1)


def _replies(call: HttpCall, answer: HttpAnswer) -> dict[str, Mapping[str, Any]]:
    if not 200 <= answer.status < 300:
        raise _bad_status(call, answer, f"HTTP error: {answer.status}")
    document = _json(call, answer)
    if isinstance(document, dict) and "id" in document:
        document = [document]
    if not isinstance(document, list):
        raise _bad_answer(call, "Invalid JSON response")
    return {str(item.get("id")): item for item in document if isinstance(item, dict)}


def _outcome(call: HttpCall, replies: dict[str, Mapping[str, Any]], identity: str) -> Any | RpcCallError:
    # A server answers a malformed request with the id null.
    reply = replies.get(identity) or replies.get("None")
    if reply is not None and isinstance(error := reply.get("error"), dict):
        code, message = error.get("code"), str(error.get("message"))
        return rpc_error(code if isinstance(code, int) else 0, message, error.get("data"))
    if identity not in replies or "result" not in replies[identity]:
        raise _bad_answer(call, "Could not find the result for the request")
    return replies[identity]["result"]


def backend(
    session: Session,
    method: str,
    path: str,
    *,
    query: Sequence[tuple[str, str]] = (),
    body: Any = None,
    expected: int = 200,
    opens_channel: bool = False,
) -> Steps[Any]:
    """The JSON answer of the swap service; raises BackendError with its message if it refuses."""
    headers = [("x-chainflip-sdk-version", SDK_VERSION), ("accept", "application/json")]
    if body is not None:
        headers.append(("content-type", "application/json"))
    call = HttpCall(
        method,
        session.backend_url + path,
        session.options.channel_timeout if opens_channel else session.options.timeout,
        tuple(query),
        tuple(headers),
        None if body is None else json.dumps(body, separators=(",", ":")).encode(),
        opens_channel,
    )
    answer = yield call
    if answer.status != expected:
        raise _refusal(call, answer)
    return _json(call, answer)


def _refusal(call: HttpCall, answer: HttpAnswer) -> BackendError | BadStatus:
    """An error with the service's message, or with the status if there is no message."""
    try:
        message = json.loads(answer.body)["message"]
    except (ValueError, TypeError, KeyError, RecursionError):
        message = None
    if isinstance(message, str) and answer.status < 500:
        return BackendError(message[:_MESSAGE_LIMIT], status=answer.status)
    detail = f": {message[:_MESSAGE_LIMIT]}" if isinstance(message, str) else ""
    return _bad_status(call, answer, f"Request failed with status code {answer.status}{detail}")


def _bad_status(call: HttpCall, answer: HttpAnswer, message: str) -> BadStatus:
    retryable = answer.status in (429, 500, 502, 503, 504) and not call.opens_channel
    return BadStatus(
        error_text(call, message + ACCESS_ADVICE.get(answer.status, "")),
        url=origin_of(call.url),
        status=answer.status,
        sent=True,
        retryable=retryable,
    )


def _json(call: HttpCall, answer: HttpAnswer) -> Any:
    try:
        return json.loads(answer.body, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError):
        raise _bad_answer(call, "Invalid JSON response") from None


def _finite(text: str) -> float:
    """Refuses Infinity and NaN, which are not JSON but which Python reads, also from `1e999`."""
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text[:20]} is not a JSON number")
    return number


def _bad_answer(call: HttpCall, message: str) -> BadAnswer:
    return BadAnswer(error_text(call, message), url=origin_of(call.url), sent=True, retryable=False)


def error_text(call: HttpCall, message: str, *, sent: bool = True) -> str:
    """A transport error's text, with a warning if a deposit channel may have been opened."""
    text = f"{message} ({origin_of(call.url)})"
    if call.opens_channel and sent:
        return f"{text}; a deposit channel may have been opened; the request was not repeated"
    return text


def read_answer(record: type[R], document: Any, source: str) -> R:
    """A record of an answer; raises BadAnswer, not ValidationError, for a missing or malformed member."""
    try:
        return record.from_json(document)
    except ValidationError as error:
        raise BadAnswer(
            f"unexpected answer of {origin_of(source)}: {error.message}",
            url=origin_of(source),
            sent=True,
            retryable=False,
        ) from None
