"""Which peer is served next?

There are a few places, and peers that wait for them. A free place goes to the peer that holds the fewest
places and, among those, to the one that has had the least time in them. So a peer that asks for much, or for
what takes long, waits behind a peer that asks for little, and one peer has all places only while no other
waits. A peer that comes anew, or comes back, begins with the time of the one served last: waiting for long
earns nothing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

__all__ = ["FairSlots"]

LEAST_COST = 0.001
"""Seconds that a turn counts for at least: peers whose turns take no time are served by turns, too."""
MAX_KNOWN = 1024
"""Peers whose time is remembered; beyond, the half that has had the least is forgotten, and begins anew."""


@dataclass(slots=True, eq=False)
class _Wait:
    admitted: bool = False
    decided: trio.Event = field(default_factory=trio.Event)


class FairSlots:
    """`most`: places in all. `each`: what one peer may hold and wait for. `waiting`: waits over all peers."""

    def __init__(self, most: int, *, per_peer: int, max_waiting: int) -> None:
        self._most, self._each, self._most_waiting = most, per_peer, max_waiting
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Wait]] = {}
        self._had: dict[str, float] = {}
        self._level = 0.0

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def slot(self, peer: str) -> AsyncIterator[bool]:
        """Hold a place while the block runs, waiting for it first; False where the peer is refused."""
        if not await self._enter(peer):
            yield False
            return
        began = trio.current_time()
        try:
            yield True
        finally:
            self._leave(peer, trio.current_time() - began)

    async def _enter(self, peer: str) -> bool:
        if self._of(peer) >= self._each:
            return False
        if self._held.total() < self._most:
            self._admit(peer)
            return True
        if self.waiting >= self._most_waiting and not self._refuse_another(peer):
            return False
        wait = _Wait()
        self._waiting.setdefault(peer, deque()).append(wait)
        try:
            await wait.decided.wait()
        except trio.Cancelled:
            self._give_up(peer, wait)
            raise
        return wait.admitted

    def _of(self, peer: str) -> int:
        """What the peer holds and waits for."""
        return self._held[peer] + len(self._waiting.get(peer, ()))

    def _admit(self, peer: str) -> None:
        self._held[peer] += 1
        self._level = max(self._level, self._had.get(peer, 0.0))

    def _refuse_another(self, peer: str) -> bool:
        """Too many wait: the newest of the peer that waits for most is refused, if that is another one."""
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
        self._held += Counter()  # drops the peers that are at zero
        self._had[peer] = max(self._level, self._had.get(peer, 0.0)) + max(seconds, LEAST_COST)
        if len(self._had) > MAX_KNOWN:
            self._forget()
        if self._waiting:
            self._admit_next()

    def _forget(self) -> None:
        ordered = sorted(self._had.items(), key=lambda known: known[1])
        half = len(ordered) // 2
        self._level = max(self._level, ordered[half - 1][1])
        self._had = dict(ordered[half:])

    def _admit_next(self) -> None:
        peer = min(self._waiting, key=lambda each: (self._held[each], self._had.get(each, self._level)))
        wait = self._waiting[peer].popleft()
        if not self._waiting[peer]:
            del self._waiting[peer]
        self._admit(peer)
        wait.admitted = True
        wait.decided.set()
