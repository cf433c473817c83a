"""One JSON-RPC call over HTTP, for the commands that talk to a running node."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec

from cfnode.cli.exits import ExitCode, Failure

DEFAULT_URL = "http://127.0.0.1:9944"


class NodeUnreachable(Failure):
    """No JSON-RPC answer came: nobody listens, the time was up, or what answers is not a node."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ExitCode.NETWORK)


class CallRefused(Failure):
    """The node answered with an error object."""

    def __init__(self, method: str, error: dict[str, Any]) -> None:
        data = error.get("data")
        detail = f" ({data})" if isinstance(data, str) else ""
        super().__init__(f"{method}: {error.get('message')}{detail} [code {error.get('code')}]")
        self.error = error


def call(url: str, method: str, params: list[Any] | dict[str, Any], *, timeout: float = 60.0) -> Any:
    """The `result` of one call; raises NodeUnreachable or CallRefused. `timeout` in seconds."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    address = url.replace("ws://", "http://", 1).replace("wss://", "https://", 1)
    try:
        response = httpx.post(
            address,
            content=msgspec.json.encode(request),
            headers={"content-type": "application/json"},
            timeout=timeout,
            verify=not address.startswith("http://"),  # reading the certificates takes longer than the call
        )
        reply = msgspec.json.decode(response.content)
    except httpx.InvalidURL as error:
        raise NodeUnreachable(f"{url} is not a URL: {error}") from None
    except httpx.HTTPError as error:
        raise NodeUnreachable(f"no answer from {url}: {error or type(error).__name__}") from None
    except msgspec.DecodeError:
        raise NodeUnreachable(
            f"{url} answered HTTP {response.status_code} without JSON: not a node?"
        ) from None
    if not isinstance(reply, dict) or not ("result" in reply or isinstance(reply.get("error"), dict)):
        raise NodeUnreachable(f"{url} answered JSON that is not JSON-RPC: not a node?")
    if "error" in reply:
        raise CallRefused(method, reply["error"])
    return reply["result"]
