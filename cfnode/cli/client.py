"""How does a command call a running node? With one JSON-RPC call over HTTP."""

from __future__ import annotations

import os
from typing import Any

import httpx
import msgspec

from cfnode.cli.exits import ExitCode, Failure

TOKEN_VARIABLE = "CFNODE_TOKEN"
"""The environment variable with a bearer token: a command's arguments are visible in the process list."""
METHOD_NOT_FOUND = -32601
"""JSON-RPC's code for a method that the node lacks, or does not open to this client."""


UNAUTHORIZED = 401


class NodeUnreachable(Failure):
    """The node gave no JSON-RPC answer: no server, a timeout, or a server that is not a node."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ExitCode.NETWORK)


class CallRefused(Failure):
    """The node answered with an error object, which `--json` prints unchanged under `rpc`.

    `hint` follows the message.
    """

    def __init__(self, method: str, error: dict[str, Any], hint: str = "") -> None:
        data = error.get("data")
        detail = f" ({data})" if isinstance(data, str) else ""
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
            headers=headers(),
            timeout=timeout,
            verify=not url.startswith("http://"),  # reading the certificates takes longer than the call
        )
    except httpx.InvalidURL as error:
        raise NodeUnreachable(f"{url} is not a URL: {error}") from None
    except httpx.HTTPError as error:
        raise NodeUnreachable(f"no answer from {url}: {error or type(error).__name__}") from None
    return result_of(url, method, response.status_code, response.content)


def headers() -> dict[str, str]:
    """The headers of a call: JSON, and the bearer token of the environment, if there is one."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not (token.isascii() and token.isprintable()):
        raise Failure(f"{TOKEN_VARIABLE} holds no bearer token", ExitCode.USAGE)
    return {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})


def result_of(url: str, method: str, status: int, content: bytes) -> Any:
    """The `result` in the answer to one call; raises NodeUnreachable or CallRefused."""
    if status == UNAUTHORIZED:
        raise NodeUnreachable(f"{url} answers only with a known bearer token: set {TOKEN_VARIABLE}")
    try:
        reply = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError):
        raise NodeUnreachable(f"{url} answered HTTP {status} without JSON: not a node?") from None
    if not isinstance(reply, dict) or not ("result" in reply or isinstance(reply.get("error"), dict)):
        raise NodeUnreachable(f"{url} answered JSON that is not JSON-RPC: not a node?")
    if "error" in reply:
        raise CallRefused(method, reply["error"])
    return reply["result"]
