"""Which client is served next where only a few calls may run? The one that has waited longest for its turn.

Slots go to clients in rotation, not to requests in their order: a client with four hundred requests queues
behind itself, and another client waits for one turn only. A task's context names the client that it works
for.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from contextvars import ContextVar
from types import TracebackType
from typing import Final

import trio

__all__ = ["CLIENT", "FairLimiter"]

CLIENT: Final[ContextVar[object]] = ContextVar("client", default=None)
"""The connection that a task works for; tasks inherit it."""


class FairLimiter:
    """A limiter for `async with`, with `places` slots."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: OrderedDict[object, deque[trio.Event]] = OrderedDict()

    async def __aenter__(self) -> None:
        await trio.lowlevel.checkpoint()
        if self._free:
            self._free -= 1
            return
        client, place = CLIENT.get(), trio.Event()
        self._waiting.setdefault(client, deque()).append(place)
        try:
            await place.wait()
        except BaseException:
            self._leave(client, place)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def _release(self) -> None:
        """Give the slot to the next client, and move that client to the end of the queue."""
        if not self._waiting:
            self._free += 1
            return
        client, places = self._waiting.popitem(last=False)
        places.popleft().set()
        if places:
            self._waiting[client] = places

    def _leave(self, client: object, place: trio.Event) -> None:
        """A waiting task was cancelled; it may have received the slot meanwhile."""
        if place.is_set():
            self._release()
            return
        self._waiting[client].remove(place)
        if not self._waiting[client]:
            del self._waiting[client]
