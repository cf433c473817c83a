"""One WebSocket connection: its subscriptions, its unfinished calls, and its unsent messages.

A connection has one nursery. Its reader handles messages in order: it answers quick ones before it reads the
next, and starts a task for each other one. At most `CONCURRENT_CALLS` of these run at a time, not counting
calls that wait for a block. When the client disconnects, the reader ends, and with it all tasks: a push loop
that went on would spin, since sending to a closed connection returns at once.

A client that does not read costs a bounded amount. Answers wait (and reading new calls waits with them).
Messages of most subscriptions cannot wait, so a client that leaves more than `message_buffer` of them unread
is cut off. Streams that can wait (of stored data, or with an end) are *patient*.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import trio

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import ErrorCode, Incoming, RefusedMessage, RpcCall, RpcError, RpcMessage
from cfnode.node.config import RpcConfig
from cfnode.rpc.answering.client import RpcClient
from cfnode.rpc.answering.dispatch import Dispatcher
from cfnode.rpc.answering.outbox import Outbox
from cfnode.rpc.answering.reply import notification
from cfnode.rpc.table.connection_state import ConnectionState, Job
from cfnode.rpc.table.errors import BUSY, explain
from cfnode.rpc.table.rows import TOO_MANY, SlowReader, Subscription
from cfnode.serving.memory_budget import MemoryBudget
from cfnode.serving.reply import Reply
from cfnode.serving.short_request import WaitingCall

log = logging.getLogger("cfnode.rpc")

CONCURRENT_CALLS = 16
SUBSCRIPTION_BYTES = 16 * 1024
"""The size that a subscription counts as: its memory, and its work with each block."""
LISTED_BYTES = 160
"""The size that each entry of a subscription's list parameter counts as, besides its bytes."""

COPIES_OF_WAITING = 2
"""Copies of a message whose call waits: its text, and the decoded values."""

KEPT_MESSAGES = 2
"""Messages of the maximum size that may wait for their answers, or have running jobs."""
WAITING_CALLS = 1024
"""Calls of a connection that may wait for their blocks."""
WAITING_CALL_BYTES = 16 * 1024
"""The size that such a call counts as, besides its message."""

Received = RpcMessage | WaitingCall[RpcCall]
"""A message, or a call that was parsed and tried when it arrived."""


@dataclass(slots=True)
class OpenSubscription:
    """An open subscription; unsubscribing cancels `scope`."""

    identity: str
    row: Subscription
    weight: int
    """The number of bytes that it counts as."""
    stream: AsyncGenerator[Any, None] | None = None
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)


@dataclass(frozen=True, slots=True)
class Caller:
    """The client as one message sees it, and the jobs that the message creates."""

    client: RpcClient
    later: list[Job]


class _DroppingFrames:
    """A context in which a cancelled task releases its messages at once.

    When several tasks of a nursery are cancelled, trio leaves a reference cycle of exceptions and frames,
    which would hold the messages until garbage collection.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, trio.Cancelled):
            error.__traceback__ = None


def _weight(arguments: list[Any]) -> int:
    """Return the size of the lists among the arguments."""
    listed = [entry for argument in arguments if isinstance(argument, list) for entry in argument]
    return sum(LISTED_BYTES + (len(entry) if isinstance(entry, bytes) else 0) for entry in listed)


class RpcSession:
    """One WebSocket connection, from its first message to its last."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        config: RpcConfig,
        client: RpcClient,
        send: Callable[[Reply], Awaitable[None]],
        budget: MemoryBudget,
    ) -> None:
        self._dispatcher = dispatcher
        self._config = config
        self._client = client
        self._outbox = Outbox(send, config.message_buffer, budget)
        self._budget = budget
        self._slots = trio.Semaphore(CONCURRENT_CALLS)
        self._subscriptions: dict[str, OpenSubscription] = {}
        self._connection = ConnectionState(dispatcher.pins)
        self._kept = 0
        self._waiting = 0
        """Calls that wait for their blocks."""
        self._nursery: trio.Nursery
        client.unsubscribe = self._unsubscribe
        self._caller = self._new_caller()
        """The caller of quick calls, of which one runs at a time."""
        self._is_waiting = False
        """Whether the reader waits for a message."""
        self._received = 0
        """The number of messages that the reader has received."""
        self._waiting_call: WaitingCall[RpcCall] | None = None
        """The call of the next message, where `answer_now` has parsed it."""

    async def run(self, receive: Callable[[], Awaitable[Incoming | None]]) -> None:
        """Serve until `receive` returns None: the client has disconnected."""
        async with trio.open_nursery() as self._nursery:
            self._nursery.start_soon(self._outbox.run)
            try:
                with _DroppingFrames():
                    while (incoming := await self._receive(receive)) is not None:
                        await self._take(await self._parsed(incoming), incoming.size)
            finally:
                self._drop_messages()
            self._nursery.cancel_scope.cancel()

    async def _receive(self, receive: Callable[[], Awaitable[Incoming | None]]) -> Incoming | None:
        self._is_waiting = True
        incoming = await receive()
        self._is_waiting = False
        self._received += 1
        return incoming

    def answer_now(self, message: bytes, before: int) -> Reply | None:
        """Return the answer to a call that needs no waiting; None if the reader has to get the message.

        `before`: the number of messages that came before it. The reader must have handled all of them, and no
        other message may wait to be sent.
        """
        if (
            not self._is_waiting
            or self._received != before
            or not self._outbox.is_idle
            or self._is_full(len(message))
        ):
            return None
        call = jsonrpc.parse_short(message)
        if call is None:
            return None
        reply = self._dispatcher.answer_now(call, self._caller.client)
        self._waiting_call = WaitingCall(call) if reply is None else None
        return reply

    async def _parsed(self, incoming: Incoming) -> Received:
        waiting, self._waiting_call = self._waiting_call, None
        return waiting or await self._dispatcher.parse(incoming)

    def _drop_messages(self) -> None:
        """Free unsent messages now, not by the garbage collector."""
        self._is_waiting = False
        self._outbox.close()
        self._client.unsubscribe = self._waiting_call = None
        del self._caller

    async def _take(self, message: Received, size: int) -> None:
        parsed = message.call if isinstance(message, WaitingCall) else message
        waits = self._dispatcher.awaits_block(parsed)
        if self._is_full(size) or (waits and self._waiting >= WAITING_CALLS):
            identity = parsed.reply_id if type(parsed) is RpcCall else jsonrpc.NULL
            message = parsed = RefusedMessage(identity, RpcError(ErrorCode.SERVER_BUSY, BUSY))
        if self._dispatcher.is_quick(parsed):
            await self._answer(message, size, self._caller)
        elif waits:
            self._keep(size)
            self._waiting += 1
            self._nursery.start_soon(self._answer_with_a_block, message, size)
        else:
            self._keep(size)
            await self._slots.acquire()
            self._nursery.start_soon(self._answer_in_slot, message, size)

    def _is_full(self, size: int) -> bool:
        """Return whether too much of earlier messages is kept for one more of this size."""
        return self._kept > 0 and self._kept + size > KEPT_MESSAGES * self._config.max_request_size

    async def _answer_with_a_block(self, message: Received, size: int) -> None:
        with self._budget.holding() as hold:
            hold(WAITING_CALL_BYTES)
            try:
                await self._answer_in_task(message, size)
            finally:
                self._waiting -= 1

    async def _answer_in_slot(self, message: Received, size: int) -> None:
        try:
            await self._answer_in_task(message, size)
        finally:
            self._slots.release()

    async def _answer_in_task(self, message: Received, size: int) -> None:
        try:
            with _DroppingFrames():
                await self._answer(message, size, self._new_caller())
        finally:
            self._keep(-size)

    def _keep(self, size: int) -> None:
        """Count a message that stays in memory until its call and jobs are done.

        Then it is counted again with a negative size.
        """
        self._kept += size
        self._budget.add(COPIES_OF_WAITING * size)

    def _new_caller(self) -> Caller:
        jobs: list[Job] = []
        subscribe = partial(self._subscribe, jobs)
        state = self._connection.with_jobs(jobs)
        return Caller(replace(self._client, subscribe=subscribe, connection=state), jobs)

    async def _answer(self, message: Received, size: int, caller: Caller) -> None:
        """Answer, then start the jobs of the call.

        The client must know an id before it gets events for it.
        """
        if isinstance(message, WaitingCall):
            reply = await self._dispatcher.answer_later(message.call, caller.client)
        else:
            reply = await self._dispatcher.answer(message, caller.client)
        if reply:
            await self._outbox.put(reply)
        while caller.later:
            self._keep(size)
            self._nursery.start_soon(self._run, caller.later.pop(0), size)

    async def _run(self, job: Job, size: int) -> None:
        """Run a job; an unforeseen exception ends it, with a log line."""
        try:
            with _DroppingFrames():
                await job()
        except Exception as error:
            explain(error, "a job of a call")
        finally:
            self._keep(-size)

    async def _subscribe(self, later: list[Job], row: Subscription, arguments: list[Any]) -> str:
        self._check_room(row)
        identity = secrets.token_hex(8)
        weight = SUBSCRIPTION_BYTES + _weight(arguments)
        subscription = self._subscriptions[identity] = OpenSubscription(identity, row, weight)
        leading_arguments = (self._connection.with_jobs(later), identity) if row.takes_connection else ()
        try:
            subscription.stream = await row.handler(self._dispatcher.node, *leading_arguments, *arguments)
        except BaseException:
            del self._subscriptions[identity]
            raise
        later.append(partial(self._forward, subscription))
        return identity

    def _check_room(self, row: Subscription) -> None:
        limit = self._config.max_subscriptions
        if len(self._subscriptions) >= limit:
            raise RpcError(TOO_MANY.code, TOO_MANY.message, f"Exceeded max limit of {limit}")
        if row.max_per_connection is not None:
            count = sum(subscription.row is row for subscription in self._subscriptions.values())
            if count >= row.max_per_connection:
                raise row.too_many

    def _unsubscribe(self, identity: str) -> bool:
        subscription = self._subscriptions.pop(identity, None)
        if subscription is None:
            return False
        subscription.scope.cancel()
        return True

    async def _forward(self, opened: OpenSubscription) -> None:
        try:
            with opened.scope, self._budget.holding() as hold:
                hold(opened.weight)
                await self._push_all(opened)
        except SlowReader:
            log.debug("cutting off a subscriber of %s that reads too slowly", opened.row.name)
            self._budget.cut_off()
        except Exception as error:
            explain(error, opened.row.name)
        finally:
            self._subscriptions.pop(opened.identity, None)

    async def _push_all(self, opened: OpenSubscription) -> None:
        row, identity = opened.row, opened.identity
        assert opened.stream is not None
        async with aclosing(opened.stream) as stream:
            async for value in stream:
                message = notification(row.notification, identity, value)
                if row.patient:
                    await self._outbox.put_patiently(message)
                else:
                    await self._outbox.push(message)
