"""How does a program subscribe to the State Chain? By JSON-RPC subscriptions over a WebSocket, under trio.

HTTP has no subscriptions (`cf_subscribe_scheduled_swaps`, `chain_subscribeFinalizedHeads`, …). Unread
messages wait in the connection, so a slow reader slows the node's sending until the node disconnects it;
nothing is buffered here without limit.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from cfnode.sdk.credentials import Credentials, given_token
from cfnode.sdk.errors import BadAnswer, BadStatus, TimedOut, TransportError, Unreachable, rpc_error
from cfnode.sdk.exchange import ACCESS_ADVICE, origin_of

if TYPE_CHECKING:
    from trio_websocket import WebSocketConnection

__all__ = ["sole", "subscription"]

MAX_MESSAGE = 16 * 1024 * 1024
_ID = "subscription"


@asynccontextmanager
async def subscription(
    url: str,
    method: str,
    params: Sequence[Any] = (),
    *,
    seconds: float = 30.0,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
) -> AsyncIterator[AsyncIterator[Any]]:
    """An iterator over the results of a subscription, which ends with the block.

    `url` is the node's (http or ws); `seconds` limits connecting and subscribing; `token`, or the token in
    `token_file`, is the bearer token that the node requires. Raises RpcCallError if the node refuses,
    TransportError if the connection fails, ValidationError for a malformed token.
    """
    import trio
    from trio_websocket import ConnectionClosed, ConnectionRejected, HandshakeError, open_websocket_url

    headers = _headers(url, given_token("token", token, token_file))
    address = url.replace("http://", "ws://", 1).replace("https://", "wss://", 1)
    scope = trio.CancelScope(deadline=trio.current_time() + seconds)
    connected = False
    try:
        with scope:
            async with open_websocket_url(
                address, max_message_size=MAX_MESSAGE, extra_headers=headers
            ) as connection:
                identity = await _agreed(connection, method, params, url)
                connected, scope.deadline = True, float("inf")
                yield _results(connection, identity, url)
    except ConnectionRejected as error:
        raise _rejected(url, error.status_code) from error
    except (HandshakeError, ConnectionClosed) as error:
        raise _broken(url, error) from error
    except OSError as error:
        if connected:  # an error of the caller's block
            raise
        raise _broken(url, error) from error
    except BaseExceptionGroup as group:
        raise sole(group) from group
    if scope.cancelled_caught and not connected:
        text = f"no subscription within {seconds:g} s ({origin_of(url)})"
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
        text = f"a message is not a JSON-RPC object ({origin_of(url)})"
        raise BadAnswer(text, url=origin_of(url), sent=True, retryable=False)
    return found


def _headers(url: str, token: str | None) -> list[tuple[bytes, bytes]]:
    given = Credentials({} if token is None else {url: token})
    return [(name.encode(), value.encode()) for name, value in given.headers(url)]


def _rejected(url: str, status: int) -> TransportError:
    """The error for an HTTP status in place of a WebSocket."""
    text = f"no WebSocket: HTTP error: {status}{ACCESS_ADVICE.get(status, '')} ({origin_of(url)})"
    if status in ACCESS_ADVICE:
        return BadStatus(text, url=origin_of(url), status=status, sent=True, retryable=False)
    return Unreachable(text, url=origin_of(url), sent=True, retryable=True)


def _broken(url: str, error: BaseException) -> TransportError:
    text = f"the connection broke: {type(error).__name__} ({origin_of(url)})"
    return Unreachable(text, url=origin_of(url), sent=True, retryable=True)


def sole(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The only error of a group; the group itself if it has several."""
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup) and len(found.exceptions) == 1:
        found = found.exceptions[0]
    return found
