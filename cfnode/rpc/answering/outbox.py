"""The queue of messages to one client, and its limit for a client that does not read.

Messages are sent in the order in which they were queued. Answers wait until the queue has room, and reading
new calls waits with them. Messages of most subscriptions cannot wait: a client that leaves more than
`capacity` of them unread, and reads none, is too slow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

import trio

from cfnode.rpc.table.rows import SlowReader
from cfnode.serving.memory_budget import MemoryBudget
from cfnode.serving.reply import Reply

__all__ = ["Outbox"]

WAITING_BYTES = 32 * 1024 * 1024
"""Bytes of unread messages at which the queue is full."""

NOT_READING_AFTER_S = 1.0
"""Seconds without a sent message after which the client counts as not reading."""

CHECKS_BEFORE_DISCONNECT = 4
"""Parts of that time, with a turn of the loop after each: a pause of this process uses up one of them."""


class Outbox:
    """The queue of messages to one client, first in, first out."""

    def __init__(self, send: Callable[[Reply], Awaitable[None]], capacity: int, budget: MemoryBudget) -> None:
        self._send = send
        self._budget = budget
        self._capacity = capacity
        self._waiting: deque[Reply] = deque()
        self._bytes = 0
        self._busy = False
        self._filled = trio.Event()
        self._room = trio.lowlevel.ParkingLot()
        self._sent = 0
        """The number of messages that have left the queue."""

    @property
    def _full(self) -> bool:
        return len(self._waiting) >= self._capacity or self._bytes >= WAITING_BYTES

    @property
    def is_idle(self) -> bool:
        """Whether no message waits or is being sent."""
        return not self._busy and not self._waiting

    async def push(self, message: Reply) -> None:
        """Queue a message of a stream.

        Raises SlowReader if the queue is full and does not move for NOT_READING_AFTER_S. One block may
        produce more messages than fit into the queue, all at the same moment: the sender gets time to send
        some before the client counts as slow.
        """
        while self._full:
            sent = self._sent
            for _ in range(CHECKS_BEFORE_DISCONNECT):
                with trio.move_on_after(NOT_READING_AFTER_S / CHECKS_BEFORE_DISCONNECT):
                    await self._room.park()
                if not self._full or self._sent != sent:
                    break
            else:
                raise SlowReader
        self._budget.keep(message)
        self._queue(message)

    async def put(self, message: Reply) -> None:
        """Send an answer, or queue it behind waiting messages once there is room."""
        await self._put(message, lambda: not self._full)

    async def put_patiently(self, message: Reply) -> None:
        """Send a message when the queue is empty, so that a long stream leaves room for other messages."""
        await self._put(message, lambda: not self._waiting)

    async def _put(self, message: Reply, has_room: Callable[[], bool]) -> None:
        self._budget.keep(message)
        try:
            while not has_room():
                await self._room.park()
        except BaseException:  # the message will not be sent
            self._budget.release(message)
            raise
        if self._busy or self._waiting:
            self._queue(message)
        else:
            await self._transmit(message)

    def _queue(self, message: Reply) -> None:
        self._waiting.append(message)
        self._bytes += message.own
        self._filled.set()

    async def _transmit(self, message: Reply) -> None:
        self._busy = True
        try:
            await self._send(message)
        finally:
            self._busy = False
            self._budget.release(message)
            if self._waiting:
                self._filled.set()

    def close(self) -> None:
        """Drop the queue."""
        while self._waiting:
            self._budget.release(self._waiting.popleft())

    async def run(self) -> None:
        """Send queued messages until cancelled."""
        while True:
            while self._waiting and not self._busy:
                message = self._waiting.popleft()
                self._bytes -= message.own
                self._sent += 1
                self._room.unpark()  # wake one task per sent message: hundreds may wait
                await self._transmit(message)
            if not self._waiting:
                self._room.unpark_all()
            self._filled = trio.Event()
            await self._filled.wait()
