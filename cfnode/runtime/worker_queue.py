"""The queue of requests to one executor process, and the replacement of a process that dies.

All requests wait in one queue and are processed in order, by the one task that talks to the process. So no
caller can interrupt the conversation: a cancelled caller just stops waiting, and its answer is dropped. Calls
are sent ahead of the answers to those before them, so that the process never waits for the node; a block is
sent alone. If the process dies, exceeds its time, or has no memory left, the request that it works on fails.
The others are sent to a new process, which gets all overlays first.
"""

from __future__ import annotations

import logging
import math
import subprocess
from collections import deque
from collections.abc import Iterator
from contextlib import suppress

import trio

from cfnode.runtime import frames
from cfnode.runtime.calls import Deadline, ExecutorDied, ExecutorMessageTooLarge, OutOfMemory
from cfnode.runtime.child import Child
from cfnode.runtime.requests import AnyRequest, ExecutorRequest
from cfnode.store import Overlay, Store, StoreError

__all__ = ["WorkerQueue"]

log = logging.getLogger("cfnode.executor")

MAX_REQUEST_ATTEMPTS = 3
"""Processes that may end before they begin with a request, until the request fails."""

MAX_CALLS_AHEAD = 8
"""Calls that are sent before they are answered: more would wait in the process instead of in the queue."""

WORKER_START_TIMEOUT_S = 30.0
"""Seconds in which a new process must be ready."""

OVERLAY_TIMEOUT_S = 30.0
"""Seconds in which a process without a request must have read the changes of a block."""

NO_RESOURCES = (MemoryError, RuntimeError, subprocess.SubprocessError)
"""The errors that Python raises where the system gives no memory, no thread or no process."""


class WorkerQueue:
    """An executor process and its queue. Optionally `start` it, run `serve` in a task, and `close` it."""

    def __init__(self, store: Store, runtimes: str) -> None:
        self._store = store
        self._runtimes = runtimes
        self._queue, self._inbox = trio.open_memory_channel[AnyRequest | Overlay](math.inf)
        self._unsent: deque[AnyRequest] = deque()
        """The requests taken from the queue, to be sent next."""
        self._sent: deque[AnyRequest] = deque()
        """The requests sent to the present process, and not answered."""
        self._held: AnyRequest | Overlay | None = None
        """The item taken from the queue that has to wait until all that was sent is answered."""
        self._child: Child | None = None
        self.blocks = 0
        """The number of blocks to be executed or built, including the current one."""
        self.load = 0
        """The number of requests that are not answered."""
        self.changed_at = trio.current_time()
        """The time at which the queue last changed between no request and some."""
        self.started = 0
        """The number of processes so far: all but the first replaced one that died."""

    @property
    def pid(self) -> int | None:
        """The id of the present process."""
        return self._child.pid if self._child else None

    @property
    def restarts(self) -> int:
        """The number of processes so far that replaced one that ended."""
        return max(self.started - 1, 0)

    @property
    def is_at_block_work(self) -> bool:
        """Whether the process has a block to execute or to build."""
        return bool(self._sent) and self._sent[0].block_work

    @property
    def working_on(self) -> int:
        """The id of the request that the process works on; 0 for none."""
        return self._child.working_on if self._child else 0

    def put(self, item: AnyRequest | Overlay) -> None:
        """Queue a request, or the overlay of a new block in the store. Raises ExecutorDied once closed."""
        try:
            self._queue.send_nowait(item)
        except trio.ClosedResourceError:
            raise _stopping() from None
        if isinstance(item, ExecutorRequest):
            self._count(1, item.block_work)

    def take_calls(self) -> list[AnyRequest]:
        """Take all calls that wait, for the queue of another process."""
        calls: list[AnyRequest] = []
        for item in self._take_waiting():
            if isinstance(item, Overlay) or item.block_work:
                self.put(item)
            else:
                calls.append(item)
        return calls

    async def idle(self, seconds: float) -> None:
        """Wait until there has been no request for so long."""
        while True:
            now = trio.current_time()
            end = (now if self.load else self.changed_at) + seconds
            if end <= now:
                return
            await trio.sleep_until(end)

    def _count(self, requests: int, blocks: int) -> None:
        """Count requests, and blocks among them, that came (positive) or went."""
        was_idle = self.load == 0
        self.load += requests
        self.blocks += blocks
        if was_idle != (self.load == 0):
            self.changed_at = trio.current_time()

    async def serve(self) -> None:
        """Process the queue until cancelled; without a process, start one first."""
        if self._child is None:
            await self._renew()
        while True:
            item, self._held = self._held, None
            if item is None:
                item = await self._inbox.receive()
            if isinstance(item, Overlay):
                await self._send_overlay(item)
            else:
                self._unsent.append(item)
                await self._converse()

    async def close(self) -> None:
        """End the process, and fail all waiting requests. Must not be cancelled."""
        self._queue.close()
        if self._child is not None:
            await self._child.end()
        for item in (*self._sent, *self._unsent, *self._take_waiting()):
            if isinstance(item, ExecutorRequest):
                item.fail(_stopping())

    def _take_waiting(self) -> list[AnyRequest | Overlay]:
        items: list[AnyRequest | Overlay] = [] if self._held is None else [self._held]
        self._held = None
        with suppress(trio.EndOfChannel, trio.WouldBlock):
            while True:
                items.append(self._inbox.receive_nowait())
        requests = [item.block_work for item in items if isinstance(item, ExecutorRequest)]
        self._count(-len(requests), -sum(requests))
        return items

    # --- the conversation

    async def _send_overlay(self, overlay: Overlay) -> None:
        if self._child is None:
            return  # the next process gets all overlays
        try:
            with trio.fail_after(OVERLAY_TIMEOUT_S):
                await _send_overlay(self._child, overlay)
        except trio.TooSlowError:
            log.warning("block #%d was not read in time: the executor process is replaced", overlay.number)
            await self._renew()
        except ExecutorDied:
            await self._renew()

    async def _converse(self) -> None:
        """Process the requests taken from the queue, and the calls that come meanwhile."""
        while self._sent or self._unsent:
            request = (self._sent or self._unsent)[0]
            if not request.sent and request.abandoned:
                self._finished(request)
                continue
            try:
                if self._child is None or not (self._sent or self._child.alive):
                    await self.start()
            except ExecutorDied as error:
                request.fail(error)
                self._finished(request)
                continue
            try:
                with trio.fail_after(request.seconds):
                    await self._exchange(request)
            except trio.TooSlowError:
                log.warning("%s took too long: the executor process is replaced", request.function)
                request.fail(Deadline(request.function, request.seconds))
                await self._renew()
            except ExecutorDied as died:
                log.warning("%s (%s): it is replaced", died, request.function)
                request.attempts += 1
                if self.working_on == request.id or request.attempts == MAX_REQUEST_ATTEMPTS:
                    request.fail(died)
                await self._renew()
            if isinstance(request.failure, OutOfMemory):
                log.warning("%s (%s): the executor process is replaced", request.failure, request.function)
                await self._renew()
            if request.done:
                self._finished(request)

    async def _exchange(self, request: AnyRequest) -> None:
        """Send what can be sent, and receive until the first of all requests is answered.

        Its caller may have left while a process was started: then it is not sent, and nothing is received.
        """
        assert self._child is not None
        await self._send_ahead(self._child)
        if not request.sent:
            return
        assembly = frames.Assembly()
        while not request.done:
            answer = await self._child.receive()
            if isinstance(answer, frames.Rows | frames.Piece):
                assembly.add(answer)
            elif isinstance(answer, frames.Ready) or answer.id != request.id:
                assembly.clear()
            else:
                request.conclude(answer, assembly)

    async def _send_ahead(self, child: Child) -> None:
        """Send the next requests: a block alone, or calls up to AHEAD."""
        encoded: list[bytes] = []
        while len(self._sent) < MAX_CALLS_AHEAD and (request := self._sendable()) is not None:
            if request.abandoned:
                self._finished(request)
                continue
            try:
                encoded += [frames.encode_frame(order) for order in request.orders]
            except ValueError as error:
                request.fail(ExecutorMessageTooLarge(str(error)))
                break  # it is the first, or will be
            self._sent.append(self._unsent.popleft())
            request.sent = True
        if encoded:
            await child.send(encoded)

    def _sendable(self) -> AnyRequest | None:
        """Return the next request, if it may be sent behind those that are sent."""
        if self._sent and self._sent[0].block_work:
            return None
        if not self._unsent and self._held is None:
            with suppress(trio.EndOfChannel, trio.WouldBlock):
                self._held = self._inbox.receive_nowait()
            if isinstance(self._held, ExecutorRequest) and not self._held.block_work:
                self._unsent.append(self._held)
                self._held = None
        if not self._unsent or (self._sent and self._unsent[0].block_work):
            return None
        return self._unsent[0]

    def _finished(self, request: AnyRequest) -> None:
        """Forget a request that is the first of the sent or of the unsent ones.

        Do nothing if it is neither: then it is forgotten already.
        """
        for queue in (self._sent, self._unsent):
            if queue and queue[0] is request:
                queue.popleft()
                self._count(-1, -request.block_work)
                return

    def _take_back(self) -> None:
        """Put back what the present process has not answered, to be sent to the next process."""
        while self._sent:
            self._unsent.appendleft(self._sent.pop())
            self._unsent[0].sent = False

    # --- processes

    async def _renew(self) -> None:
        """Start a new process at once.

        If that fails, the next request tries again and reports the error.
        """
        try:
            await self.start()
        except ExecutorDied as error:
            log.error("%s", error)

    async def start(self) -> None:
        """Start a new process, and end the present one. Raises ExecutorDied."""
        self._take_back()
        if self._child is not None:
            self._child.kill()
            await self._child.end()
            self._child = None
        try:
            await trio.to_thread.run_sync(self._store.forget_dead_readers)
            self._child = child = Child.start(self._store.database.path, self._runtimes)
        except (OSError, StoreError, *NO_RESOURCES) as error:
            raise ExecutorDied(f"the executor process cannot be started: {error}") from error
        self.started += 1
        try:
            with trio.fail_after(WORKER_START_TIMEOUT_S):
                await child.receive()  # Ready
                for overlay in self._store.overlays():
                    await _send_overlay(child, overlay)
        except (trio.TooSlowError, ExecutorDied) as error:
            child.kill()
            await child.end()
            self._child = None
            raise ExecutorDied(f"the executor process does not start: {error}") from error


async def _send_overlay(child: Child, overlay: Overlay) -> None:
    """Send all frames of an overlay, or none: calls at a block without overlay find its state unknown."""
    try:
        frames.check_rows(overlay.changes)
    except ValueError as error:
        log.error("block #%d cannot be sent to the executor process: %s", overlay.number, error)
        return
    await child.send(_overlay_frames(overlay))


def _overlay_frames(overlay: Overlay) -> Iterator[bytes]:
    yield from map(frames.encode_frame, frames.changes_in_slices(overlay.changes))
    yield frames.encode_frame(
        frames.AddOverlay(overlay.hash, overlay.parent, overlay.number, overlay.changes.root)
    )


def _stopping() -> ExecutorDied:
    return ExecutorDied("the node is stopping: no more calls are made")
