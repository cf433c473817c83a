"""The executor: runtime calls of many tasks of the node, made in executor processes.

One process makes all calls in order, until a call has to wait for a block, or until the process never rests.
Then processes for calls are started (`call_workers.py`), and the first process executes and builds all
blocks. Neither kind of work waits for the other any more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import trio

from cfnode.core.aura import AuraError, without_seal
from cfnode.core.header import DigestItem, Header
from cfnode.core.state import Changes
from cfnode.runtime import frames, requests
from cfnode.runtime.call_workers import CallWorkers
from cfnode.runtime.calls import (
    BlockRefused,
    BlockSource,
    BuiltBlock,
    ExecutorDied,
    InherentData,
    StateSource,
)
from cfnode.runtime.requests import ExecutorRequest
from cfnode.runtime.worker_queue import WorkerQueue
from cfnode.store import Overlay, Store, UnknownBlock

__all__ = ["BlockExecution", "Executor"]

T = TypeVar("T")

WASM = "cfnode.runtime.wasm.runtime:wasm_runtime"
"""The RuntimeFactory of chains whose code is WebAssembly."""

CALL_TIMEOUT_S = 30.0
"""Seconds that a call may take."""

BLOCK_TIMEOUT_S = 60.0
"""Seconds that the execution of a block may take: ten slots."""

BUILD_GRACE_S = 15.0
"""Seconds for the rest of the building after the deadline: the current candidate, hooks, the root."""


class BlockExecution:
    """A block that is being executed, or will be. Wait for its `changes`, or `abandon` it."""

    def __init__(self, request: ExecutorRequest[Changes]) -> None:
        self._request = request

    async def changes(self) -> Changes:
        """Return the changes of the block to its parent's state. Raises Verdict and LocalFault."""
        try:
            return await self._request.answer()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Give the execution up: the changes are not needed any more."""
        self._request.abandoned = True


class Executor:
    """The executor processes and their queues.

    `async with Executor.start(store) as executor:` runs them.
    """

    def __init__(self, store: Store, runtimes: str, nursery: trio.Nursery, call_processes: int) -> None:
        self._store = store
        self._first = WorkerQueue(store, runtimes)
        self._calls = CallWorkers(
            self._first, lambda: WorkerQueue(store, runtimes), nursery, limit=call_processes
        )
        self._ids = iter(range(1, 1 << 62))

    @classmethod
    @asynccontextmanager
    async def start(
        cls, store: Store, *, runtimes: str = WASM, call_processes: int = 1
    ) -> AsyncIterator[Executor]:
        """Run an executor process over this store.

        `runtimes` names its RuntimeFactory. `call_processes`: the maximum number of processes for calls
        besides it. Those after the first one are for calls that wait for other calls.

        Requests may be made at once; they wait until the process is ready.
        """
        async with trio.open_nursery() as nursery:
            executor = cls(store, runtimes, nursery, call_processes)
            nursery.start_soon(executor._serve)
            try:
                yield executor
            finally:
                nursery.cancel_scope.cancel()

    # --- calls and blocks; each raises a Verdict, a LocalFault, UnknownBlock or StateDiscarded

    async def call(
        self, at: StateSource, function: str, args: bytes = b"", *, seconds: float = CALL_TIMEOUT_S
    ) -> bytes:
        """Return the SCALE output of a runtime function; its writes are discarded."""
        (output,) = await self.call_all(at, [(function, args)], seconds=seconds)
        return output

    async def call_all(
        self, at: StateSource, calls: Sequence[tuple[str, bytes]], *, seconds: float = CALL_TIMEOUT_S
    ) -> list[bytes]:
        """Return the outputs of calls (function, args) on one state, in one message each way.

        There must be at least one call. The calls are independent of each other. The first failure fails all;
        the time limit is for all together.
        """
        request = next(self._ids)
        order = frames.CallOrder(request, at, list(calls))
        return await self._ask(ExecutorRequest(request, calls[0][0], seconds, [order], requests.outputs))

    async def prove_call(self, at: BlockSource, function: str, args: bytes = b"") -> bytes:
        """Return the encoded proof of what a call reads, for a peer without the state.

        `core.trie.encode_proof` encodes it.
        """
        request = next(self._ids)
        order = frames.CallOrder(request, at, [(function, args)], prove=True)
        name = f"the proof of {function}"
        (proof,) = await self._ask(ExecutorRequest(request, name, CALL_TIMEOUT_S, [order], requests.outputs))
        return proof

    async def validate(self, at: BlockSource, source: int, extrinsic: bytes) -> bytes:
        """Return the SCALE TransactionValidity of an extrinsic.

        `source`: 0 in a block, 1 local, 2 external.
        """
        args = bytes((source,)) + extrinsic + at.hash
        return await self.call(at, "TaggedTransactionQueue_validate_transaction", args)

    async def dry_run(self, at: StateSource, extrinsic: bytes) -> bytes:
        """Return the SCALE ApplyExtrinsicResult of an extrinsic, as if it came next after the block."""
        return await self.call(at, "BlockBuilder_apply_extrinsic", extrinsic)

    async def execute_block(self, header: Header, body: Sequence[bytes]) -> Changes:
        """Return the changes of a sealed block to its parent's state.

        Raises BlockRefused if its header does not match.
        """
        return await self.begin_block(header, body).changes()

    def begin_block(self, header: Header, body: Sequence[bytes]) -> BlockExecution:
        """Queue the execution of a sealed block."""
        try:
            unsealed, _ = without_seal(header)
        except AuraError as error:
            raise BlockRefused(str(error)) from error
        request = next(self._ids)
        order = frames.Execute(request, unsealed.encode(), list(body))
        execution = ExecutorRequest(
            request, "Core_execute_block", BLOCK_TIMEOUT_S, [order], requests.changes, block_work=True
        )
        self._first.put(execution)
        return BlockExecution(execution)

    async def build_block(
        self,
        parent: bytes,
        digest: Sequence[DigestItem],
        inherents: InherentData,
        candidates: Sequence[bytes],
        deadline_s: float,
    ) -> BuiltBlock:
        """Build a block on `parent`, without seal.

        After `deadline_s` seconds no further candidate is tried. Raises UnknownBlock.
        """
        parent_header = self._store.header(parent)
        if parent_header is None:
            raise UnknownBlock(parent)
        request = next(self._ids)
        items = [item.encode() for item in digest]
        order = frames.Build(
            request, parent, parent_header.number + 1, items, list(inherents), list(candidates), deadline_s
        )
        seconds = deadline_s + BUILD_GRACE_S
        return await self._ask(
            ExecutorRequest(request, "building a block", seconds, [order], requests.built, block_work=True)
        )

    async def overlay_added(self, overlay: Overlay) -> None:
        """Send the overlay of a new unfinalized block to the processes; later requests see it."""
        await trio.lowlevel.checkpoint_if_cancelled()
        with suppress(ExecutorDied):  # no requests are made later
            for worker in self._workers:
                worker.put(overlay)
        await trio.lowlevel.cancel_shielded_checkpoint()

    @property
    def pid(self) -> int | None:
        """The id of the present process that executes blocks, for metrics and tests."""
        return self._first.pid

    @property
    def pids(self) -> list[int]:
        """The ids of all present processes: that of the process for blocks first."""
        return [worker.pid for worker in self._workers if worker.pid is not None]

    @property
    def restarts(self) -> int:
        """The number of processes so far that replaced one that ended, for metrics."""
        return self._first.restarts + self._calls.restarts

    @property
    def started(self) -> int:
        """The number of processes so far, for metrics."""
        return self._first.started + self._calls.started

    # --- processes

    @property
    def _workers(self) -> list[WorkerQueue]:
        return [self._first, *self._calls.all]

    async def _ask(self, request: ExecutorRequest[T]) -> T:
        try:
            (self._first if request.block_work else self._calls).put(request)
        except ExecutorDied:
            await trio.lowlevel.checkpoint_if_cancelled()  # a caller that is cancelled too ends quietly
            raise
        try:
            if not request.block_work:
                await self._calls.watch(request)
            return await request.answer()
        finally:
            request.abandoned = True

    async def _serve(self) -> None:
        try:
            await self._first.serve()
        finally:
            await self._first.close()
