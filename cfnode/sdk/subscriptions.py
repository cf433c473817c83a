"""What does the State Chain tell by itself? JSON-RPC subscriptions over a WebSocket, under trio.

Subscriptions are the one thing that HTTP cannot carry (`cf_subscribe_scheduled_swaps`,
`chain_subscribeFinalizedHeads`, …). A message that nobody takes waits in the connection, so a slow reader
slows the node's sending and is dropped by it in the end; nothing is buffered here without bound.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from cfnode.sdk.errors import BadAnswer, TimedOut, TransportError, Unreachable, rpc_error
from cfnode.sdk.exchange import origin_of

if TYPE_CHECKING:
    from trio_websocket import WebSocketConnection

__all__ = ["subscription"]

MAX_MESSAGE = 16 * 1024 * 1024
_ID = "subscription"


@asynccontextmanager
async def subscription(
    url: str, method: str, params: Sequence[Any] = (), *, seconds: float = 30.0
) -> AsyncIterator[AsyncIterator[Any]]:
    """The results that a subscription sends, to be iterated; leaving the block ends it.

    `url` is the node's (http and ws alike), `seconds` are for connecting and the node's agreement.
    Raises RpcCallError where the node refuses, TransportError where the connection fails.
    """
    import trio
    from trio_websocket import ConnectionClosed, HandshakeError, open_websocket_url

    address = url.replace("http://", "ws://", 1).replace("https://", "wss://", 1)
    scope = trio.CancelScope(deadline=trio.current_time() + seconds)
    connected = False
    try:
        with scope:
            async with open_websocket_url(address, max_message_size=MAX_MESSAGE) as connection:
                identity = await _agreed(connection, method, params, url)
                connected, scope.deadline = True, float("inf")
                yield _results(connection, identity, url)
    except (HandshakeError, ConnectionClosed) as error:
        raise _broken(url, error) from error
    except OSError as error:
        if connected:  # the caller's own
            raise
        raise _broken(url, error) from error
    except BaseExceptionGroup as group:
        raise _sole(group) from group
    if scope.cancelled_caught and not connected:
        text = f"no agreement within {seconds:g} s ({origin_of(url)})"
        raise TimedOut(text, url=origin_of(url), sent=True, retryable=True)


async def _agreed(connection: WebSocketConnection, method: str, params: Sequence[Any], url: str) -> Any:
    request = {"jsonrpc": "2.0", "id": _ID, "method": method, "params": list(params)}
    await connection.send_message(json.dumps(request))
    while True:
        message = _read(await connection.get_message(), url)
        if message.get("id") == _ID:
            break
    if isinstance(error := message.get("error"), dict):
        code = error.get("code")
        raise rpc_error(code if isinstance(code, int) else 0, str(error.get("message")), error.get("data"))
    return message.get("result")


async def _results(connection: WebSocketConnection, identity: Any, url: str) -> AsyncIterator[Any]:
    while True:
        params = _read(await connection.get_message(), url).get("params")
        if isinstance(params, dict) and params.get("subscription") == identity:
            yield params.get("result")


def _read(message: str | bytes, url: str) -> dict[str, Any]:
    try:
        found = json.loads(message)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        text = f"a message that is no JSON-RPC object ({origin_of(url)})"
        raise BadAnswer(text, url=origin_of(url), sent=True, retryable=False)
    return found


def _broken(url: str, error: BaseException) -> TransportError:
    text = f"the connection broke: {type(error).__name__} ({origin_of(url)})"
    return Unreachable(text, url=origin_of(url), sent=True, retryable=True)


def _sole(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error of a group, as a caller expects it; the group where there are several."""
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup) and len(found.exceptions) == 1:
        found = found.exceptions[0]
    return found
