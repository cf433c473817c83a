"""How does a command call a running node? With one JSON-RPC call over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec

from cfnode.cli.credentials import TOKEN_ADVICE, node_token
from cfnode.cli.exits import ExitCode, Failure
from cfnode.core.bearer_token import authorization

JSON = {"content-type": "application/json"}
METHOD_NOT_FOUND = -32601
"""JSON-RPC's code for a method that the node lacks, or does not open to this client."""


UNAUTHORIZED, FORBIDDEN = 401, 403
_NEEDS_TOKEN = "a token of the group "
"""The beginning of `data` for a method that is closed for lack of a token."""
GATEWAY_ERRORS = (502, 503, 504)
"""Of a proxy that cannot reach its node."""


class NodeUnreachable(Failure):
    """The node gave no JSON-RPC answer: no server, a timeout, or a server that is not a node."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ExitCode.NETWORK)


class AccessRefused(NodeUnreachable):
    """The node answers requests of this client with 401 or 403, now and later."""


class CallRefused(Failure):
    """The node answered with an error object, which `--json` prints unchanged under `rpc`.

    `hint` follows the message.
    """

    def __init__(self, method: str, error: dict[str, Any], hint: str = "") -> None:
        data = error.get("data")
        detail = f" ({data})" if isinstance(data, str) else ""
        self.needs_token = isinstance(data, str) and data.startswith(_NEEDS_TOKEN)
        if self.needs_token:
            detail += f"; {TOKEN_ADVICE}"
        super().__init__(
            f"{method}: {error.get('message')}{detail} [code {error.get('code')}]{hint}",
            members={"rpc": error},
        )
        self.error = error


def call(url: str, method: str, params: list[Any] | dict[str, Any], *, timeout: float = 60.0) -> Any:
    """The `result` of one call; raises NodeUnreachable or CallRefused. `timeout` in seconds."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    try:
        response = httpx.post(
            url,
            content=msgspec.json.encode(request),
            headers=JSON | bearer(url),
            timeout=timeout,
            verify=not url.startswith("http://"),  # reading the certificates takes longer than the call
        )
    except httpx.InvalidURL as error:
        raise NodeUnreachable(f"{url} is not a URL: {error}") from None
    except httpx.HTTPError as error:
        raise NodeUnreachable(f"no answer from {url}: {error or type(error).__name__}") from None
    return result_of(url, method, response.status_code, response.content)


def bearer(url: str) -> dict[str, str]:
    """The header with the command's bearer token, if it has one for this node."""
    token = node_token(url)
    return {} if token is None else {"authorization": authorization(token)}


def result_of(url: str, method: str, status: int, content: bytes) -> Any:
    """The `result` in the answer to one call; raises NodeUnreachable or CallRefused."""
    if status == UNAUTHORIZED:
        raise AccessRefused(f"{url} answers only with a known bearer token: {TOKEN_ADVICE}")
    if status == FORBIDDEN:
        raise AccessRefused(
            f"{url} refuses this client (HTTP 403): a node answers to localhost and 127.0.0.1 with its own "
            "port, and to the names of its --rpc-allowed-hosts"
        )
    try:
        reply = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        if status in GATEWAY_ERRORS:
            reason = "a proxy listens there, but its node does not answer; is the node running?"
            raise NodeUnreachable(f"{url} answered HTTP {status}: {reason}") from None
        raise NodeUnreachable(f"{url} answered HTTP {status} without JSON: not a node?") from None
    if not isinstance(reply, dict) or not ("result" in reply or isinstance(reply.get("error"), dict)):
        raise NodeUnreachable(f"{url} answered JSON that is not JSON-RPC: not a node?")
    if "error" in reply:
        raise CallRefused(method, reply["error"])
    return reply["result"]
