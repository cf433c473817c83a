"""How does a message become an answer? Find its row, check access, convert, call, encode.

One dispatcher serves all connections. A Client has what differs between them: subscriptions, rate limit, and
which groups of methods are closed to it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from types import CoroutineType, MappingProxyType
from typing import Any, Protocol, TypedDict

import trio

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import LARGE, Batch, Call, ErrorCode, Incoming, InvalidParams, Refused, RpcError
from cfnode.node.config import RpcConfig
from cfnode.node.readiness import Impediment
from cfnode.rpc.connection_state import ConnectionState
from cfnode.rpc.errors import explain
from cfnode.rpc.memory_budget import MemoryBudget
from cfnode.rpc.pins import Pins
from cfnode.rpc.reply import NOTHING, Reply, TooLargeError, batch, success
from cfnode.rpc.runtime_names import read_with_runtime
from cfnode.rpc.serde import Misread, located
from cfnode.rpc.serde_members import arguments_of
from cfnode.rpc.table import Access, AnyRow, Method, Row, Subscription, Table, Unsubscribe
from cfnode.rpc.turns import take_turn

log = logging.getLogger("cfnode.rpc")

METHOD_NOT_FOUND = RpcError(ErrorCode.METHOD_NOT_FOUND, "Method not found")
UNSAFE = RpcError(ErrorCode.METHOD_NOT_FOUND, "RPC call is unsafe to be called externally")
NO_SUBSCRIPTIONS = RpcError(ErrorCode.INTERNAL_ERROR, "Internal error")
"""The answer over HTTP to a method that subscribes or unsubscribes; its parameters are not read."""
SYNCING_TEXT = (
    "The node is syncing ({}): nothing is signed or submitted until system_health says isSyncing false; "
    "try again then"
)


class Health(TypedDict):
    """The answer of system_health."""

    peers: int
    isSyncing: bool
    shouldHavePeers: bool


class ServedNode(Protocol):
    """The part of a node that the server itself uses; handlers use more."""

    def health(self) -> Health:
        """Peers and sync status."""

    @property
    def impediments(self) -> list[Impediment]:
        """Why the node is not ready; empty when it is ready."""

    @property
    def syncing(self) -> str | None:
        """The phase of syncing; None when the node has caught up with the chain."""


@dataclass
class Client:
    """One connection, as far as calls depend on it."""

    address: str = ""
    protocol: str = "http"
    closed: Mapping[Access, str] = field(default_factory=dict)
    """The groups of methods that refuse its calls, with the reason ("" without one)."""
    subscribe: Callable[[Subscription, list[Any]], Awaitable[str]] | None = None
    """Opens a subscription and returns its id; None where the transport has no subscriptions (HTTP)."""
    unsubscribe: Callable[[str], bool] | None = None
    throttle: Callable[[], Awaitable[bool]] | None = None
    """Waits until the rate limit allows one more call, and says whether it waited; None without a limit."""
    memory: MemoryBudget | None = None
    """The memory held for the connection."""
    connection: ConnectionState | None = None
    """The state between calls; None where each call is on its own (HTTP)."""


class Replies:
    """The answers to a batch, in the order of arrival. `max_bytes`: their maximum total size."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._size = 0
        self._replies: dict[int, Reply] = {}

    def put(self, place: int, reply: Reply) -> None:
        """Add the answer to the entry at `place`; it is empty for a notification."""
        self._size += reply.size + 1
        if reply and not self.are_too_big:
            self._replies[place] = reply

    @property
    def are_too_big(self) -> bool:
        """Whether the answers exceed `max_bytes`."""
        return self._size > self._max_bytes

    @property
    def together(self) -> Reply:
        """The reply to the batch: the answers in the order of the entries, or one error for all."""
        if self.are_too_big:
            code = ErrorCode.BATCH_RESPONSE_TOO_BIG
            return _refusal(code, "The batch response was too large", self._max_bytes)
        return batch(self._replies[place] for place in sorted(self._replies))


class Observer(Protocol):
    """An observer that counts calls and connections; `protocol` is `http` or `ws`."""

    def rpc_call_started(self, protocol: str, method: str) -> None:
        """Called when a call of a known method starts."""

    def rpc_call_finished(
        self, protocol: str, method: str, seconds: float, *, is_error: bool, is_rate_limited: bool
    ) -> None:
        """Called when it has been answered."""

    def rpc_session_opened(self) -> None:
        """Called when a WebSocket connection opens."""

    def rpc_session_closed(self) -> None:
        """Called when it has closed."""

    def watch_exposure(self, is_exposed: Callable[[], bool]) -> None:
        """Called once with a function: whether strangers may use the broker's methods."""


class Dispatcher:
    """Answers messages for one node. `absent`: by method name, why this node lacks a method that others have
    (the error's `data`).
    """

    def __init__(
        self,
        node: ServedNode,
        table: Table,
        config: RpcConfig,
        *,
        absent: Mapping[str, str] = MappingProxyType({}),
        observer: Observer | None = None,
    ) -> None:
        self.node = node
        self.observer = observer
        self.pins = Pins()
        self._table = table
        self._rows = table.by_name
        self._absent = absent
        self._config = config

    @property
    def has_broker(self) -> bool:
        """Whether there are methods that spend the broker's funds."""
        return any(row.access is Access.BROKER for row in self._table.rows)

    async def parse(self, incoming: Incoming) -> Call | Batch | Refused:
        """Read one message within the limits of this server. Other clients get a turn before and after a
        large message.
        """
        if incoming.size < LARGE:
            return incoming.parse(self._config.max_batch)
        await take_turn()
        message = incoming.parse(self._config.max_batch)
        await trio.lowlevel.checkpoint()
        return message

    def is_quick(self, message: Call | Batch | Refused) -> bool:
        """Whether the answer needs no waiting: the session then answers before it reads the next message."""
        if type(message) is Call:
            row = self._rows.get(message.method)
            return (type(row) is Method and not row.is_async) or type(row) is Unsubscribe
        return type(message) is Refused

    def awaits_block(self, message: Call | Batch | Refused) -> bool:
        """Whether the message only waits for a block: many of these may run concurrently."""
        if type(message) is Batch:
            return all(map(self.awaits_block, message.entries))
        row = self._rows.get(message.method) if type(message) is Call else None
        return type(row) is Method and row.awaits_block

    async def answer(self, message: Call | Batch | Refused, client: Client) -> Reply:
        """The answer as JSON text; empty for a notification."""
        if type(message) is Call:
            return await self._answer_call(message, client)
        if type(message) is Batch:
            return await self._answer_batch(message, client)
        assert isinstance(message, Refused)
        return _failure(message.id, message.error)

    async def _answer_batch(self, entries: Batch, client: Client) -> Reply:
        replies = Replies(self._config.max_response_size)
        holding = nullcontext(_hold_nothing) if client.memory is None else client.memory.holding()
        with holding as hold:
            return await self._answer_entries(entries, client, replies, hold)

    async def _answer_entries(
        self, entries: Batch, client: Client, replies: Replies, hold: Callable[[int], None]
    ) -> Reply:
        async with trio.open_nursery() as waiting:
            for place, entry in enumerate(entries.entries):
                if self.awaits_block(entry):
                    waiting.start_soon(self._answer_entry, entry, client, replies, place, hold)
                else:
                    if place:  # entries may be many and need no waiting
                        await take_turn()
                    await self._answer_entry(entry, client, replies, place, hold)
                if replies.are_too_big:
                    waiting.cancel_scope.cancel()
                    break
        return replies.together

    async def _answer_entry(
        self, entry: Call | Refused, client: Client, replies: Replies, place: int, hold: Callable[[int], None]
    ) -> None:
        reply = await self.answer(entry, client)
        hold(reply.size)  # it waits for the other answers
        replies.put(place, reply)

    async def _answer_call(self, call: Call, client: Client) -> Reply:
        limited = client.throttle is not None and await client.throttle()
        row, observer = self._rows.get(call.method), self.observer
        if row is None or observer is None:
            return (await self._reply(row, call, client))[0]
        observer.rpc_call_started(client.protocol, row.name)
        started = perf_counter()
        reply, is_error = await self._reply(row, call, client)
        seconds = perf_counter() - started
        observer.rpc_call_finished(
            client.protocol, row.name, seconds, is_error=is_error, is_rate_limited=limited
        )
        return reply

    async def _reply(self, row: AnyRow | None, call: Call, client: Client) -> tuple[Reply, bool]:
        """The answer, empty for a notification, and whether it is an error."""
        identity = call.reply_id
        try:
            result = await self._result(row, call, client)
            return success(identity, result, self._config.max_response_size), False
        except TooLargeError:
            return _failure(identity, _too_big(self._config.max_response_size)), True
        except RpcError as error:
            return _failure(identity, error), True
        # The only catch-all: an unforeseen exception of a handler costs its own call and a log line, no more.
        except Exception as error:
            return _failure(identity, explain(error, call.method)), True

    async def _result(self, row: AnyRow | None, call: Call, client: Client) -> Any:
        if type(row) is Method:
            arguments = await self._checked(row, call, client)
            state = (client.connection,) if row.takes_connection else ()
            result = row.handler(self.node, *state, *arguments)
            return await result if row.is_async or type(result) is CoroutineType else result
        if type(row) is Subscription:
            return await self._subscribe(row, call, client)
        if type(row) is Unsubscribe:
            return _unsubscribe(call, client)
        if (reason := self._absent.get(call.method)) is not None:
            raise RpcError(METHOD_NOT_FOUND.code, METHOD_NOT_FOUND.message, reason)
        raise METHOD_NOT_FOUND

    async def _subscribe(self, row: Subscription, call: Call, client: Client) -> str:
        if client.subscribe is None:
            raise NO_SUBSCRIPTIONS
        return await client.subscribe(row, await self._checked(row, call, client))

    async def _checked(self, row: Row, call: Call, client: Client) -> list[Any]:
        _check_access(row.access, client)
        arguments = await self._bound(row, call)
        if row.unsafe_if is not None and row.unsafe_if(arguments):
            _check_access(Access.UNSAFE, client)
        if row.submits and (phase := self.node.syncing) is not None:
            raise RpcError(ErrorCode.CALL_FAILED, SYNCING_TEXT.format(phase))
        return arguments

    async def _bound(self, row: Row, call: Call) -> list[Any]:
        """The handler's arguments; other clients get a turn between the steps of reading a large call."""
        if not row.params:
            return []
        if not call.is_large:
            return await self._read(row, call, arguments_of(call))
        await take_turn()
        given = call.arguments()
        await take_turn()
        arguments = await self._read(row, call, given)
        await trio.lowlevel.checkpoint()
        return arguments

    async def _read(self, row: Row, call: Call, given: list[Any] | dict[str, Any]) -> list[Any]:
        return await read_with_runtime(self.node, row, given, lambda: _read(row, call, given))


def _check_access(access: Access, client: Client) -> None:
    """Raises RpcError if the methods are closed to the client."""
    if (reason := client.closed.get(access)) is not None:
        raise RpcError(UNSAFE.code, UNSAFE.message, reason or None)


def read_arguments(row: Row, call: Call) -> list[Any]:
    """The arguments of a row's handler. Raises InvalidParams."""
    return _read(row, call, arguments_of(call))


def _read(row: Row, call: Call, given: list[Any] | dict[str, Any]) -> list[Any]:
    """Raises InvalidParams with the official node's text, line and column."""
    try:
        return row.bind(given)
    except Misread as error:
        raise InvalidParams(located(error, bytes(call.params))) from None


def _hold_nothing(size: int) -> None:
    """For a client without a memory budget."""


def _unsubscribe(call: Call, client: Client) -> bool:
    if client.unsubscribe is None:
        raise NO_SUBSCRIPTIONS
    arguments = call.arguments()
    values = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not values or not isinstance(values[0], str):
        return False
    return client.unsubscribe(values[0])


def _limit_text(limit: int | None) -> str | None:
    return None if limit is None else f"Exceeded max limit of {limit}"


def _failure(identity: bytes, error: RpcError) -> Reply:
    """An error reply; empty if the client sent no id."""
    return Reply(jsonrpc.failure(identity, error)) if identity else NOTHING


def _refusal(code: ErrorCode, message: str, limit: int | None = None) -> Reply:
    return _failure(jsonrpc.NULL, RpcError(code, message, _limit_text(limit)))


def _too_big(limit: int) -> RpcError:
    return RpcError(ErrorCode.RESPONSE_TOO_BIG, "Response is too big", _limit_text(limit))
