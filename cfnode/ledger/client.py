"""JSON-RPC client of the ledger over one WebSocket: batches of calls, and a subscription to heads.

Messages of the node are bounded before they are parsed (`clients/websocket.py`, `core/foreign.py`). A
malformed message ends the connection with a NodeError; a late answer ends the call with one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio

from cfnode.clients.websocket import Broken, NotConnected, Rejected, Socket, SocketMessageTooLarge, opened
from cfnode.core.access_refusals import TOKEN_OF_COMMAND, access_refusal
from cfnode.core.bearer_token import authorization
from cfnode.core.foreign import ForeignError, block_number
from cfnode.core.jsonrpc import RpcError
from cfnode.core.jsonrpc_client import Answered, Conversation, MethodCall, Notified, RequestRefused, with_data
from cfnode.core.safe_text import origin_of
from cfnode.flow.wakeup import Wakeup
from cfnode.ledger.errors import AccessRefused, CallError, NodeAway, NodeError, NodeSlow, TooLarge

__all__ = ["MethodCall", "NodeClient", "connected", "origin_of"]

ANSWER_TIMEOUT_S = 60.0
"""Seconds for one answer."""
NODE_CONNECT_TIMEOUT_S = 15.0
_TOO_LARGE = -32008
"""JSON-RPC code of Substrate's server: the answer is larger than its limit."""


class NodeClient:
    """Connection to a node: `batch` sends calls, and `wait_for_head` waits for announced finalized blocks."""

    def __init__(self, socket: Socket, url: str) -> None:
        self.origin = origin_of(url)
        self._socket = socket
        self._conversation = Conversation()
        self._waiting: dict[range, tuple[trio.Event, list[Answered]]] = {}
        self._head: int | None = None
        self._moved = Wakeup()

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result of one call. Raises CallError, NodeError."""
        (answer,) = await self.batch([(method, params)])
        if isinstance(answer, CallError):
            raise answer
        return answer

    async def batch(self, calls: Sequence[MethodCall]) -> list[Any]:
        """Send calls in one message, and return the result or the CallError of each. Raises NodeError."""
        asked = self._conversation.ask(calls)
        arrived, slot = self._waiting[asked.identities] = (trio.Event(), [])
        try:
            with trio.move_on_after(ANSWER_TIMEOUT_S) as scope:
                await self._send(asked.requests)
                await arrived.wait()
        finally:
            del self._waiting[asked.identities]
            self._conversation.forget(asked)
        if scope.cancelled_caught:
            raise NodeSlow(f"no answer from {self.origin} within {ANSWER_TIMEOUT_S:g} s")
        return _results(slot[0], calls, self.origin)

    async def subscribe(self) -> None:
        """Subscribe to finalized heads, for which `wait_for_head` waits."""
        await self.call("chain_subscribeFinalizedHeads")

    async def wait_for_head(self, above: int) -> int:
        """Return the number of the newest announced finalized block, once it is above a number."""
        while self._head is None or self._head <= above:
            await self._moved.wait()
        return self._head

    async def _send(self, document: Any) -> None:
        try:
            await self._socket.send(document)
        except Broken as error:
            raise _ended(error, self.origin) from None

    async def read(self) -> None:
        """Assign received messages to their calls, until the connection ends. Raises NodeError."""
        while True:
            try:
                self._receive(await self._socket.receive())
            except Broken as error:
                raise _ended(error, self.origin) from None
            except ForeignError as error:
                raise NodeError(
                    f"{self.origin} sent a message that {error}; check that it is a node"
                ) from None

    def _receive(self, message: Any) -> None:
        """Give a batch its answers, or take a head; ignore anything else. Raises ForeignError."""
        match self._conversation.receive(message):
            case Notified(result=header):
                self._announce(header)
            case Answered(identities=identities) as answered:
                arrived, slot = self._waiting[identities]
                slot.append(answered)
                arrived.set()

    def _announce(self, header: Any) -> None:
        try:
            self._head = block_number(header)
        except ForeignError:
            return
        self._moved.notify()


@asynccontextmanager
async def connected(url: str, token: str | None = None) -> AsyncIterator[NodeClient]:
    """Connect to the node at an http(s) or ws(s) address.

    Raises AccessRefused, and NodeError, also when the connection breaks later.
    """
    headers = [] if token is None else [(b"authorization", authorization(token).encode())]
    origin = origin_of(url)
    try:
        async with opened(url, NODE_CONNECT_TIMEOUT_S, headers) as socket, trio.open_nursery() as nursery:
            client = NodeClient(socket, url)
            nursery.start_soon(client.read)
            yield client
            nursery.cancel_scope.cancel()
    except Rejected as error:
        if (refusal := access_refusal(error.status, TOKEN_OF_COMMAND)) is not None:
            raise AccessRefused(f"{origin} {refusal}") from None
        raise NodeAway(f"no connection to {origin}: {error}") from None
    except NotConnected as error:
        raise NodeAway(f"no connection to {origin}: {error}") from None
    except Broken as error:
        raise _ended(error, origin) from None
    except BaseExceptionGroup as group:
        raise _first(group) from None


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error that ended a connection; of several, one that is not the node's."""
    errors: list[BaseException] = []
    pending: list[BaseException] = [group]
    while pending:
        error = pending.pop(0)
        if isinstance(error, BaseExceptionGroup):
            pending += error.exceptions
        else:
            errors.append(error)
    return min(errors, key=lambda error: isinstance(error, trio.Cancelled | NodeError))


def _ended(error: Broken, origin: str) -> NodeError:
    kind = TooLarge if isinstance(error, SocketMessageTooLarge) else NodeAway
    return kind(f"the connection to {origin} ended: {error}")


def _results(answered: Answered, calls: Sequence[MethodCall], origin: str) -> list[Any]:
    """Return the results in the order of their calls. Raises NodeError, TooLarge."""
    try:
        results = answered.outcomes()
    except RequestRefused as error:
        refused = _refused(calls[0][0], error, origin)
        raise refused if isinstance(refused, TooLarge) else NodeError(f"{origin}: {refused}") from None
    except ForeignError as error:
        raise NodeError(f"{origin} sent a message that {error}; check that it is a node") from None
    return [_outcome(method, result, origin) for (method, _), result in zip(calls, results, strict=True)]


def _outcome(method: str, outcome: Any, origin: str) -> Any:
    """Return a result, or the CallError for an RpcError. Raises TooLarge."""
    if not isinstance(outcome, RpcError):
        return outcome
    refused = _refused(method, outcome, origin)
    if isinstance(refused, TooLarge):
        raise refused
    return refused


def _refused(method: str, error: RpcError, origin: str) -> CallError | TooLarge:
    if error.code == _TOO_LARGE:
        return TooLarge(f"{origin}: {with_data(error)}")
    return CallError(method, error.code, with_data(error))
