"""Fair queueing of clients for a few slots: of peers, and of the clients of the listening ports.

Clients wait for a few slots. A free slot goes to the client that holds the fewest slots and, among those, to
the one that has used the least time in them. So a client with four hundred or with slow requests queues
behind itself, and one client has all slots only while no other waits. A client that is new, or comes back,
begins with the time of the client served last, so it gains nothing by staying away.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final

import trio

__all__ = ["CLIENT", "FairLimiter", "FairSlots"]

MIN_TURN_COST_S: Final = 0.001
"""Seconds that a turn counts at least, so that clients whose turns take no time alternate too."""
MAX_REMEMBERED_CLIENTS: Final = 1024
"""Clients whose time is remembered; beyond, the half with the least time is forgotten, as if new."""


@dataclass(slots=True, eq=False)
class _QueuedWait:
    admitted: bool = False
    decided: trio.Event = field(default_factory=trio.Event)


class FairSlots:
    """Slots that clients share fairly.

    `slots`: in total. `per_client`: slots that one client may hold or wait for. `max_waiting`: waits of all
    clients. `max_known`: clients whose time is remembered although they neither hold a slot nor wait.
    """

    def __init__(
        self,
        slots: int,
        *,
        per_client: float = math.inf,
        max_waiting: float = math.inf,
        max_known: int = MAX_REMEMBERED_CLIENTS,
    ) -> None:
        self._free, self._per_client = slots, per_client
        self._max_waiting, self._max_known = max_waiting, max_known
        self._held: Counter[Hashable] = Counter()
        self._waiting: dict[Hashable, deque[_QueuedWait]] = {}
        self._used: dict[Hashable, float] = {}
        self._level = 0.0

    @property
    def waiting(self) -> int:
        """The number of waits of all clients."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def slot(self, client: Hashable) -> AsyncIterator[bool]:
        """Wait for a slot and hold it while the block runs; yield False if the client is refused."""
        if not await self.enter(client):
            yield False
            return
        began = trio.current_time()
        try:
            yield True
        finally:
            self.leave(client, trio.current_time() - began)

    async def enter(self, client: Hashable) -> bool:
        """Wait for a slot and take it; return False if the client is refused.

        `leave` gives the slot back.
        """
        if self._held[client] + len(self._waiting.get(client, ())) >= self._per_client:
            return False
        if self._free:
            self._admit(client)
            return True
        if self.waiting >= self._max_waiting and not self._refuse_another(client):
            return False
        wait = _QueuedWait()
        self._waiting.setdefault(client, deque()).append(wait)
        try:
            await wait.decided.wait()
        except BaseException:
            self._give_up(client, wait)
            raise
        return wait.admitted

    def leave(self, client: Hashable, seconds: float) -> None:
        """Give back a slot that was held for `seconds`."""
        self._free += 1
        self._held[client] -= 1
        self._used[client] = max(self._level, self._used.get(client, 0.0)) + max(seconds, MIN_TURN_COST_S)
        if self._waiting:
            self._admit_next()
        if not self._held[client]:
            del self._held[client]
        if len(self._used) > self._max_known:
            self._forget(client)

    def _admit(self, client: Hashable) -> None:
        self._free -= 1
        self._held[client] += 1
        self._level = max(self._level, self._used.get(client, 0.0))

    def _refuse_another(self, client: Hashable) -> bool:
        """Refuse the newest wait of the client with most waits, unless `client` would then have as many.

        Return whether a wait was refused.
        """
        heaviest = max(self._waiting, key=lambda other: len(self._waiting[other]))
        if len(self._waiting[heaviest]) <= len(self._waiting.get(client, ())) + 1:
            return False
        self._waiting[heaviest].pop().decided.set()
        return True

    def _give_up(self, client: Hashable, wait: _QueuedWait) -> None:
        if wait.admitted:
            self.leave(client, 0.0)
        elif client in self._waiting:
            self._remove(client, wait)

    def _remove(self, client: Hashable, wait: _QueuedWait) -> None:
        queue = self._waiting[client]
        if wait in queue:
            queue.remove(wait)
        if not queue:
            del self._waiting[client]

    def _forget(self, client: Hashable) -> None:
        if not self._max_known:
            if client not in self._held and client not in self._waiting:
                del self._used[client]
            return
        ordered = sorted(self._used.items(), key=lambda known: known[1])
        half = len(ordered) // 2
        self._level = max(self._level, ordered[half - 1][1])
        self._used = dict(ordered[half:])

    def _admit_next(self) -> None:
        client = min(self._waiting, key=lambda key: (self._held[key], self._used.get(key, self._level)))
        wait = self._waiting[client].popleft()
        if not self._waiting[client]:
            del self._waiting[client]
        self._admit(client)
        wait.admitted = True
        wait.decided.set()


CLIENT: Final[ContextVar[Hashable]] = ContextVar("client", default=None)
"""The connection that a task works for; tasks inherit it."""


class FairLimiter:
    """Fair slots for `async with`, taken for the client that a task works for.

    A client that neither holds a slot nor waits is not remembered.
    """

    def __init__(self, places: int) -> None:
        self._slots = FairSlots(places, max_known=0)
        self._entered: dict[trio.lowlevel.Task, list[tuple[Hashable, float]]] = {}

    async def __aenter__(self) -> None:
        """Wait until the task's client may have a slot, and take it."""
        await trio.lowlevel.checkpoint()
        client = CLIENT.get()
        await self._slots.enter(client)
        entered = self._entered.setdefault(trio.lowlevel.current_task(), [])
        entered.append((client, trio.current_time()))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the slot that the task took last, and charge its client for the time."""
        task = trio.lowlevel.current_task()
        client, began = self._entered[task].pop()
        if not self._entered[task]:
            del self._entered[task]
        self._slots.leave(client, trio.current_time() - began)
