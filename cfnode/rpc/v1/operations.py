"""Operations that a client starts on a pinned block: body reads, runtime calls and storage reads.

An operation has an id, runs in a task of its own, and reports its results as events of its follow. A follow
may have 16 at a time; each storage query counts as one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.node.threads import read_in_thread
from cfnode.rpc.substrate.storage import SHORT_READS
from cfnode.rpc.table.blocks import ask_runtime
from cfnode.rpc.table.convert import to_hex
from cfnode.rpc.table.errors import one_line
from cfnode.rpc.v1.queries import BEGINNING, BELOW, Place, Query, page_from
from cfnode.runtime.calls import LocalFault

if TYPE_CHECKING:
    from cfnode.node.node import Node

MAX_OPERATIONS: Final = 16
MAX_HELD_RESULTS: Final = 2
"""Operations of a follow that compute or hold results at a time: the bound on memory for a slow client."""
CONTINUE_BYTES: Final = 1024 * 1024
"""Bytes of JSON that a walk over many keys sends before it waits for chainHead_v1_continue."""

Event = dict[str, Any]
Work = Callable[["RunningOperation"], Awaitable[None]]


class Operations:
    """The operations of one follow. `send` sends an event, and returns when the client has read it."""

    def __init__(self, send: Callable[[Event], Awaitable[None]]) -> None:
        self.send = send
        self.turns = trio.Semaphore(MAX_HELD_RESULTS)
        """The turns that operations take, each to compute a result and send it."""
        self.under_way: dict[str, RunningOperation] = {}
        self._begun = 0

    @property
    def room(self) -> int:
        """The number of operations that may still start."""
        return MAX_OPERATIONS - sum(operation.weight for operation in self.under_way.values())

    def begin(self, work: Work, weight: int) -> RunningOperation:
        """Create an operation; its `run` does the work."""
        identity = str(self._begun)
        self._begun += 1
        operation = self.under_way[identity] = RunningOperation(self, identity, work, weight)
        return operation

    def stop(self) -> None:
        """Stop all operations."""
        for operation in list(self.under_way.values()):
            operation.stop()


class RunningOperation:
    """One operation in progress."""

    def __init__(self, operations: Operations, identity: str, work: Work, weight: int) -> None:
        self.identity = identity
        self.weight = weight
        self.turns = operations.turns
        self._others = operations
        self._work = work
        self._scope = trio.CancelScope()
        self._resumed: trio.Event | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for chainHead_v1_continue."""
        return self._resumed is not None

    def resume(self) -> None:
        """Continue the operation, after chainHead_v1_continue."""
        if self._resumed is not None:
            self._resumed.set()

    def stop(self) -> None:
        """Stop the operation; it sends no more events."""
        self._forget()
        self._scope.cancel()

    async def run(self) -> None:
        """Do the work, and send its results."""
        try:
            with self._scope:
                await self._run()
        except trio.BrokenResourceError:  # the client has unsubscribed
            return
        finally:
            self._forget()

    async def _run(self) -> None:
        try:
            await self._work(self)
        except LocalFault:
            await self.send("operationInaccessible")
        except trio.BrokenResourceError:
            raise
        # An unforeseen exception costs this operation, and a log line, as it does with calls.
        except Exception as error:
            await self.send("operationError", error=one_line(error, "chainHead_v1_call"))

    async def send(self, event: str, **members: Any) -> None:
        """Send one event of this operation."""
        await self._others.send({"event": event, "operationId": self.identity, **members})

    async def wait(self) -> None:
        """Wait until the client calls chainHead_v1_continue."""
        self._resumed = trio.Event()
        await self.send("operationWaitingForContinue")
        await self._resumed.wait()
        self._resumed = None

    def _forget(self) -> None:
        self._others.under_way.pop(self.identity, None)


def body(node: Node, block: bytes) -> Work:
    """Return the work that reads the extrinsics of a block."""
    return partial(_body, node, block)


async def _body(node: Node, block: bytes, operation: RunningOperation) -> None:
    def read() -> list[str] | None:
        block_body = node.chain.body(block)
        return None if block_body is None else [to_hex(extrinsic) for extrinsic in block_body]

    async with operation.turns:
        async with SHORT_READS.of(node):
            extrinsics = await read_in_thread(read)
        if extrinsics is None:
            await operation.send("operationError", error=f"the body of {to_hex(block)} has been pruned")
        else:
            await operation.send("operationBodyDone", value=extrinsics)


def call(node: Node, block: bytes, function: str, data: bytes) -> Work:
    """Return the work that makes a runtime call and sends its output."""
    return partial(_call, node, block, function, data)


async def _call(node: Node, block: bytes, function: str, data: bytes, operation: RunningOperation) -> None:
    async with operation.turns:
        output = await ask_runtime(node, block, function, data)
        await operation.send("operationCallDone", output=to_hex(output))


def storage(node: Node, block: bytes, queries: Sequence[Query], child: bytes) -> Work:
    """Return the work that answers queries about the block's state."""
    return partial(_storage, node, block, queries, child)


async def _storage(
    node: Node, block: bytes, queries: Sequence[Query], child: bytes, operation: RunningOperation
) -> None:
    may_wait, sent_bytes = any(query.kind in BELOW for query in queries), 0
    place: Place | None = BEGINNING
    while place is not None:
        async with operation.turns:
            page = await page_from(node, block, queries, child, place)
            if page.rows:
                await operation.send("operationStorageItems", items=page.rows)
        place, sent_bytes = page.following, sent_bytes + page.size
        if may_wait and sent_bytes >= CONTINUE_BYTES and place is not None:
            await operation.wait()
            sent_bytes = 0
    await operation.send("operationStorageDone")
