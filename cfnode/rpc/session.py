"""What does one WebSocket connection hold? Its subscriptions, its unfinished calls, and the messages on
their way.

One nursery a connection. Its reader takes messages in order; quick ones are answered before the next is
read, the others run beside each other, at most `CONCURRENT_CALLS`. When the client is gone the reader ends,
and with it everything else: a push loop that went on would spin, since sending to a closed connection
returns at once.

A client that does not read costs a bounded amount. Answers wait (and with them the reading of new calls);
messages of subscriptions cannot wait, so a client that leaves more than `message_buffer` of them unread is
cut off.
"""

from __future__ import annotations

import logging
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import trio

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import Batch, Call, ErrorCode, Refused, RpcError
from cfnode.node.config import RpcConfig
from cfnode.rpc.dispatch import Client, Dispatcher
from cfnode.rpc.errors import explain
from cfnode.rpc.table import Subscription

log = logging.getLogger("cfnode.rpc")

CONCURRENT_CALLS = 16
WAITING_BYTES = 32 * 1024 * 1024
"""Bytes of unread messages at which answers wait and subscribers are cut off."""


class SlowReader(Exception):
    """The client left too many messages unread."""


class Outbox:
    """Messages on their way to one client, sent in the order in which they were put in."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]], capacity: int) -> None:
        self._send = send
        self._capacity = capacity
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._busy = False
        self._filled = trio.Event()
        self._room = trio.Event()

    @property
    def _full(self) -> bool:
        return len(self._waiting) >= self._capacity or self._bytes >= WAITING_BYTES

    def push(self, message: bytes) -> None:
        """Queue a message that cannot wait for room. Raises SlowReader if there is none."""
        if self._full:
            raise SlowReader
        self._waiting.append(message)
        self._bytes += len(message)
        self._filled.set()

    async def put(self, message: bytes) -> None:
        """Send an answer, or queue it behind what is on its way, once there is room."""
        if not self._busy and not self._waiting:
            await self._transmit(message)
            return
        while self._full:
            if self._room.is_set():
                self._room = trio.Event()
            await self._room.wait()
        self.push(message)

    async def _transmit(self, message: bytes) -> None:
        self._busy = True
        try:
            await self._send(message)
        finally:
            self._busy = False
            if self._waiting:
                self._filled.set()

    async def run(self) -> None:
        """Send what is queued, for ever."""
        while True:
            while self._waiting and not self._busy:
                message = self._waiting.popleft()
                self._bytes -= len(message)
                self._room.set()
                await self._transmit(message)
            self._filled = trio.Event()
            await self._filled.wait()


@dataclass(frozen=True, slots=True)
class Opened:
    """A subscription that has its id; `scope` is cancelled by its unsubscribe."""

    identity: str
    row: Subscription
    stream: AsyncGenerator[Any, None]
    scope: trio.CancelScope


class Session:
    """One WebSocket connection, from its first message to its last."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        config: RpcConfig,
        client: Client,
        send: Callable[[bytes], Awaitable[None]],
        cut_off: Callable[[], None],
    ) -> None:
        self._dispatcher = dispatcher
        self._config = config
        self._client = client
        self._outbox = Outbox(send, config.message_buffer)
        self._cut_off = cut_off
        self._slots = trio.Semaphore(CONCURRENT_CALLS)
        self._subscriptions: dict[str, trio.CancelScope] = {}
        self._nursery: trio.Nursery
        client.unsubscribe = self._unsubscribe

    async def run(self, receive: Callable[[], Awaitable[str | bytes | None]]) -> None:
        """Serve until `receive` gives None: the client has left."""
        async with trio.open_nursery() as self._nursery:
            self._nursery.start_soon(self._outbox.run)
            while (data := await receive()) is not None:
                await self._take(jsonrpc.parse(data))
            self._nursery.cancel_scope.cancel()

    async def _take(self, message: Call | Batch | Refused) -> None:
        if self._dispatcher.is_quick(message):
            await self._answer(message, self._client)
        else:
            await self._slots.acquire()
            self._nursery.start_soon(self._answer_beside, message)

    async def _answer(self, message: Call | Batch | Refused, client: Client) -> None:
        if reply := await self._dispatcher.answer(message, client):
            await self._outbox.put(reply)

    async def _answer_beside(self, message: Call | Batch | Refused) -> None:
        """Subscriptions start after the answer that names them: none speaks before its id is known."""
        opened: list[Opened] = []
        client = replace(self._client, subscribe=partial(self._subscribe, opened))
        try:
            await self._answer(message, client)
        finally:
            self._slots.release()
        for subscription in opened:
            self._nursery.start_soon(self._forward, subscription)

    async def _subscribe(self, opened: list[Opened], row: Subscription, arguments: list[Any]) -> str:
        limit = self._config.max_subscriptions
        if len(self._subscriptions) >= limit:
            raise RpcError(
                ErrorCode.TOO_MANY_SUBSCRIPTIONS,
                "Too many subscriptions on the connection",
                f"Exceeded max limit of {limit}",
            )
        identity = secrets.token_hex(8)
        scope = self._subscriptions[identity] = trio.CancelScope()
        try:
            stream = await row.handler(self._dispatcher.node, *arguments)
        except BaseException:
            del self._subscriptions[identity]
            raise
        opened.append(Opened(identity, row, stream, scope))
        return identity

    def _unsubscribe(self, identity: str) -> bool:
        scope = self._subscriptions.pop(identity, None)
        if scope is None:
            return False
        scope.cancel()
        return True

    async def _forward(self, opened: Opened) -> None:
        try:
            with opened.scope:
                await self._push_all(opened)
        except SlowReader:
            log.debug("a subscriber of %s reads too slowly and is cut off", opened.row.name)
            self._cut_off()
        # As with calls: what a stream did not foresee ends that stream, with a line in the log.
        except Exception as error:
            explain(error, opened.row.name)
        finally:
            self._subscriptions.pop(opened.identity, None)

    async def _push_all(self, opened: Opened) -> None:
        row, identity = opened.row, opened.identity
        async with aclosing(opened.stream) as stream:
            async for value in stream:
                self._outbox.push(jsonrpc.notification(row.notification, identity, jsonrpc.encode(value)))
