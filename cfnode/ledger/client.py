"""How does the ledger talk to a node? JSON-RPC over one WebSocket: batches, and a subscription to heads.

What the node sends is bounded before it is parsed: a message has at most `MAX_MESSAGE` bytes. A message that
is malformed, or an answer that does not come in time, ends the connection with a NodeError.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
import trio

from cfnode.core.bearer_token import authorization
from cfnode.ledger.errors import AccessRefused, CallError, NodeError, TooLarge

if TYPE_CHECKING:
    from trio_websocket import WebSocketConnection

__all__ = ["Call", "NodeClient", "connected", "origin_of"]

MAX_MESSAGE = 32 * 1024 * 1024
LARGE = 64 * 1024
"""Bytes from which a message is parsed in a thread."""
ANSWER_S = 60.0
"""Seconds for one answer."""
CONNECT_S = 15.0
MAX_TEXT = 300
"""Characters of a node's error text that are repeated."""
_TOO_LARGE = -32008
"""JSON-RPC code of Substrate's server: the answer is larger than its limit."""

Call = tuple[str, Sequence[Any]]
"""Method and parameters."""

ACCESS_ADVICE = {
    401: "answers only with a known bearer token: give it by --token-file FILE, or set CFNODE_TOKEN",
    403: "refuses this client (HTTP 403): a node answers to the names of its --rpc-allowed-hosts",
}
"""What to do about a status of a node's access rules."""


def origin_of(url: str) -> str:
    """Scheme, host and port: an address may hold a password, which no text repeats."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")


class NodeClient:
    """One connection. `batch` asks; `head` is the number of the newest finalized block that was announced."""

    def __init__(self, connection: WebSocketConnection, url: str) -> None:
        self.origin = origin_of(url)
        self._connection = connection
        self._next = 0
        self._waiting: dict[int, tuple[trio.Event, list[Any]]] = {}
        self._head: int | None = None
        self._moved = trio.Event()

    async def call(self, method: str, *params: Any) -> Any:
        """The result of one call; raises CallError or NodeError."""
        (answer,) = await self.batch([(method, params)])
        if isinstance(answer, CallError):
            raise answer
        return answer

    async def batch(self, calls: Sequence[Call]) -> list[Any]:
        """The result, or the CallError, of each call, in one message. Raises NodeError."""
        first = self._next
        self._next += len(calls)
        requests = [
            {"jsonrpc": "2.0", "id": first + place, "method": method, "params": list(params)}
            for place, (method, params) in enumerate(calls)
        ]
        arrived, slot = self._waiting[first] = (trio.Event(), [])
        try:
            with trio.move_on_after(ANSWER_S) as scope:
                await self._send(requests)
                await arrived.wait()
        finally:
            del self._waiting[first]
        if scope.cancelled_caught:
            raise NodeError(f"no answer from {self.origin} within {ANSWER_S:g} s")
        return _sorted(slot, calls, first, self.origin)

    async def subscribe(self) -> None:
        """Ask for finalized heads, which `wait_for_head` reports."""
        await self.call("chain_subscribeFinalizedHeads")

    async def wait_for_head(self, above: int) -> int:
        """The newest announced finalized block, once it is above a number."""
        while self._head is None or self._head <= above:
            await self._moved.wait()
        return self._head

    async def _send(self, message: Any) -> None:
        from trio_websocket import ConnectionClosed

        try:
            await self._connection.send_message(msgspec.json.encode(message).decode())
        except ConnectionClosed as error:
            raise _closed(error, self.origin) from None

    async def read(self) -> None:
        """Sort what arrives, until the connection ends; raises NodeError."""
        from trio_websocket import ConnectionClosed

        while True:
            try:
                message = await self._connection.get_message()
            except ConnectionClosed as error:
                raise _closed(error, self.origin) from None
            self._receive(await _parsed(message, self.origin))

    def _receive(self, found: Any) -> None:
        """A batch's answers, an error for all of it, or a notification; anything else is ignored."""
        if isinstance(found, dict) and isinstance(found.get("params"), dict):
            self._announce(found["params"].get("result"))
            return
        answers = found if isinstance(found, list) else [found]
        identities = [each.get("id") for each in answers if isinstance(each, dict)]
        numbers = [each for each in identities if type(each) is int]
        waiting = self._waiting.get(min(numbers)) if numbers else next(iter(self._waiting.values()), None)
        if waiting is not None:
            waiting[1].extend(answers)
            waiting[0].set()

    def _announce(self, header: Any) -> None:
        number = header.get("number") if isinstance(header, dict) else None
        if not isinstance(number, str) or len(number) > 18:
            return
        try:
            self._head = int(number, 16)
        except ValueError:
            return
        self._moved.set()
        self._moved = trio.Event()


@asynccontextmanager
async def connected(url: str, token: str | None = None) -> AsyncIterator[NodeClient]:
    """A connection to the node at an http(s) or ws(s) address. Raises AccessRefused, and NodeError, also when
    it breaks."""
    from trio_websocket import ConnectionRejected, HandshakeError, open_websocket_url

    address = "ws" + url.removeprefix("ws").removeprefix("http")
    headers = [] if token is None else [(b"authorization", authorization(token).encode())]
    scope = trio.CancelScope(deadline=trio.current_time() + CONNECT_S)
    is_open = False
    try:
        with scope:
            async with (
                open_websocket_url(
                    address, max_message_size=MAX_MESSAGE, extra_headers=headers
                ) as connection,
                trio.open_nursery() as nursery,
            ):
                is_open, scope.deadline = True, math.inf
                client = NodeClient(connection, url)
                nursery.start_soon(client.read)
                yield client
                nursery.cancel_scope.cancel()
    except (HandshakeError, OSError) as error:
        if is_open:
            raise
        status = error.status_code if isinstance(error, ConnectionRejected) else None
        if status in ACCESS_ADVICE:
            raise AccessRefused(f"{origin_of(url)} {ACCESS_ADVICE[status]}") from None
        reason = f"HTTP {status}" if status is not None else error or type(error).__name__
        raise NodeError(f"no connection to {origin_of(url)}: {reason}") from None
    except BaseExceptionGroup as group:
        raise _first(group) from None
    if scope.cancelled_caught and not is_open:
        raise NodeError(f"no connection to {origin_of(url)} within {CONNECT_S:g} s")


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that ended a connection; of several, the one that is not the node's."""
    found: list[BaseException] = []
    rest: list[BaseException] = [group]
    while rest:
        each = rest.pop(0)
        if isinstance(each, BaseExceptionGroup):
            rest += each.exceptions
        else:
            found.append(each)
    return min(found, key=lambda each: isinstance(each, trio.Cancelled | NodeError))


def _closed(error: Any, origin: str) -> NodeError:
    reason = getattr(error, "reason", None)
    code = getattr(reason, "code", None)
    if code == 1009:
        return TooLarge(f"{origin} sent a message of more than {MAX_MESSAGE} bytes")
    return NodeError(f"{origin} closed the connection" + (f" ({code})" if code else ""))


async def _parsed(message: str | bytes, origin: str) -> Any:
    try:
        if len(message) < LARGE:
            return msgspec.json.decode(message)
        return await trio.to_thread.run_sync(msgspec.json.decode, message)
    except (msgspec.DecodeError, RecursionError):
        raise NodeError(f"{origin} sent a message that is not JSON: is it a node?") from None


def _sorted(answers: list[Any], calls: Sequence[Call], first: int, origin: str) -> list[Any]:
    """The answers in the order of their calls."""
    found: dict[int, Any] = {}
    for answer in answers:
        if not isinstance(answer, dict):
            raise NodeError(f"{origin} sent an answer that is not JSON-RPC: is it a node?")
        place = answer.get("id")
        if type(place) is int:
            found[place - first] = answer
        elif isinstance(error := answer.get("error"), dict):  # an error for the whole batch
            refused = _refused(calls[0][0], error, origin)
            raise refused if isinstance(refused, TooLarge) else NodeError(f"{origin}: {refused}")
    if len(found) != len(calls) or sorted(found) != list(range(len(calls))):
        raise NodeError(f"{origin} sent {len(found)} answers to {len(calls)} calls")
    return [_outcome(calls[place][0], found[place], origin) for place in range(len(calls))]


def _outcome(method: str, answer: dict[str, Any], origin: str) -> Any:
    error = answer.get("error")
    if error is None:
        return answer.get("result")
    if not isinstance(error, dict):
        raise NodeError(f"{origin} sent an error that is not JSON-RPC: is it a node?")
    refused = _refused(method, error, origin)
    if isinstance(refused, TooLarge):
        raise refused
    return refused


def _refused(method: str, error: dict[str, Any], origin: str) -> CallError | TooLarge:
    code = error.get("code")
    data = error.get("data")
    text = f"{error.get('message')}" + (f" ({data})" if isinstance(data, str) else "")
    if code == _TOO_LARGE:
        return TooLarge(f"{origin}: {text[:MAX_TEXT]}")
    return CallError(method, code if type(code) is int else 0, text[:MAX_TEXT])
