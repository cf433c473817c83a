"""In which order does a consumer hear of the peers of one protocol?

One queue for all of them: what is put in first comes out first, so for a peer it is always `Opened`, what
was received, `Closed`. News waits for room, which holds a peer back that sends more than is read. Ends do not
wait: there is one for each `Opened`, and those did.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import trio

from cfnode.network.model import Closed, NotificationEvent, Opened, Received

__all__ = ["Events"]


class Events(trio.abc.ReceiveChannel[NotificationEvent]):
    """The queue of one protocol. `room`: how many events wait before news does."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._queue: deque[NotificationEvent] = deque()
        self._readers = trio.lowlevel.ParkingLot()
        self._writers = trio.lowlevel.ParkingLot()
        self._closed = False

    async def put(self, event: Opened | Received, still: Callable[[], bool]) -> bool:
        """Put news in as soon as there is room; False where it is not `still` of interest then.

        Nothing runs between its entry and the return to the caller.
        """
        await trio.lowlevel.checkpoint()
        while still() and len(self._queue) >= self._room and not self._closed:
            await self._writers.park()
        if not still():
            self._writers.unpark()  # the room is for the next one
            return False
        self._put(event)
        return True

    def end(self, peer: str) -> None:
        """The protocol is no longer open with the peer."""
        self._put(Closed(peer))

    def _put(self, event: NotificationEvent) -> None:
        if not self._closed:
            self._queue.append(event)
            self._readers.unpark()

    async def receive(self) -> NotificationEvent:
        """The next event; raises EndOfChannel after `aclose`."""
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
        """Nobody reads any more."""
        self._closed = True
        self._queue.clear()
        self._readers.unpark_all()
        self._writers.unpark_all()
        await trio.lowlevel.checkpoint()
