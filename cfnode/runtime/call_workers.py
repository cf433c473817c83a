"""Executor processes for calls: when each starts and ends, and which of them makes a call.

At first the process for blocks makes the calls, too. A process for calls is started when a call has to wait
for a block, or when there have always been calls to make for a while; then the process for blocks makes no
calls any more. While all processes for calls are busy for a while, one more is started, up to a limit. The
new process gets calls once it has loaded the runtime. Each call goes to the process with the fewest calls. A
process without calls for a while is ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec
import trio

from cfnode.runtime import frames
from cfnode.runtime.calls import ExecutorDied
from cfnode.runtime.requests import AnyRequest, ExecutorRequest, outputs
from cfnode.runtime.worker_queue import WorkerQueue

__all__ = ["CallWorkers"]

log = logging.getLogger("cfnode.executor")

WAIT_FOR_BLOCKS_S = 0.05
"""Seconds that a call waits for blocks before a process for calls is started: a small block takes less."""

BUSY_BEFORE_NEW_WORKER_S = 0.5
"""Seconds in which calls waited and no process had an instant without work, until one more is started."""

RUNTIME_LOAD_TIMEOUT_S = 60.0
"""Seconds in which a process must have loaded the runtime: it may have to compile it."""

IDLE_WORKER_LIFE_S = 20.0
"""Seconds without a call after which a process for calls is ended."""


class CallWorkers:
    """The processes for calls. While there are none, `first`, the process for blocks, makes the calls."""

    def __init__(
        self, first: WorkerQueue, make: Callable[[], WorkerQueue], nursery: trio.Nursery, limit: int
    ) -> None:
        self._first = first
        self._make = make
        self._nursery = nursery
        self._limit = limit
        self._ready: list[WorkerQueue] = []
        self._starting: WorkerQueue | None = None
        self._watches = False
        self._past_started = 0
        self._past_restarts = 0

    @property
    def all(self) -> list[WorkerQueue]:
        """The processes that make calls, and the one that is being started."""
        return self._ready if self._starting is None else [*self._ready, self._starting]

    @property
    def started(self) -> int:
        """The number of processes so far."""
        return self._past_started + sum(worker.started for worker in self.all)

    @property
    def restarts(self) -> int:
        """The number of processes so far that replaced one that died."""
        return self._past_restarts + sum(worker.restarts for worker in self.all)

    def put(self, call: AnyRequest) -> None:
        """Queue a call. Raises ExecutorDied once closed."""
        worker = self._least()
        worker.put(call)
        if worker.load > 1 and not self._watches and len(self._ready) < self._limit > 1:
            self._watches = True
            self._nursery.start_soon(self._watch_load, call)

    async def watch(self, call: AnyRequest) -> None:
        """Start a process if the call waits for blocks. Later requests queue behind the call."""
        while not self._ready and self._first.blocks > 0 and not (call.sent or call.done):
            with trio.move_on_after(WAIT_FOR_BLOCKS_S):
                await call.wait()
            if not self._ready and self._first.is_at_block_work and not call.done:
                self._start(call)
                return

    def _least(self) -> WorkerQueue:
        return min(self._ready, key=lambda worker: worker.load, default=self._first)

    @property
    def _callers(self) -> list[WorkerQueue]:
        return self._ready or [self._first]

    async def _watch_load(self, call: AnyRequest) -> None:
        """Start a process each time that none had an instant without work, while calls wait for calls."""
        while len(self._ready) < self._limit:
            await trio.sleep(BUSY_BEFORE_NEW_WORKER_S)
            long_ago = trio.current_time() - BUSY_BEFORE_NEW_WORKER_S
            if all(worker.load <= 1 for worker in self._callers):
                break
            if all(worker.load and worker.changed_at <= long_ago for worker in self._callers):
                self._start(call)
        self._watches = False

    def _start(self, call: AnyRequest) -> None:
        if self._starting is None:
            self._starting = self._make()
            self._nursery.start_soon(self._serve, self._starting, call)

    async def _serve(self, worker: WorkerQueue, call: AnyRequest) -> None:
        """Run a process until it has been idle.

        If it does not start, the others keep all calls, and a later call tries again.
        """
        try:
            try:
                await worker.start()
            except ExecutorDied as error:
                log.warning("calls still wait for those before them: %s", error)
                self._starting = None
            else:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(worker.serve)
                    await _load(worker, call)
                    self._take_over(worker)
                    await worker.idle(IDLE_WORKER_LIFE_S)
                    self._ready.remove(worker)
                    nursery.cancel_scope.cancel()
                log.debug("a process for calls is ended: it had none for %.0f s", IDLE_WORKER_LIFE_S)
            self._past_started += worker.started
            self._past_restarts += worker.restarts
        finally:
            await worker.close()

    def _take_over(self, worker: WorkerQueue) -> None:
        """Distribute the waiting calls again: the process can make them now."""
        calls = [call for caller in self._callers for call in caller.take_calls()]
        self._starting = None
        self._ready.append(worker)
        log.debug("%d processes make calls from now on", len(self._ready))
        for call in calls:
            self._least().put(call)


async def _load(worker: WorkerQueue, call: AnyRequest) -> None:
    """Let a process load the runtime of a call's state.

    The process would do so at its first call there, and that call would wait, with those behind it, while
    other processes are free.
    """
    (order,) = call.orders
    assert isinstance(order, frames.CallOrder)
    version = msgspec.structs.replace(order, calls=[("Core_version", b"")], prove=False)
    request = ExecutorRequest(order.id, "Core_version", RUNTIME_LOAD_TIMEOUT_S, [version], outputs)
    worker.put(request)
    await request.wait()
