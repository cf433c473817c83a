"""The dispatcher: it finds the row of a message, checks access, reads parameters, calls and encodes.

One dispatcher serves all connections. An `RpcClient` has what differs between them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from time import perf_counter
from types import CoroutineType, MappingProxyType
from typing import Any

import trio

from cfnode.core.jsonrpc import (
    LARGE,
    ErrorCode,
    Incoming,
    RefusedMessage,
    RpcBatch,
    RpcCall,
    RpcError,
    RpcMessage,
)
from cfnode.core.suggestions import NearNames
from cfnode.flow.turns import take_turn
from cfnode.node.config import RpcConfig
from cfnode.rpc.answering.arguments import read_arguments, read_arguments_in_turns
from cfnode.rpc.answering.client import RpcClient, ServedNode
from cfnode.rpc.answering.failures import Replies, failed, failure
from cfnode.rpc.answering.kept_answers import NOTHING_KEPT, KeptAnswers
from cfnode.rpc.answering.observer import Observer
from cfnode.rpc.answering.reply import success, text_of
from cfnode.rpc.table.pins import Pins
from cfnode.rpc.table.rows import (
    Access,
    AnyRow,
    FixedBy,
    Method,
    Row,
    Subscription,
    Table,
    Unsubscribe,
)
from cfnode.rpc.table.runtime_names import RuntimeNeeded, using_names
from cfnode.serving.reply import Part, Reply

log = logging.getLogger("cfnode.rpc")

METHOD_NOT_FOUND = RpcError(ErrorCode.METHOD_NOT_FOUND, "Method not found")
UNSAFE = RpcError(ErrorCode.METHOD_NOT_FOUND, "RPC call is unsafe to be called externally")
NO_SUBSCRIPTIONS = RpcError(ErrorCode.INTERNAL_ERROR, "Internal error")
"""The answer over HTTP to a method that subscribes or unsubscribes; its parameters are not read."""
SYNCING_TEXT = (
    "The node is syncing ({}): nothing is signed or submitted until system_health says isSyncing false; "
    "try again then"
)


class Dispatcher:
    """The dispatcher of one node, which answers the messages of all connections.

    `absent`: by method name, why this node lacks a method that others have (the error's `data`). `kept`: the
    answers that blocks fix.
    """

    def __init__(
        self,
        node: ServedNode,
        table: Table,
        config: RpcConfig,
        *,
        absent: Mapping[str, str] = MappingProxyType({}),
        observer: Observer | None = None,
        kept: KeptAnswers = NOTHING_KEPT,
    ) -> None:
        self.node = node
        self.observer = observer
        self._kept = kept
        self.pins = Pins()
        self._table = table
        self._rows = table.by_name
        self._absent = absent
        self._near = NearNames(table.by_name)
        self._config = config

    def offers(self, access: Access) -> bool:
        """Return whether there are methods of this kind."""
        return any(row.access is access for row in self._table.rows)

    async def parse(self, incoming: Incoming) -> RpcMessage:
        """Read one message within the limits of this server.

        Other clients get a turn before and after a large message.
        """
        if incoming.size < LARGE:
            return incoming.parse(self._config.max_batch)
        await take_turn()
        message = incoming.parse(self._config.max_batch)
        await trio.lowlevel.checkpoint()
        return message

    def is_quick(self, message: RpcMessage) -> bool:
        """Return whether the answer needs no waiting.

        The session then answers before it reads the next message.
        """
        if type(message) is RpcCall:
            row = self._rows.get(message.method)
            return (type(row) is Method and not row.is_async) or type(row) is Unsubscribe
        return type(message) is RefusedMessage

    def awaits_block(self, message: RpcMessage) -> bool:
        """Return whether the message only waits for a block: many of these may run concurrently."""
        if type(message) is RpcBatch:
            return all(map(self.awaits_block, message.entries))
        row = self._rows.get(message.method) if type(message) is RpcCall else None
        return type(row) is Method and row.awaits_block

    async def answer(self, message: RpcMessage, client: RpcClient) -> Reply:
        """Return the answer as JSON text; empty for a notification."""
        if type(message) is RpcCall:
            return await self._answer_call(message, client)
        if type(message) is RpcBatch:
            return await self._answer_batch(message, client)
        assert isinstance(message, RefusedMessage)
        return failure(message.id, message.error)

    async def _answer_batch(self, entries: RpcBatch, client: RpcClient) -> Reply:
        replies = Replies(self._config.max_response_size)
        holding = nullcontext(_hold_nothing) if client.memory is None else client.memory.holding()
        with holding as hold:
            return await self._answer_entries(entries, client, replies, hold)

    async def _answer_entries(
        self, entries: RpcBatch, client: RpcClient, replies: Replies, hold: Callable[[int], None]
    ) -> Reply:
        async with trio.open_nursery() as nursery:
            for index, entry in enumerate(entries.entries):
                if self.awaits_block(entry):
                    nursery.start_soon(self._answer_entry, entry, client, replies, index, hold)
                else:
                    if index:  # entries may be many and need no waiting
                        await take_turn()
                    await self._answer_entry(entry, client, replies, index, hold)
                if replies.are_too_big:
                    nursery.cancel_scope.cancel()
                    break
        return replies.together

    async def _answer_entry(
        self,
        entry: RpcCall | RefusedMessage,
        client: RpcClient,
        replies: Replies,
        place: int,
        hold: Callable[[int], None],
    ) -> None:
        reply = await self.answer(entry, client)
        hold(reply.size)  # it waits for the other answers
        replies.put(place, reply)

    def answer_now(self, call: RpcCall, client: RpcClient) -> Reply | None:
        """Return the answer to a call that needs no waiting.

        None if the call needs waiting: then `answer_later` answers it.
        """
        return None if client.throttle is not None else self._now(call, client, is_limited=False)

    async def answer_later(self, call: RpcCall, client: RpcClient) -> Reply:
        """Return the answer to a call for which `answer_now` has just returned None."""
        if client.throttle is not None:  # it was not tried
            return await self._answer_call(call, client)
        return await self._answer_waiting(call, client, is_limited=False)

    def _now(self, call: RpcCall, client: RpcClient, *, is_limited: bool) -> Reply | None:
        row = self._rows.get(call.method)
        if type(row) is not Method or call.is_large or row.takes_connection or row.submits:
            return None
        started, is_error = perf_counter(), False
        try:
            text = self._text_now(row, call, client)
            if text is None:
                return None
            reply = success(call.reply_id, text)
        except Exception as error:
            reply, is_error = self._failed(call, error), True
        if (observer := self.observer) is not None:
            observer.call_started(client.protocol, row.name)
            seconds = perf_counter() - started
            observer.call_finished(
                client.protocol, row.name, seconds, is_error=is_error, is_rate_limited=is_limited
            )
        return reply

    def _text_now(self, row: Method, call: RpcCall, client: RpcClient) -> Part | None:
        """Return the JSON text of a result, kept or computed now; None if it needs waiting."""
        _check_access(row.access, client)
        if (
            row.fixed_by is not None
            and (kept_text := self._kept.get((row.name, bytes(call.params)))) is not None
        ):
            return kept_text
        if row.is_async:
            return None
        try:
            with using_names(None):
                arguments = read_arguments(row, call) if row.params else []
        except RuntimeNeeded:
            return None
        self._check_call(row, arguments, client)
        revision = self._kept.revision
        result = row.handler(self.node, *arguments)
        if type(result) is CoroutineType:
            result.close()  # it has not begun
            return None
        return self._keep(row, call, result, revision)

    def _keep(self, row: AnyRow | None, call: RpcCall, result: Any, revision: int) -> Part:
        """Return the JSON text of a result, which is kept if a block fixes it."""
        text = text_of(result, self._config.max_response_size)
        fixed_by = row.fixed_by if type(row) is Method else None
        if fixed_by is FixedBy.STATE or (fixed_by is FixedBy.HEADER and result is not None):
            assert row is not None
            self._kept.keep((row.name, bytes(call.params)), text, revision)
        return text

    def _failed(self, call: RpcCall, error: Exception) -> Reply:
        return failed(call.reply_id, call.method, error, self._config.max_response_size)

    async def _answer_call(self, call: RpcCall, client: RpcClient) -> Reply:
        limited = client.throttle is not None and await client.throttle()
        if (reply := self._now(call, client, is_limited=limited)) is not None:
            return reply
        return await self._answer_waiting(call, client, is_limited=limited)

    async def _answer_waiting(self, call: RpcCall, client: RpcClient, *, is_limited: bool) -> Reply:
        """Return the answer to a call that needs waiting."""
        row, observer = self._rows.get(call.method), self.observer
        if row is None or observer is None:
            return (await self._reply(row, call, client))[0]
        observer.call_started(client.protocol, row.name)
        started = perf_counter()
        reply, is_error = await self._reply(row, call, client)
        seconds = perf_counter() - started
        observer.call_finished(
            client.protocol, row.name, seconds, is_error=is_error, is_rate_limited=is_limited
        )
        return reply

    async def _reply(self, row: AnyRow | None, call: RpcCall, client: RpcClient) -> tuple[Reply, bool]:
        """Return the answer, empty for a notification, and whether it is an error."""
        revision = self._kept.revision
        try:
            result = await self._result(row, call, client)
            return success(call.reply_id, self._keep(row, call, result, revision)), False
        except Exception as error:
            return self._failed(call, error), True

    async def _result(self, row: AnyRow | None, call: RpcCall, client: RpcClient) -> Any:
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
        if (similar := self._near.of(call.method)) is not None:
            raise RpcError(METHOD_NOT_FOUND.code, METHOD_NOT_FOUND.message, f"Did you mean {similar}?")
        raise METHOD_NOT_FOUND

    async def _subscribe(self, row: Subscription, call: RpcCall, client: RpcClient) -> str:
        if client.subscribe is None:
            raise NO_SUBSCRIPTIONS
        return await client.subscribe(row, await self._checked(row, call, client))

    async def _checked(self, row: Row, call: RpcCall, client: RpcClient) -> list[Any]:
        _check_access(row.access, client)
        arguments = await read_arguments_in_turns(self.node, row, call)
        self._check_call(row, arguments, client)
        return arguments

    def _check_call(self, row: Row, arguments: list[Any], client: RpcClient) -> None:
        """Raise RpcError if a call with these arguments is refused."""
        if row.unsafe_if is not None and row.unsafe_if(arguments):
            _check_access(Access.UNSAFE, client)
        if row.submits and (phase := self.node.syncing) is not None:
            raise RpcError(ErrorCode.CALL_FAILED, SYNCING_TEXT.format(phase))


def _check_access(access: Access, client: RpcClient) -> None:
    """Raise RpcError if the methods are closed to the client."""
    if (reason := client.closed.get(access)) is not None:
        raise RpcError(UNSAFE.code, UNSAFE.message, reason or None)


def _hold_nothing(size: int) -> None:
    """Count nothing: the client has no memory budget."""


def _unsubscribe(call: RpcCall, client: RpcClient) -> bool:
    if client.unsubscribe is None:
        raise NO_SUBSCRIPTIONS
    arguments = call.arguments()
    values = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not values or not isinstance(values[0], str):
        return False
    return client.unsubscribe(values[0])
