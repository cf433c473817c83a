"""How do requests reach one executor process, and what happens when it dies?

All requests wait in one queue and are processed in order, by the one task that talks to the process. So no
caller can interrupt the conversation: a cancelled caller just stops waiting, and its answer is dropped. If
the process dies, or exceeds its time, the current request fails. The next one gets a new process, to which
all overlays are sent first.
"""

from __future__ import annotations

import logging
import math
import subprocess
from collections.abc import Iterator
from contextlib import suppress

import trio

from cfnode.core.header import Header
from cfnode.runtime import frames
from cfnode.runtime.calls import BuiltBlock, Deadline, ExecutorDied, MessageTooLarge
from cfnode.runtime.child import Child
from cfnode.runtime.requests import Request, failure
from cfnode.store import Overlay, Store, StoreError

__all__ = ["WorkerQueue"]

log = logging.getLogger("cfnode.executor")

ATTEMPTS = 3
"""Processes that may end before they begin with a request, until the request fails."""

START_S = 30.0
"""Seconds in which a new process must be ready."""

NO_RESOURCES = (MemoryError, RuntimeError, subprocess.SubprocessError)
"""What Python raises where the system gives no memory, no thread or no process."""


class WorkerQueue:
    """An executor process and its queue. Optionally `start` it, run `serve` in a task, and `close` it."""

    def __init__(self, store: Store, runtimes: str) -> None:
        self._store = store
        self._runtimes = runtimes
        self._queue, self._inbox = trio.open_memory_channel[Request | Overlay](math.inf)
        self._in_hand: Request | None = None
        self._child: Child | None = None
        self.blocks = 0
        """Blocks to be executed or built, including the current one."""
        self.started = 0
        """Processes so far: all but the first replaced one that died."""

    @property
    def pid(self) -> int | None:
        """The present process."""
        return self._child.pid if self._child else None

    @property
    def restarts(self) -> int:
        """Processes so far that replaced one that ended."""
        return max(self.started - 1, 0)

    @property
    def is_at_block_work(self) -> bool:
        """Whether a block is being executed or built."""
        return self._in_hand is not None and self._in_hand.block_work

    def put(self, item: Request | Overlay) -> None:
        """Queue a request, or the overlay of a new block in the store; raises ExecutorDied once closed."""
        try:
            self._queue.send_nowait(item)
        except trio.ClosedResourceError:
            raise _stopping() from None
        self.blocks += _is_block_work(item)

    def move_calls_to(self, other: WorkerQueue) -> None:
        """Move all waiting calls to the queue of another process."""
        for item in self._take_waiting():
            stays = isinstance(item, Overlay) or item.block_work
            (self if stays else other).put(item)

    async def serve(self) -> None:
        """Process the queue until cancelled. Without a process, start one first."""
        if self._child is None:
            await self._renew()
        async for item in self._inbox:
            if isinstance(item, Overlay):
                await self._send_overlay(item)
                continue
            if not item.abandoned:
                self._in_hand = item
                await self._answer(item)
                self._in_hand = None
            self.blocks -= item.block_work

    async def close(self) -> None:
        """End the process, and fail all waiting requests. Must not be cancelled."""
        self._queue.close()
        if self._child is not None:
            await self._child.end()
        for item in (self._in_hand, *self._take_waiting()):
            if isinstance(item, Request):
                item.fail(_stopping())
        self._in_hand = None

    def _take_waiting(self) -> list[Request | Overlay]:
        waiting: list[Request | Overlay] = []
        with suppress(trio.EndOfChannel, trio.WouldBlock):
            while True:
                waiting.append(self._inbox.receive_nowait())
        self.blocks -= sum(map(_is_block_work, waiting))
        return waiting

    # --- the conversation

    async def _send_overlay(self, overlay: Overlay) -> None:
        if self._child is None:
            return  # the next process gets all overlays
        try:
            await self._child.send(_overlay_messages(overlay))
        except ExecutorDied:
            await self._renew()
        except ValueError as error:  # calls at this block find its state unknown
            log.error("block #%d cannot be sent to the executor process: %s", overlay.number, error)

    async def _answer(self, request: Request) -> None:
        """Process one request. If the process dies before it has begun, the request is tried again."""
        for attempt in range(ATTEMPTS):
            try:
                if self._child is None or not self._child.alive:
                    await self.start()
            except ExecutorDied as error:
                request.fail(error)
                return
            try:
                with trio.fail_after(request.seconds):
                    await self._exchange(request)
                return
            except trio.TooSlowError:
                log.warning("%s took too long: the executor process is replaced", request.function)
                request.fail(Deadline(request.function, request.seconds))
            except ExecutorDied as died:
                log.warning("%s (%s): it is replaced", died, request.function)
                if request.begun or attempt == ATTEMPTS - 1:
                    request.fail(died)
            await self._renew()
            if request.done:
                return

    async def _exchange(self, request: Request) -> None:
        assert self._child is not None
        try:
            await self._child.send(request.orders)
        except ValueError as error:
            request.fail(MessageTooLarge(str(error)))
            return
        assembly = frames.Assembly()
        while not request.done:
            answer = await self._child.receive()
            if isinstance(answer, frames.Rows | frames.Piece):
                assembly.add(answer)
            elif isinstance(answer, frames.Begun):
                request.begun = True
            elif isinstance(answer, frames.Ready) or answer.id != request.id:
                assembly.clear()
            else:
                _conclude(request, answer, assembly)

    # --- processes

    async def _renew(self) -> None:
        """Start a new process at once; if that fails, the next request tries again and reports the error."""
        try:
            await self.start()
        except ExecutorDied as error:
            log.error("%s", error)

    async def start(self) -> None:
        """Start a new process, and end the present one; raises ExecutorDied."""
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
            with trio.fail_after(START_S):
                await child.receive()  # Ready
                for overlay in self._store.overlays():
                    await child.send(_overlay_messages(overlay))
        except (trio.TooSlowError, ExecutorDied, ValueError) as error:
            child.kill()
            await child.end()
            self._child = None
            raise ExecutorDied(f"the executor process does not start: {error}") from error


def _is_block_work(item: Request | Overlay) -> bool:
    return isinstance(item, Request) and item.block_work


def _overlay_messages(overlay: Overlay) -> Iterator[frames.Order]:
    yield from frames.changes_in_slices(overlay.changes)
    yield frames.AddOverlay(overlay.hash, overlay.parent, overlay.number, overlay.changes.root)


def _conclude(
    request: Request,
    answer: frames.Output | frames.Changed | frames.Built | frames.Failed,
    assembly: frames.Assembly,
) -> None:
    match answer:
        case frames.Output():
            request.succeed(assembly.take_outputs(answer))
        case frames.Changed():
            request.succeed(assembly.take_changes(answer.root))
        case frames.Built():
            changes = assembly.take_changes(answer.root)
            request.succeed(BuiltBlock(Header.decode(answer.header), answer.body, changes, answer.refused))
        case frames.Failed():
            request.fail(failure(answer))


def _stopping() -> ExecutorDied:
    return ExecutorDied("the node is stopping: no more calls are made")
