"""How does the node ask the runtime, from many tasks at once?

All requests wait in one queue and are answered in the order they came, by the one task that speaks with the
executor process. So no caller can leave the conversation half-way: one that is cancelled just stops waiting,
and its answer is dropped. What a process does not survive, or does not finish in time, costs the request in
hand; the next one meets a new process, which is given all overlays first.
"""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress

import trio

from cfnode.core.aura import AuraError, without_seal
from cfnode.core.header import DigestItem, Header
from cfnode.core.state import Changes
from cfnode.runtime import frames
from cfnode.runtime.child import Child
from cfnode.runtime.door import (
    AtBlock,
    BlockRefused,
    BuiltBlock,
    Deadline,
    DoorError,
    ExecutorDied,
    InherentData,
    StateRef,
)
from cfnode.runtime.requests import Request, failure
from cfnode.store import Overlay, Store, UnknownBlock

__all__ = ["Executor"]

log = logging.getLogger("cfnode.executor")

CALL_S = 30.0
"""Seconds that a call may take."""

EXECUTE_S = 60.0
"""Seconds that the execution of a block may take: ten slots."""

BUILD_GRACE_S = 15.0
"""Seconds that building may go on after the last candidate: the one at work, hooks, the root."""

ATTEMPTS = 3
"""Processes that may end before they begin with a request, until it is told so."""

START_S = 30.0
"""Seconds that a new process may take to be ready."""


class Executor:
    """The door to the runtime. `async with Executor.start(store) as executor:`"""

    def __init__(self, store: Store, runtimes: str) -> None:
        self._store = store
        self._runtimes = runtimes
        self._queue, self._inbox = trio.open_memory_channel[Request | Overlay](math.inf)
        self._child: Child | None = None
        self._ids = iter(range(1, 1 << 62))
        self.started = 0
        """Processes so far, for metrics: all but the first replaced one that died."""

    @classmethod
    @asynccontextmanager
    async def start(
        cls, store: Store, *, runtimes: str = "cfnode.runtime.select:runtime_for"
    ) -> AsyncIterator[Executor]:
        """Run an executor process over this store. `runtimes` names the factory it takes runtimes from.

        Requests may be made at once; they wait until the process is ready.
        """
        executor = cls(store, runtimes)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(executor._serve)
            try:
                yield executor
            finally:
                nursery.cancel_scope.cancel()

    # --- what can be asked; each raises a DoorError, UnknownBlock or StateDiscarded, or StoreError

    async def call(self, at: StateRef, function: str, args: bytes = b"", *, seconds: float = CALL_S) -> bytes:
        """The SCALE output of a runtime function; what it writes is thrown away."""
        request = next(self._ids)
        order = frames.Call(request, at, function, args)
        answer = await self._ask(Request(request, function, seconds, [order]))
        assert isinstance(answer, bytes)
        return answer

    async def validate(self, at: AtBlock, source: int, extrinsic: bytes) -> bytes:
        """SCALE TransactionValidity of an extrinsic; source 0: in a block, 1: local, 2: external."""
        args = bytes((source,)) + extrinsic + at.hash
        return await self.call(at, "TaggedTransactionQueue_validate_transaction", args)

    async def dry_run(self, at: StateRef, extrinsic: bytes) -> bytes:
        """SCALE ApplyExtrinsicResult of an extrinsic, as if it came next after the state's block."""
        return await self.call(at, "BlockBuilder_apply_extrinsic", extrinsic)

    async def execute_block(self, header: Header, body: Sequence[bytes]) -> Changes:
        """What a sealed block changes in its parent's state; BlockRefused if its header claims otherwise."""
        try:
            unsealed, _ = without_seal(header)
        except AuraError as error:
            raise BlockRefused(str(error)) from error
        request = next(self._ids)
        order = frames.Execute(request, unsealed.encode(), list(body))
        answer = await self._ask(Request(request, "Core_execute_block", EXECUTE_S, [order]))
        assert isinstance(answer, Changes)
        return answer

    async def build_block(
        self,
        parent: bytes,
        digest: Sequence[DigestItem],
        inherents: InherentData,
        candidates: Sequence[bytes],
        deadline_s: float,
    ) -> BuiltBlock:
        """A block on `parent`, without seal; after `deadline_s` seconds no further candidate is tried."""
        above = self._store.header(parent)
        if above is None:
            raise UnknownBlock(parent)
        request = next(self._ids)
        items = [item.encode() for item in digest]
        order = frames.Build(
            request, parent, above.number + 1, items, list(inherents), list(candidates), deadline_s
        )
        answer = await self._ask(Request(request, "building a block", deadline_s + BUILD_GRACE_S, [order]))
        assert isinstance(answer, BuiltBlock)
        return answer

    async def overlay_added(self, overlay: Overlay) -> None:
        """Tell of an unfinalized block that the store holds now; requests made later see it."""
        await self._queue.send(overlay)

    @property
    def pid(self) -> int | None:
        """The present executor process, for metrics and tests."""
        return self._child.pid if self._child else None

    # --- the conversation

    async def _ask(self, request: Request) -> bytes | Changes | BuiltBlock:
        try:
            await self._queue.send(request)
        except trio.ClosedResourceError:
            raise ExecutorDied("the node is stopping: no more calls are made") from None
        return await request.answer()

    async def _serve(self) -> None:
        request: Request | Overlay | None = None
        try:
            await self._renew()
            async for request in self._inbox:
                if isinstance(request, Overlay):
                    await self._tell(request)
                elif not request.abandoned:
                    await self._answer(request)
        finally:
            self._queue.close()
            if self._child is not None:
                await self._child.end()
            self._turn_away(request)

    def _turn_away(self, current: Request | Overlay | None) -> None:
        """Nobody may wait for an answer that will never come."""
        waiting = [current]
        with suppress(trio.EndOfChannel):
            while True:
                waiting.append(self._inbox.receive_nowait())
        for request in waiting:
            if isinstance(request, Request):
                request.fail(ExecutorDied("the node is stopping: no more calls are made"))

    async def _tell(self, overlay: Overlay) -> None:
        if self._child is None:
            return  # the next process is given all of them
        try:
            await self._child.send(_overlay_messages(overlay))
        except ExecutorDied:
            await self._renew()

    async def _answer(self, request: Request) -> None:
        """Have one request answered. A process that is gone before it has begun costs no request."""
        for attempt in range(ATTEMPTS):
            try:
                if self._child is None or not self._child.alive:
                    await self._start()
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
            request.fail(DoorError(str(error)))
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
        """Try to have a new process at once; if that fails, the next request tries again and is told."""
        try:
            await self._start()
        except ExecutorDied as error:
            log.error("%s", error)

    async def _start(self) -> None:
        if self._child is not None:
            self._child.kill()
            await self._child.end()
            self._child = None
        await trio.to_thread.run_sync(self._store.forget_dead_readers)
        try:
            self._child = child = Child.start(self._store.database.path, self._runtimes)
        except OSError as error:
            raise ExecutorDied(f"the executor process cannot be started: {error}") from error
        self.started += 1
        try:
            with trio.fail_after(START_S):
                await child.receive()  # Ready
                for overlay in self._store.overlays():
                    await child.send(_overlay_messages(overlay))
        except (trio.TooSlowError, ExecutorDied) as error:
            child.kill()
            await child.end()
            self._child = None
            raise ExecutorDied(f"the executor process does not start: {error}") from error


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
            request.succeed(assembly.take_output(answer.data))
        case frames.Changed():
            request.succeed(assembly.take_changes(answer.root))
        case frames.Built():
            changes = assembly.take_changes(answer.root)
            request.succeed(BuiltBlock(Header.decode(answer.header), answer.body, changes, answer.refused))
        case frames.Failed():
            request.fail(failure(answer))
