"""How does the node ask the runtime, from many tasks at once?

One process does it all, in the order in which it is asked, until a call has to wait for a block: then a
second process is started beside it, and from then on that one has all calls and the first one all blocks.
Neither kind of work waits for the other any more. A node without such callers never pays for the second one.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import trio

from cfnode.core.aura import AuraError, without_seal
from cfnode.core.header import DigestItem, Header
from cfnode.core.state import Changes
from cfnode.runtime import frames
from cfnode.runtime.calls import (
    BlockRefused,
    BlockSource,
    BuiltBlock,
    ExecutorDied,
    InherentData,
    StateSource,
)
from cfnode.runtime.requests import Request
from cfnode.runtime.worker_queue import WorkerQueue
from cfnode.store import Overlay, Store, UnknownBlock

__all__ = ["Executor"]

log = logging.getLogger("cfnode.executor")

WASM = "cfnode.runtime.wasm.runtime:wasm_runtime"
"""The RuntimeFactory of chains whose code is WebAssembly."""

CALL_S = 30.0
"""Seconds that a call may take."""

EXECUTE_S = 60.0
"""Seconds that the execution of a block may take: ten slots."""

BUILD_GRACE_S = 15.0
"""Seconds that building may go on after the last candidate: the one at work, hooks, the root."""

PATIENCE_S = 0.05
"""Seconds that a call waits for blocks before a second process is started: a small block takes less."""


class Executor:
    """The door to the runtime. `async with Executor.start(store) as executor:`"""

    def __init__(self, store: Store, runtimes: str, nursery: trio.Nursery) -> None:
        self._store = store
        self._runtimes = runtimes
        self._nursery = nursery
        self._first = WorkerQueue(store, runtimes)
        self._beside: WorkerQueue | None = None
        """Starting or started; it has the calls once it is ready."""
        self._calls = self._first
        self._ids = iter(range(1, 1 << 62))

    @classmethod
    @asynccontextmanager
    async def start(cls, store: Store, *, runtimes: str = WASM) -> AsyncIterator[Executor]:
        """Run an executor process over this store. `runtimes` names the factory it takes runtimes from.

        Requests may be made at once; they wait until the process is ready.
        """
        async with trio.open_nursery() as nursery:
            executor = cls(store, runtimes, nursery)
            nursery.start_soon(executor._serve)
            try:
                yield executor
            finally:
                nursery.cancel_scope.cancel()

    # --- what can be asked; each raises a Verdict, a LocalFault, UnknownBlock or StateDiscarded

    async def call(
        self, at: StateSource, function: str, args: bytes = b"", *, seconds: float = CALL_S
    ) -> bytes:
        """The SCALE output of a runtime function; what it writes is thrown away."""
        (output,) = await self.call_all(at, [(function, args)], seconds=seconds)
        return output

    async def call_all(
        self, at: StateSource, calls: Sequence[tuple[str, bytes]], *, seconds: float = CALL_S
    ) -> list[bytes]:
        """The outputs of calls (function, args) on one state, in one message each way; at least one call.

        They see nothing of each other. The first that fails fails all; the time is that of all together.
        """
        request = next(self._ids)
        order = frames.Call(request, at, list(calls))
        answer = await self._ask(Request(request, calls[0][0], seconds, [order]), self._calls)
        assert isinstance(answer, list)
        return answer

    async def prove_call(self, at: BlockSource, function: str, args: bytes = b"") -> bytes:
        """The encoded proof (`core.trie.encode_proof`) of what a call reads, for whoever has no state."""
        request = next(self._ids)
        order = frames.Call(request, at, [(function, args)], prove=True)
        answer = await self._ask(Request(request, f"the proof of {function}", CALL_S, [order]), self._calls)
        assert isinstance(answer, list)
        return answer[0]

    async def validate(self, at: BlockSource, source: int, extrinsic: bytes) -> bytes:
        """SCALE TransactionValidity of an extrinsic; source 0: in a block, 1: local, 2: external."""
        args = bytes((source,)) + extrinsic + at.hash
        return await self.call(at, "TaggedTransactionQueue_validate_transaction", args)

    async def dry_run(self, at: StateSource, extrinsic: bytes) -> bytes:
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
        answer = await self._ask(
            Request(request, "Core_execute_block", EXECUTE_S, [order], block_work=True), self._first
        )
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
        seconds = deadline_s + BUILD_GRACE_S
        answer = await self._ask(
            Request(request, "building a block", seconds, [order], block_work=True), self._first
        )
        assert isinstance(answer, BuiltBlock)
        return answer

    async def overlay_added(self, overlay: Overlay) -> None:
        """Tell of an unfinalized block that the store holds now; requests made later see it."""
        await trio.lowlevel.checkpoint_if_cancelled()
        with suppress(ExecutorDied):  # no requests are made later
            for line in self._lines:
                line.put(overlay)
        await trio.lowlevel.cancel_shielded_checkpoint()

    @property
    def pid(self) -> int | None:
        """The present process that has the blocks, for metrics and tests."""
        return self._first.pid

    @property
    def pids(self) -> list[int]:
        """All present processes: one, or two."""
        return [line.pid for line in self._lines if line.pid is not None]

    @property
    def started(self) -> int:
        """Processes so far, for metrics."""
        return sum(line.started for line in self._lines)

    # --- who answers

    @property
    def _lines(self) -> list[WorkerQueue]:
        return [self._first] if self._beside is None else [self._first, self._beside]

    async def _ask(self, request: Request, line: WorkerQueue) -> list[bytes] | Changes | BuiltBlock:
        try:
            line.put(request)
        except ExecutorDied:
            await trio.lowlevel.checkpoint_if_cancelled()  # a caller that is stopped as well ends quietly
            raise
        try:
            if not request.block_work:
                await self._watch(request)
            return await request.answer()
        finally:
            request.abandoned = True

    async def _watch(self, call: Request) -> None:
        """Have the second process started if the call waits for blocks. What comes later is behind it."""
        while self._calls is self._first and self._first.blocks > 0 and not (call.begun or call.done):
            with trio.move_on_after(PATIENCE_S):
                await call.wait()
            if self._first.at_block_work and not call.done:
                self._help()
                return

    def _help(self) -> None:
        if self._beside is None:
            self._beside = WorkerQueue(self._store, self._runtimes)
            self._nursery.start_soon(self._serve_beside, self._beside)

    async def _serve(self) -> None:
        try:
            await self._first.serve()
        finally:
            await self._first.close()

    async def _serve_beside(self, line: WorkerQueue) -> None:
        """Run a second process. If it does not start, one goes on with all, and the next call tries again."""
        try:
            await line.start()
        except ExecutorDied as error:
            log.warning("calls still wait for blocks: %s", error)
            self._beside = None
        else:
            log.debug("calls go on beside blocks, in a process of their own")
            self._first.hand_calls_to(line)
            self._calls = line
            await line.serve()
        finally:
            await line.close()
