"""What is done for a client that follows the head of the chain? Bodies, runtime calls and storage reads.

An operation has an id, runs beside the connection, and says what it found in events of its follow. A follow
may have 16 at a time; each question about storage counts as one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import trio

from cfnode.rpc.blocks import ask_runtime
from cfnode.rpc.convert import to_hex
from cfnode.rpc.errors import words
from cfnode.rpc.storage import SHORT_READS
from cfnode.rpc.v1.queries import BEGINNING, BELOW, Place, Query, page_from
from cfnode.runtime.calls import LocalFault

if TYPE_CHECKING:
    from cfnode.node.node import Node

MAX_OPERATIONS: Final = 16
MAX_ANSWERS: Final = 2
"""Operations that have something to tell, or are finding it: what a slow reader can make us keep."""
BREATH: Final = 1024 * 1024
"""Bytes of JSON that a walk over many keys tells before it waits for chainHead_v1_continue."""

Event = dict[str, Any]
Work = Callable[["Operation"], Awaitable[None]]


class Operations:
    """Those of one follow. `tell` hands an event over, once the client takes it."""

    def __init__(self, tell: Callable[[Event], Awaitable[None]]) -> None:
        self.tell = tell
        self.turns = trio.Semaphore(MAX_ANSWERS)
        """Whoever finds something to tell takes a turn until it is told."""
        self.under_way: dict[str, Operation] = {}
        self._begun = 0

    @property
    def room(self) -> int:
        """How many more may begin."""
        return MAX_OPERATIONS - sum(operation.weight for operation in self.under_way.values())

    def begin(self, work: Work, weight: int) -> Operation:
        """A new one, which its `run` sets to work."""
        identity = str(self._begun)
        self._begun += 1
        operation = self.under_way[identity] = Operation(self, identity, work, weight)
        return operation

    def stop(self) -> None:
        """End all."""
        for operation in list(self.under_way.values()):
            operation.stop()


class Operation:
    """One that has begun, as long as it is under way."""

    def __init__(self, all_of_them: Operations, identity: str, work: Work, weight: int) -> None:
        self.identity = identity
        self.weight = weight
        self.turns = all_of_them.turns
        self._others = all_of_them
        self._work = work
        self._scope = trio.CancelScope()
        self._go_on: trio.Event | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for chainHead_v1_continue."""
        return self._go_on is not None

    def go_on(self) -> None:
        """End the wait."""
        if self._go_on is not None:
            self._go_on.set()

    def stop(self) -> None:
        """End it; it says nothing more."""
        self._forget()
        self._scope.cancel()

    async def run(self) -> None:
        """Do the work, and say what came of it."""
        try:
            with self._scope:
                await self._run()
        except trio.BrokenResourceError:  # the client has left
            return
        finally:
            self._forget()

    async def _run(self) -> None:
        try:
            await self._work(self)
        except LocalFault:
            await self.tell("operationInaccessible")
        except trio.BrokenResourceError:
            raise
        # As with calls: whatever was not foreseen costs this operation, and a line in the log.
        except Exception as error:
            await self.tell("operationError", error=words(error, "chainHead_v1_call"))

    async def tell(self, event: str, **members: Any) -> None:
        """One event of it."""
        await self._others.tell({"event": event, "operationId": self.identity, **members})

    async def wait(self) -> None:
        """Ask the client to say when it has read what it was told."""
        self._go_on = trio.Event()
        await self.tell("operationWaitingForContinue")
        await self._go_on.wait()
        self._go_on = None

    def _forget(self) -> None:
        self._others.under_way.pop(self.identity, None)


def body(node: Node, block: bytes) -> Work:
    """The extrinsics of a block."""
    return partial(_body, node, block)


async def _body(node: Node, block: bytes, operation: Operation) -> None:
    def read() -> list[str] | None:
        found = node.chain.body(block)
        return None if found is None else [to_hex(extrinsic) for extrinsic in found]

    async with operation.turns:
        async with SHORT_READS:
            extrinsics = await trio.to_thread.run_sync(read)
        if extrinsics is None:
            await operation.tell("operationError", error=f"the body of {to_hex(block)} has been pruned")
        else:
            await operation.tell("operationBodyDone", value=extrinsics)


def call(node: Node, block: bytes, function: str, data: bytes) -> Work:
    """The output of a runtime call."""
    return partial(_call, node, block, function, data)


async def _call(node: Node, block: bytes, function: str, data: bytes, operation: Operation) -> None:
    async with operation.turns:
        output = await ask_runtime(node, block, function, data)
        await operation.tell("operationCallDone", output=to_hex(output))


def storage(node: Node, block: bytes, queries: Sequence[Query], child: bytes) -> Work:
    """The answers to questions about the block's state."""
    return partial(_storage, node, block, queries, child)


async def _storage(
    node: Node, block: bytes, queries: Sequence[Query], child: bytes, operation: Operation
) -> None:
    may_wait, told = any(query.kind in BELOW for query in queries), 0
    place: Place | None = BEGINNING
    while place is not None:
        async with operation.turns:
            page = await page_from(node, block, queries, child, place)
            if page.rows:
                await operation.tell("operationStorageItems", items=page.rows)
        place, told = page.following, told + page.size
        if may_wait and told >= BREATH and place is not None:
            await operation.wait()
            told = 0
    await operation.tell("operationStorageDone")
