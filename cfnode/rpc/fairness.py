"""Whose turn is it where only a few may be served at a time? That of the client that has waited for a turn
longest.

Places are given to clients in rotation, not to requests in their order: a client that asks for four hundred
things waits for itself, and another one for a turn. Which client a task works for is known by its context.
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
    """`async with` a place, of which there are so many."""

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
        """Give the place to the next client, which goes to the end of the line."""
        if not self._waiting:
            self._free += 1
            return
        client, places = self._waiting.popitem(last=False)
        places.popleft().set()
        if places:
            self._waiting[client] = places

    def _leave(self, client: object, place: trio.Event) -> None:
        """Who waited does not want it any more, and may have been given it meanwhile."""
        if place.is_set():
            self._release()
            return
        self._waiting[client].remove(place)
        if not self._waiting[client]:
            del self._waiting[client]
