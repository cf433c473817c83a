"""Limits of the work for peers that sync from this node: queues, fair turns, and threads.

Each kind of request has its own queue, of which one request at a time is processed; the peer that has used
the least time is next (`cfnode.flow.fairness`). All queues share two threads. Their work is Python, which
shares one lock with the event loop: while a thread works, the lock is switched every half millisecond, since
each turn of the loop would otherwise wait for five.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

import trio

from cfnode.flow.fairness import FairSlots

__all__ = ["RequestQueue", "ServingRefused", "WorkerThreads"]

T = TypeVar("T")

MAX_THREADS = 2
"""Threads of all queues together. Our own clients need the rest of the machine."""
MAX_OF_A_PEER = 10
"""Requests of one peer in a queue: as many as the network lets it have open."""
MAX_QUEUED_REQUESTS = 64
"""Requests in a queue, over all peers."""
THREAD_SWITCH_S = 0.0005
"""Seconds after which a computing thread releases the interpreter lock to a waiting one."""


class ServingRefused(Exception):
    """The refusal of a request, since too many wait; the peer may ask again."""


class _LockSwitching:
    """The interval of the interpreter's lock, which all nodes of a process share: short while any works."""

    def __init__(self) -> None:
        self._working = 0
        self._usual = 0.0

    @contextmanager
    def short(self) -> Iterator[None]:
        """Have the lock change hands often inside the `with`."""
        if not self._working:
            self._usual = sys.getswitchinterval()
            sys.setswitchinterval(min(THREAD_SWITCH_S, self._usual))
        self._working += 1
        try:
            yield
        finally:
            self._working -= 1
            if not self._working:
                sys.setswitchinterval(self._usual)


_LOCK_SWITCHING = _LockSwitching()


class WorkerThreads:
    """The threads that all queues share."""

    def __init__(self, limit: int = MAX_THREADS) -> None:
        self._limiter = trio.CapacityLimiter(limit)

    async def run(self, job: Callable[[], T]) -> T:
        """Return the result of the job, run in a thread. Raise what the job raises."""
        with _LOCK_SWITCHING.short():
            return await trio.to_thread.run_sync(job, limiter=self._limiter)


class RequestQueue:
    """The queue of one kind of request. `limit`: the number of requests processed at a time."""

    def __init__(self, threads: WorkerThreads, limit: int = 1) -> None:
        self.threads = threads
        self._slots = FairSlots(limit, per_client=MAX_OF_A_PEER, max_waiting=MAX_QUEUED_REQUESTS)

    @asynccontextmanager
    async def turn(self, peer: str) -> AsyncIterator[None]:
        """Wait for the peer's turn, and hold it while the block runs. Raise Refused."""
        async with self._slots.slot(peer) as has_slot:
            if not has_slot:
                raise ServingRefused(f"{peer} or all peers together have too many requests waiting")
            yield

    async def run(self, peer: str, job: Callable[[], T]) -> T:
        """Return the result of the job, run in a thread in the peer's turn.

        Raise Refused, or what it raises.
        """
        async with self.turn(peer):
            return await self.threads.run(job)
