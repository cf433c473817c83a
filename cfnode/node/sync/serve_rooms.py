"""How much of this machine do those who sync from us get?

Each kind of request has a room of its own, in which one request at a time is worked on; who is next goes by
the time that each peer has had (`cfnode.network.fair`). All rooms together have two threads. The work in them
is Python, which shares one lock with the event loop: while there is any, the lock changes hands each half
millisecond, or each turn of the loop would wait for five.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

import trio

from cfnode.network.fair import FairSlots

__all__ = ["Refused", "Room", "Threads"]

T = TypeVar("T")

MAX_THREADS = 2
"""Threads of all rooms together. What our own clients ask for needs the rest of the machine."""
MAX_OF_A_PEER = 10
"""Requests of one peer that are in a room or wait for it: as many as the network lets it have under way."""
MAX_WAITING = 64
"""Requests that wait for a room, over all peers."""
SWITCH_S = 0.0005
"""Seconds after which a thread that computes gives the interpreter's lock to one that waits for it."""


class Refused(Exception):
    """The peer has too many requests waiting; it may ask again."""


class Threads:
    """The threads of all rooms."""

    def __init__(self, most: int = MAX_THREADS) -> None:
        self._limiter = trio.CapacityLimiter(most)
        self._working = 0
        self._usual = 0.0

    async def run(self, job: Callable[[], T]) -> T:
        """What the job returns or raises, from a thread."""
        with self._switching():
            return await trio.to_thread.run_sync(job, limiter=self._limiter)

    @contextmanager
    def _switching(self) -> Iterator[None]:
        if not self._working:
            self._usual = sys.getswitchinterval()
            sys.setswitchinterval(min(SWITCH_S, self._usual))
        self._working += 1
        try:
            yield
        finally:
            self._working -= 1
            if not self._working:
                sys.setswitchinterval(self._usual)


class Room:
    """One kind of request. `most`: how many are worked on at a time."""

    def __init__(self, threads: Threads, most: int = 1) -> None:
        self.threads = threads
        self._slots = FairSlots(most, per_peer=MAX_OF_A_PEER, max_waiting=MAX_WAITING)

    @asynccontextmanager
    async def turn(self, peer: str) -> AsyncIterator[None]:
        """Wait for the peer's turn, and hold it while the block runs. Raises Refused."""
        async with self._slots.slot(peer) as has_slot:
            if not has_slot:
                raise Refused(f"{peer} or all peers together have too many requests waiting")
            yield

    async def run(self, peer: str, job: Callable[[], T]) -> T:
        """What the job returns or raises, from a thread, in the peer's turn. Raises Refused."""
        async with self.turn(peer):
            return await self.threads.run(job)
