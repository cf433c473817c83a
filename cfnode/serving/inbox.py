"""Queues of events for applications: parts of a body, messages, and the end of the client.

hypercorn's own queue is full after a few events, and a task that adds one then waits. That may be the
application itself, which adds the end of a request whose body it has not read, and so waits for itself. Here
the end of a request always fits, and ends the wait of tasks that were adding an event before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio
from hypercorn.config import Config
from hypercorn.trio.task_group import TaskGroup, _handle
from hypercorn.typing import AppWrapper, ASGIReceiveEvent, ASGISendEvent, Scope

__all__ = ["Applications", "Inbox"]

MAX_EVENTS: Final = 10
"""Events that wait for the application; the connection reads no further meanwhile."""
_ENDS: Final = frozenset({"http.disconnect", "websocket.disconnect"})


class Inbox:
    """The events of one request or WebSocket, first in, first out; after its end, the end again and again."""

    def __init__(self) -> None:
        self._events: deque[Any] = deque()
        self._end: Any = None
        self._changed = trio.lowlevel.ParkingLot()

    async def put(self, event: Any) -> None:
        """Add an event as soon as there is room; drop an event after the end."""
        if event["type"] in _ENDS:
            self._end = event
        else:
            while len(self._events) >= MAX_EVENTS and self._end is None:
                await self._changed.park()
            if self._end is not None:
                return
            self._events.append(event)
        self._changed.unpark_all()

    async def receive(self) -> Any:
        """Return the next event; wait for it."""
        await trio.lowlevel.checkpoint()
        while not self._events and self._end is None:
            await self._changed.park()
        if not self._events:
            return self._end
        self._changed.unpark_all()
        return self._events.popleft()


class Applications(TaskGroup):
    """The applications of one connection; hypercorn starts them."""

    _nursery: trio.Nursery

    async def spawn_app(
        self,
        app: AppWrapper,
        config: Config,
        scope: Scope,
        send: Callable[[ASGISendEvent | None], Awaitable[None]],
    ) -> Callable[[ASGIReceiveEvent], Awaitable[None]]:
        """Start the application for a request; return the function that takes the request's events."""
        inbox = Inbox()
        threads = trio.to_thread.run_sync, trio.from_thread.run
        self._nursery.start_soon(_handle, app, config, scope, inbox.receive, send, *threads)
        return inbox.put
