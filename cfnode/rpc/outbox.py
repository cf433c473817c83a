"""In which order do messages leave for one client, and what if it does not read them?

Answers wait until there is room, and with them the reading of new calls; messages of most subscriptions
cannot wait, so a client that leaves more than `capacity` of them unread, and takes none, is too slow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

import trio

from cfnode.rpc.memory_budget import MemoryBudget
from cfnode.rpc.reply import Reply
from cfnode.rpc.table import SlowReader

__all__ = ["Outbox"]

WAITING_BYTES = 32 * 1024 * 1024
"""Bytes of unread messages at which answers wait and subscribers are cut off."""

PATIENCE_S = 1.0
"""Seconds without any message leaving after which nobody seems to read."""


class Outbox:
    """Messages on their way to one client, sent in the order in which they were put in."""

    def __init__(self, send: Callable[[Reply], Awaitable[None]], capacity: int, budget: MemoryBudget) -> None:
        self._send = send
        self._budget = budget
        self._capacity = capacity
        self._waiting: deque[Reply] = deque()
        self._bytes = 0
        self._busy = False
        self._filled = trio.Event()
        self._room = trio.lowlevel.ParkingLot()
        self._gone = 0
        """How many messages have left the queue."""

    @property
    def _full(self) -> bool:
        return len(self._waiting) >= self._capacity or self._bytes >= WAITING_BYTES

    async def push(self, message: Reply) -> None:
        """Queue a message of a stream. Raises SlowReader if there is no room, and nothing moves.

        A block may bring more messages than there is room for, all at the same moment: they have to be on
        their way before it can be said that nobody reads them.
        """
        while self._full:
            gone = self._gone
            with trio.move_on_after(PATIENCE_S):
                await self._room.park()
            if self._full and self._gone == gone:
                raise SlowReader
        self._budget.keep(message)
        self._queue(message)

    async def put(self, message: Reply) -> None:
        """Send an answer, or queue it behind what is on its way, once there is room."""
        await self._put(message, lambda: not self._full)

    async def put_patiently(self, message: Reply) -> None:
        """Send a message when nothing else waits, so that a long stream leaves the room to others."""
        await self._put(message, lambda: not self._waiting)

    async def _put(self, message: Reply, has_room: Callable[[], bool]) -> None:
        self._budget.keep(message)
        try:
            while not has_room():
                await self._room.park()
        except BaseException:  # it will not be sent
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
        """Forget what is queued."""
        while self._waiting:
            self._budget.release(self._waiting.popleft())

    async def run(self) -> None:
        """Send what is queued, for ever."""
        while True:
            while self._waiting and not self._busy:
                message = self._waiting.popleft()
                self._bytes -= message.own
                self._gone += 1
                self._room.unpark()  # one for each that goes: hundreds may wait
                await self._transmit(message)
            if not self._waiting:
                self._room.unpark_all()
            self._filled = trio.Event()
            await self._filled.wait()
