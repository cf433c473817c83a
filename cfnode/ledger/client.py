"""JSON-RPC client of the ledger over one WebSocket: batches of calls, and a subscription to heads.

What the node sends is bounded before it is parsed (`clients/websocket.py`, `core/foreign.py`). A message that
is malformed, or an answer that does not come in time, ends the connection with a NodeError.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio

from cfnode.clients.websocket import Broken, MessageTooLarge, NotConnected, Rejected, Socket, opened
from cfnode.core.bearer_token import authorization
from cfnode.core.foreign import ForeignError, block_number
from cfnode.core.jsonrpc import RpcError
from cfnode.core.jsonrpc_client import Call, RequestRefused, outcomes, request, with_data
from cfnode.core.messages import origin_of
from cfnode.flow.wakeup import Wakeup
from cfnode.ledger.errors import AccessRefused, CallError, NodeError, TooLarge

__all__ = ["Call", "NodeClient", "connected", "origin_of"]

ANSWER_S = 60.0
"""Seconds for one answer."""
CONNECT_S = 15.0
_TOO_LARGE = -32008
"""JSON-RPC code of Substrate's server: the answer is larger than its limit."""

ACCESS_ADVICE = {
    401: "answers only with a known bearer token: give it by --token-file FILE, or set CFNODE_TOKEN",
    403: "refuses this client (HTTP 403): a node answers to the names of its --rpc-allowed-hosts",
}
"""What to do about a status of a node's access rules."""


class NodeClient:
    """One connection. `batch` asks; `head` is the number of the newest finalized block that was announced."""

    def __init__(self, socket: Socket, url: str) -> None:
        self.origin = origin_of(url)
        self._socket = socket
        self._next = 0
        self._waiting: dict[int, tuple[trio.Event, list[Any]]] = {}
        self._head: int | None = None
        self._moved = Wakeup()

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
        requests = [request(first + place, method, params) for place, (method, params) in enumerate(calls)]
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

    async def _send(self, document: Any) -> None:
        try:
            await self._socket.send(document)
        except Broken as error:
            raise _ended(error, self.origin) from None

    async def read(self) -> None:
        """Sort what arrives, until the connection ends; raises NodeError."""
        while True:
            try:
                self._receive(await self._socket.receive())
            except Broken as error:
                raise _ended(error, self.origin) from None
            except ForeignError as error:
                raise NodeError(f"{self.origin} sent a message that {error}: is it a node?") from None

    def _receive(self, found: Any) -> None:
        """A batch's answers, an error for all of it, or a notification; anything else is ignored."""
        if isinstance(found, dict) and isinstance(found.get("params"), dict):
            self._announce(found["params"].get("result"))
            return
        answers = found if isinstance(found, list) else [found]
        identities = [each.get("id") for each in answers if isinstance(each, dict)]
        numbers = [each for each in identities if type(each) is int]
        waiting = self._waiting.get(min(numbers)) if numbers else next(iter(self._waiting.values()), None)
        if waiting is not None and not waiting[0].is_set():  # a second answer to the same calls is ignored
            waiting[1].extend(answers)
            waiting[0].set()

    def _announce(self, header: Any) -> None:
        try:
            self._head = block_number(header)
        except ForeignError:
            return
        self._moved.notify()


@asynccontextmanager
async def connected(url: str, token: str | None = None) -> AsyncIterator[NodeClient]:
    """A connection to the node at an http(s) or ws(s) address. Raises AccessRefused, and NodeError, also when
    it breaks."""
    headers = [] if token is None else [(b"authorization", authorization(token).encode())]
    origin = origin_of(url)
    try:
        async with opened(url, CONNECT_S, headers) as socket, trio.open_nursery() as nursery:
            client = NodeClient(socket, url)
            nursery.start_soon(client.read)
            yield client
            nursery.cancel_scope.cancel()
    except Rejected as error:
        if error.status in ACCESS_ADVICE:
            raise AccessRefused(f"{origin} {ACCESS_ADVICE[error.status]}") from None
        raise NodeError(f"no connection to {origin}: {error}") from None
    except NotConnected as error:
        raise NodeError(f"no connection to {origin}: {error}") from None
    except Broken as error:
        raise _ended(error, origin) from None
    except BaseExceptionGroup as group:
        raise _first(group) from None


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


def _ended(error: Broken, origin: str) -> NodeError:
    kind = TooLarge if isinstance(error, MessageTooLarge) else NodeError
    return kind(f"the connection to {origin} ended: {error}")


def _sorted(answers: list[Any], calls: Sequence[Call], first: int, origin: str) -> list[Any]:
    """The answers in the order of their calls."""
    try:
        found = outcomes(answers, range(first, first + len(calls)))
    except RequestRefused as error:
        refused = _refused(calls[0][0], error, origin)
        raise refused if isinstance(refused, TooLarge) else NodeError(f"{origin}: {refused}") from None
    except ForeignError as error:
        raise NodeError(f"{origin} sent a message that {error}: is it a node?") from None
    return [_outcome(method, each, origin) for (method, _), each in zip(calls, found, strict=True)]


def _outcome(method: str, outcome: Any, origin: str) -> Any:
    """A result as it is, or the CallError. Raises TooLarge."""
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
