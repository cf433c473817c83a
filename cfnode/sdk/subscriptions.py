"""JSON-RPC subscriptions to a State Chain node over a WebSocket, under trio and asyncio.

HTTP has no subscriptions (`cf_subscribe_scheduled_swaps`, `chain_subscribeFinalizedHeads`, …). Unread
messages wait in the connection, so a slow reader slows the node's sending until the node disconnects it; this
module buffers no message.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from cfnode.core.foreign import ForeignError
from cfnode.core.jsonrpc import RpcError
from cfnode.core.jsonrpc_client import Answered, Conversation, Notified, RequestRefused
from cfnode.core.safe_text import origin_of
from cfnode.sdk.credentials import Credentials, given_token
from cfnode.sdk.errors import BadAnswer, BadStatus, TimedOut, TransportError, Unreachable, rpc_error
from cfnode.sdk.exchange import access_advice

if TYPE_CHECKING:
    from cfnode.clients.websocket import Socket

__all__ = ["sole", "subscription"]


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
    """Open a subscription; yield an iterator over its results, which ends with the block.

    `url` is the node's (http or ws); `seconds` limits connecting and subscribing; `token`, or the token in
    `token_file`, is the bearer token that the node requires. Raises RpcCallError if the node refuses,
    TransportError if the connection fails, ValidationError for a malformed token.
    """
    import anyio

    from cfnode.clients.websocket import NotConnected, Rejected, SocketError, opened

    headers = _headers(url, given_token("token", token, token_file))
    scope = anyio.CancelScope(deadline=anyio.current_time() + seconds)
    connected = False
    try:
        with scope:
            async with opened(url, seconds, headers) as socket:
                results = await _agreed(socket, method, params, url)
                connected, scope.deadline = True, float("inf")
                yield results
    except Rejected as error:
        raise _rejected(url, error.status) from error
    except NotConnected as error:
        raise _broken(url, f"no connection: {error}") from error
    except SocketError as error:
        raise _broken(url, f"the connection broke: {error}") from error
    except BaseExceptionGroup as group:
        raise sole(group) from group
    if scope.cancelled_caught and not connected:
        text = f"no subscription within {seconds:g} s ({origin_of(url)})"
        raise TimedOut(text, url=origin_of(url), sent=True, retryable=True)


async def _agreed(socket: Socket, method: str, params: Sequence[Any], url: str) -> _Results:
    results = _Results(socket, url)
    asked = results.conversation.ask([(method, params)])
    await socket.send(asked.requests[0])
    while not isinstance(message := await results.receive(), Answered):
        pass
    try:
        (outcome,) = message.outcomes()
    except RequestRefused as error:
        outcome = error
    except ForeignError as error:
        raise _bad(f"the answer {error}", url) from None
    if isinstance(outcome, RpcError):
        raise rpc_error(outcome.code, outcome.message, outcome.data)
    results.identity = outcome
    return results


class _Results:
    """Iterator over the results of a subscription, which goes on after a cancelled step."""

    identity: Any = None

    def __init__(self, socket: Socket, url: str) -> None:
        self._socket, self._url = socket, url
        self.conversation = Conversation()

    def __aiter__(self) -> _Results:
        return self

    async def __anext__(self) -> Any:
        while True:
            message = await self.receive()
            if isinstance(message, Notified) and message.subscription == self.identity:
                return message.result

    async def receive(self) -> Answered | Notified | None:
        """Return what the next message means. Raises BadAnswer, SocketError."""
        try:
            return self.conversation.receive(await self._socket.receive())
        except ForeignError as error:
            raise _bad(f"a message {error}", self._url) from None


def _bad(text: str, url: str) -> BadAnswer:
    return BadAnswer(f"{text} ({origin_of(url)})", url=origin_of(url), sent=True, retryable=False)


def _headers(url: str, token: str | None) -> list[tuple[bytes, bytes]]:
    credentials = Credentials({} if token is None else {url: token})
    return [(name.encode(), value.encode()) for name, value in credentials.headers(url)]


def _rejected(url: str, status: int) -> TransportError:
    """Return the error for an HTTP status in place of a WebSocket."""
    advice = access_advice(status)
    text = f"no WebSocket: HTTP error: {status}{advice} ({origin_of(url)})"
    if advice:
        return BadStatus(text, url=origin_of(url), status=status, sent=True, retryable=False)
    return Unreachable(text, url=origin_of(url), sent=True, retryable=True)


def _broken(url: str, reason: str) -> TransportError:
    return Unreachable(f"{reason} ({origin_of(url)})", url=origin_of(url), sent=True, retryable=True)


def sole(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the only error of a group; the group itself if it has several."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
