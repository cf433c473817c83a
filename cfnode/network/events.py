"""The event queue between the peers of one notification protocol and its consumer.

All peers share one first-in, first-out queue, so the events of a peer are always `ProtocolOpened`, its
notifications, `Closed`. `ProtocolOpened` and notifications wait for room, which slows down a peer that sends
more than is read. `Closed` does not wait: there is one for each `ProtocolOpened`, and that one waited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import trio

from cfnode.network.interface import Closed, NotificationEvent, ProtocolOpened, Received

__all__ = ["EventQueue"]


class EventQueue(trio.abc.ReceiveChannel[NotificationEvent]):
    """The queue of one protocol. `room`: the number of events from which on `put` waits."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._queue: deque[NotificationEvent] = deque()
        self._readers = trio.lowlevel.ParkingLot()
        self._writers = trio.lowlevel.ParkingLot()
        self._closed = False

    async def put(self, event: ProtocolOpened | Received, is_current: Callable[[], bool]) -> bool:
        """Add an event as soon as there is room; return False if it is no longer `is_current` by then.

        No other task runs between the addition and the return to the caller.
        """
        await trio.lowlevel.checkpoint()
        while is_current() and len(self._queue) >= self._room and not self._closed:
            await self._writers.park()
        if not is_current():
            self._writers.unpark()  # the next writer gets the room
            return False
        self._put(event)
        return True

    def end(self, peer: str) -> None:
        """Add `Closed`: the protocol is no longer open with the peer."""
        self._put(Closed(peer))

    def _put(self, event: NotificationEvent) -> None:
        if not self._closed:
            self._queue.append(event)
            self._readers.unpark()

    async def receive(self) -> NotificationEvent:
        """Return the next event. Raise EndOfChannel after `aclose`."""
        await trio.lowlevel.checkpoint()
        while not self._queue:
            if self._closed:
                raise trio.EndOfChannel
            await self._readers.park()
        event = self._queue.popleft()
        if len(self._queue) < self._room:
            self._writers.unpark()
        return event

    async def aclose(self) -> None:
        """Drop all waiting and future events."""
        self._closed = True
        self._queue.clear()
        self._readers.unpark_all()
        self._writers.unpark_all()
        await trio.lowlevel.checkpoint()
