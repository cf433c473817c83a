"""Requests to a node and to the swap service, and the meaning of their answers, without I/O.

A call is a generator: it yields `SdkHttpCall`s, receives an `HttpAnswer` for each (or a TransportError is
thrown into it) and returns its result. The blocking and the async client drive the same generators.

No request is ever sent twice. The caller may repeat one that is `retryable`; an exchange that opens a deposit
channel (`opens_channel`) is retryable only if it certainly never left this machine.

JSON-RPC follows @chainflip/rpc: always an array, answers matched by id (`core/jsonrpc_client.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias, TypeVar

from cfnode.clients import http
from cfnode.clients.http import HttpAnswer
from cfnode.core.access_refusals import TOKEN_OF_PROGRAM, access_refusal
from cfnode.core.foreign import ForeignError, read_json
from cfnode.core.jsonrpc import RpcError
from cfnode.core.jsonrpc_client import RequestRefused, encoded, read_outcomes, request
from cfnode.core.safe_text import origin_of, printable
from cfnode.sdk.errors import BackendError, BadAnswer, BadStatus, RpcCallError, ValidationError, rpc_error
from cfnode.sdk.options import ClientSession
from cfnode.sdk.record import R

__all__ = [
    "HttpAnswer",
    "SdkHttpCall",
    "Steps",
    "access_advice",
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

_IDS = count(1)
_MAX_MESSAGE_CHARS = 500
_METHOD_NOT_ALLOWED = 405
"""A node's answer to a GET request."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SdkHttpCall(http.HttpCall):
    """One HTTP exchange of the SDK. `opens_channel`: it is not certain that repeating it is harmless."""

    opens_channel: bool = False


Steps: TypeAlias = Generator[SdkHttpCall, HttpAnswer, T]


def rpc(session: ClientSession, url: str, method: str, params: Sequence[Any], **options: Any) -> Steps[Any]:
    """Make one JSON-RPC call; return its result."""
    (result,) = yield from rpc_batch(session, url, [(method, params)], **options)
    return result


def rpc_batch(
    session: ClientSession, url: str, calls: Sequence[tuple[str, Sequence[Any]]], **options: Any
) -> Steps[list[Any]]:
    """Make several calls in one exchange; return their results, or raise the first error."""
    outcomes = yield from rpc_outcomes(session, url, calls, **options)
    for outcome in outcomes:
        if isinstance(outcome, RpcCallError):
            raise outcome
    return outcomes


def rpc_outcomes(
    session: ClientSession,
    url: str,
    calls: Sequence[tuple[str, Sequence[Any]]],
    *,
    opens_channel: bool = False,
    timeout: float | None = None,
) -> Steps[list[Any | RpcCallError]]:
    """Make several calls in one exchange; return the result or the error of each."""
    requests = [request(_identity(), method, params) for method, params in calls]
    call = _post(url, requests, timeout or session.options.timeout, opens_channel)
    return _outcomes(call, (yield call), [single_request["id"] for single_request in requests])


def rpc_alone(session: ClientSession, url: str, method: str, params: Sequence[Any]) -> Steps[Any]:
    """Make one call without an array, for servers that accept no batches; return its result."""
    single = request(_identity(), method, params)
    call = _post(url, single, session.options.timeout, opens_channel=False)
    (outcome,) = _outcomes(call, (yield call), [single["id"]])
    if isinstance(outcome, RpcCallError):
        raise outcome
    return outcome


def _identity() -> str:
    return str(next(_IDS))


def _post(url: str, document: Any, timeout: float, opens_channel: bool) -> SdkHttpCall:
    return SdkHttpCall(
        "POST",
        http_url(url),
        timeout,
        headers=(("content-type", "application/json"),),
        body=encoded(document),
        opens_channel=opens_channel,
    )


def http_url(url: str) -> str:
    """Return the HTTP address of a node's WebSocket address; another address unchanged."""
    return url.replace("ws://", "http://", 1).replace("wss://", "https://", 1)


def _outcomes(call: SdkHttpCall, answer: HttpAnswer, identities: Sequence[str]) -> list[Any | RpcCallError]:
    """Return the result or the error of each call; an error for the whole request is that of each."""
    if not 200 <= answer.status < 300:
        raise _bad_status(call, answer, f"HTTP error: {answer.status}")
    try:
        return [_own(outcome) for outcome in read_outcomes(answer.body, identities)]
    except RequestRefused as error:
        return [_own(error)] * len(identities)
    except ForeignError as error:
        raise _bad_answer(call, f"the answer {error}") from None


def _own(outcome: Any | RpcError) -> Any | RpcCallError:
    if not isinstance(outcome, RpcError):
        return outcome
    return rpc_error(outcome.code, outcome.message, outcome.data)


def backend(
    session: ClientSession,
    method: str,
    path: str,
    *,
    query: Sequence[tuple[str, str]] = (),
    body: Any = None,
    expected: int = 200,
    opens_channel: bool = False,
) -> Steps[Any]:
    """Return the JSON answer of the swap service; raise BackendError with its message if it refuses."""
    headers = [("x-chainflip-sdk-version", SDK_VERSION), ("accept", "application/json")]
    if body is not None:
        headers.append(("content-type", "application/json"))
    call = SdkHttpCall(
        method,
        session.backend_url + path,
        session.options.channel_timeout if opens_channel else session.options.timeout,
        tuple(query),
        tuple(headers),
        None if body is None else encoded(body),
        opens_channel,
    )
    answer = yield call
    if answer.status != expected:
        raise _refusal(call, answer)
    document = _json(call, answer)
    if _is_jsonrpc(document):
        raise _no_service(call, answer)
    return document


def _is_jsonrpc(document: Any) -> bool:
    """Return whether a node answered, which takes any POST request for JSON-RPC."""
    return isinstance(document, dict) and "jsonrpc" in document


def _no_service(call: SdkHttpCall, answer: HttpAnswer) -> BadStatus:
    """Return the error of a node without a swap service, which has opened no channel."""
    url = origin_of(call.url)
    text = (
        f"this node has no swap service ({url}): a development chain (`cfnode run --dev`) and "
        "`cfnode service run` have one; its address is backend_url, --backend on the command line"
    )
    return BadStatus(text, url=url, status=answer.status, sent=True, retryable=False)


def _refusal(call: SdkHttpCall, answer: HttpAnswer) -> BackendError | BadStatus:
    """Return an error with the service's message, or with the status if there is no message."""
    try:
        document = read_json(answer.body)
    except ForeignError:
        document = None
    message = document.get("message") if isinstance(document, dict) else None
    if _is_jsonrpc(document) or (message is None and answer.status == _METHOD_NOT_ALLOWED):
        return _no_service(call, answer)
    if isinstance(message, str) and answer.status < 500:
        return BackendError(printable(message, _MAX_MESSAGE_CHARS), status=answer.status)
    detail = f": {printable(message, _MAX_MESSAGE_CHARS)}" if isinstance(message, str) else ""
    return _bad_status(call, answer, f"Request failed with status code {answer.status}{detail}")


def _bad_status(call: SdkHttpCall, answer: HttpAnswer, message: str) -> BadStatus:
    retryable = answer.status in (429, 500, 502, 503, 504) and not call.opens_channel
    return BadStatus(
        error_text(call, message + access_advice(answer.status)),
        url=origin_of(call.url),
        status=answer.status,
        sent=True,
        retryable=retryable,
    )


def _json(call: SdkHttpCall, answer: HttpAnswer) -> Any:
    try:
        return read_json(answer.body)
    except ForeignError as error:
        raise _bad_answer(call, f"the answer {error}") from None


def _bad_answer(call: SdkHttpCall, message: str) -> BadAnswer:
    return BadAnswer(error_text(call, message), url=origin_of(call.url), sent=True, retryable=False)


def access_advice(status: int) -> str:
    """Return what follows an HTTP status in the text of an error, if a server's access rules answer it."""
    refusal = access_refusal(status, TOKEN_OF_PROGRAM)
    return "" if refusal is None else f": the server {refusal}"


def error_text(call: SdkHttpCall, message: str, *, sent: bool = True) -> str:
    """Return a transport error's text, with a warning if a deposit channel may have been opened."""
    text = f"{message} ({origin_of(call.url)})"
    if call.opens_channel and sent:
        return f"{text}; a deposit channel may have been opened; the request was not repeated"
    return text


def read_answer(record: type[R], document: Any, source: str) -> R:
    """Return a record of an answer.

    Raises BadAnswer, not ValidationError, for a missing or malformed member.
    """
    try:
        return record.from_json(document)
    except ValidationError as error:
        raise BadAnswer(
            f"unexpected answer of {origin_of(source)}: {error.message}",
            url=origin_of(source),
            sent=True,
            retryable=False,
        ) from None
