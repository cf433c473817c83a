"""JSON-RPC calls of a command to a running node, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cfnode.cli.credentials import node_token
from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.clients.http import HttpAnswer, HttpCall, HttpClient, HttpError
from cfnode.core.access_refusals import TOKEN_OF_COMMAND, access_refusal
from cfnode.core.bearer_token import authorization
from cfnode.core.foreign import ForeignError
from cfnode.core.jsonrpc import RpcError
from cfnode.core.jsonrpc_client import encoded, read_outcomes, request
from cfnode.core.refusals import read_refusal, refusal_text
from cfnode.core.safe_text import origin_of, printable

if TYPE_CHECKING:
    from cfnode.sdk.errors import ErrorCode

AGENT = "cfnode"
JSON = {"content-type": "application/json"}
MAX_REFUSAL_CHARACTERS = 2_000
"""Characters of a node's error that are printed."""
_ID = 1
CHECK_NODE = "Check that the node is running, and that --node is its address"
"""The next step where a node does not answer."""
METHOD_NOT_FOUND = -32601
"""JSON-RPC's code for a method that the node lacks, or does not open to this client."""
INVALID_PARAMS = -32602
_NEEDS_TOKEN = "a token of the group "
"""The beginning of `data` for a method that is closed for lack of a token."""
GATEWAY_ERRORS = (502, 503, 504)
"""HTTP statuses of a proxy that cannot reach its node."""


class NodeUnreachable(CommandFailure):
    """The node gave no JSON-RPC answer: no server, a timeout, or a server that is not a node.

    `code` is that of the SDK's error for the same fault.
    """

    def __init__(self, message: str, code: ErrorCode = "UNREACHABLE") -> None:
        super().__init__(message, ExitCode.NETWORK, name=code)
        self.code: ErrorCode = code


class ClientAccessRefused(NodeUnreachable):
    """The node answers requests of this client with 401 or 403, now and later."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "HTTP_STATUS")


class CallRefused(CommandFailure):
    """The node answered with an error object, which `--json` prints under `rpc`.

    `hint` follows the message.
    """

    def __init__(self, method: str, error: dict[str, Any], hint: str = "") -> None:
        data, message = error.get("data"), str(error.get("message"))
        detail = f" ({data})" if isinstance(data, str) else ""
        self.needs_token = isinstance(data, str) and data.startswith(_NEEDS_TOKEN)
        if self.needs_token:
            detail += f"; {TOKEN_OF_COMMAND}"
        raw = printable(f"{message}{detail} [code {error.get('code')}]", MAX_REFUSAL_CHARACTERS)
        refusal = read_refusal(message)
        text = raw if refusal is None else printable(refusal_text(refusal, method), MAX_REFUSAL_CHARACTERS)
        super().__init__(f"{method}: {text}{hint}", members={"rpc": error}, raw=raw if refusal else "")
        self.error = error


def call(url: str, method: str, params: Sequence[Any] | dict[str, Any], *, timeout: float = 60.0) -> Any:
    """Return the `result` of one call. Raise NodeUnreachable or CallRefused.

    `timeout` in seconds, in all.
    """
    # Reading the certificates takes longer than the call.
    client = HttpClient(AGENT, tls=not url.startswith("http://"))
    try:
        return asked(client.exchange, url, method, params, timeout)
    except HttpError as error:
        text = f"no answer from {origin_of(url)}: {error}. {CHECK_NODE}"
        raise NodeUnreachable(text, error.code) from None
    finally:
        client.close()


def asked(
    exchange: Callable[[HttpCall], HttpAnswer],
    url: str,
    method: str,
    params: Sequence[Any] | dict[str, Any],
    timeout: float,
) -> Any:
    """Return the `result` of one call that `exchange` makes.

    Raises NodeUnreachable, CallRefused, and what `exchange` raises.
    """
    headers = tuple((JSON | bearer(url)).items())
    body = encoded(request(_ID, method, params))
    return _result_of(origin_of(url), method, exchange(HttpCall("POST", url, timeout, (), headers, body)))


@contextmanager
def reading(url: str) -> Iterator[None]:
    """Wrap the reading of answers: raise NodeUnreachable for one of an unexpected shape."""
    try:
        yield
    except (ForeignError, TypeError, KeyError, IndexError, AttributeError, ValueError):
        raise NodeUnreachable(
            f"{origin_of(url)} sent a malformed answer; check that it is a node", "BAD_ANSWER"
        ) from None


def bearer(url: str) -> dict[str, str]:
    """Return the header with the command's bearer token; empty without a token for this node."""
    token = node_token(url)
    return {} if token is None else {"authorization": authorization(token)}


def _result_of(origin: str, method: str, answer: HttpAnswer) -> Any:
    """Return the `result` in the answer to one call. Raise NodeUnreachable or CallRefused."""
    if (refusal := access_refusal(answer.status, TOKEN_OF_COMMAND)) is not None:
        raise ClientAccessRefused(f"{origin} {refusal}")
    try:
        (outcome,) = read_outcomes(answer.body, [_ID])
    except ForeignError as error:
        if answer.status in GATEWAY_ERRORS:
            reason = "a proxy listens there, but its node does not answer; check that the node is running"
            text = f"{origin} answered HTTP {answer.status}: {reason}"
            raise NodeUnreachable(text, "HTTP_STATUS") from None
        text = f"{origin} answered HTTP {answer.status} with a text that {error}; check that it is a node"
        raise NodeUnreachable(text, "BAD_ANSWER") from None
    except RpcError as error:  # for the request as a whole
        outcome = error
    if isinstance(outcome, RpcError):
        data = {} if outcome.data is None else {"data": outcome.data}
        raise CallRefused(method, {"code": outcome.code, "message": outcome.message, **data})
    return outcome
