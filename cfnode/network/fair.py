"""Which peer is served next?

There are a few slots, and peers that wait for them. A free slot goes to the peer that holds the fewest slots
and, among those, to the one that has used the least time in them. So a peer with many or slow requests waits
behind a peer with few, and one peer has all slots only while no other waits. A peer that is new, or comes
back, begins with the time of the peer served last, so it gains nothing by staying away.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

__all__ = ["FairSlots"]

MIN_COST = 0.001
"""Seconds that a turn counts at least, so that peers whose turns take no time alternate too."""
MAX_KNOWN = 1024
"""Peers whose time is remembered; beyond, the half with the least time is forgotten, as if new."""


@dataclass(slots=True, eq=False)
class _Wait:
    admitted: bool = False
    decided: trio.Event = field(default_factory=trio.Event)


class FairSlots:
    """`slots`: in total. `per_peer`: slots that one peer may hold or wait for. `max_waiting`: of all
    peers."""

    def __init__(self, slots: int, *, per_peer: int, max_waiting: int) -> None:
        self._slots, self._per_peer, self._max_waiting = slots, per_peer, max_waiting
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Wait]] = {}
        self._used: dict[str, float] = {}
        self._level = 0.0

    @property
    def waiting(self) -> int:
        """The number of waits."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def slot(self, peer: str) -> AsyncIterator[bool]:
        """Waits for a slot and holds it while the block runs; False if the peer is refused."""
        if not await self._enter(peer):
            yield False
            return
        began = trio.current_time()
        try:
            yield True
        finally:
            self._leave(peer, trio.current_time() - began)

    async def _enter(self, peer: str) -> bool:
        if self._count(peer) >= self._per_peer:
            return False
        if self._held.total() < self._slots:
            self._admit(peer)
            return True
        if self.waiting >= self._max_waiting and not self._refuse_another(peer):
            return False
        wait = _Wait()
        self._waiting.setdefault(peer, deque()).append(wait)
        try:
            await wait.decided.wait()
        except trio.Cancelled:
            self._give_up(peer, wait)
            raise
        return wait.admitted

    def _count(self, peer: str) -> int:
        """The slots that the peer holds or waits for."""
        return self._held[peer] + len(self._waiting.get(peer, ()))

    def _admit(self, peer: str) -> None:
        self._held[peer] += 1
        self._level = max(self._level, self._used.get(peer, 0.0))

    def _refuse_another(self, peer: str) -> bool:
        """Refuses the newest wait of the peer with most waits, unless `peer` would then have as many."""
        heaviest = max(self._waiting, key=lambda other: len(self._waiting[other]))
        if len(self._waiting[heaviest]) <= len(self._waiting.get(peer, ())) + 1:
            return False
        self._waiting[heaviest].pop().decided.set()
        return True

    def _give_up(self, peer: str, wait: _Wait) -> None:
        if wait.admitted:
            self._leave(peer, 0.0)
        elif peer in self._waiting:
            self._remove(peer, wait)

    def _remove(self, peer: str, wait: _Wait) -> None:
        queue = self._waiting[peer]
        if wait in queue:
            queue.remove(wait)
        if not queue:
            del self._waiting[peer]

    def _leave(self, peer: str, seconds: float) -> None:
        self._held[peer] -= 1
        self._held += Counter()  # removes zero counts
        self._used[peer] = max(self._level, self._used.get(peer, 0.0)) + max(seconds, MIN_COST)
        if len(self._used) > MAX_KNOWN:
            self._forget()
        if self._waiting:
            self._admit_next()

    def _forget(self) -> None:
        ordered = sorted(self._used.items(), key=lambda known: known[1])
        half = len(ordered) // 2
        self._level = max(self._level, ordered[half - 1][1])
        self._used = dict(ordered[half:])

    def _admit_next(self) -> None:
        peer = min(self._waiting, key=lambda each: (self._held[each], self._used.get(each, self._level)))
        wait = self._waiting[peer].popleft()
        if not self._waiting[peer]:
            del self._waiting[peer]
        self._admit(peer)
        wait.admitted = True
        wait.decided.set()
