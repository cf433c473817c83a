"""Executors that fail, and blocks to execute."""

from __future__ import annotations

from typing import Any

import trio

from cfnode.core.header import Header
from cfnode.core.state import Changes
from cfnode.node.asking.block_requests import FetchedBlock
from cfnode.runtime.calls import RuntimeCallError
from cfnode.store import Store
from tests.node.mini import LocalExecutor, Rig


class Failing(LocalExecutor):
    """Executes blocks once what is in the way has been met; `instead` are the errors of the next attempts."""

    def __init__(self, store: Store, runtime: Any) -> None:
        super().__init__(store, runtime)
        self.instead: list[Exception] = []
        self.attempts = 0
        self.call_fault: RuntimeCallError | None = None

    async def execute_block(self, header: Header, body: list[bytes]) -> Changes:
        """Execute the block, unless a failure was ordered."""
        self.attempts += 1
        if self.instead:
            await trio.lowlevel.checkpoint()
            raise self.instead.pop(0)
        return await super().execute_block(header, body)

    async def call_all(self, at: Any, calls: Any) -> list[bytes]:
        """Make the calls, unless a failure was ordered."""
        if self.call_fault is not None:
            await trio.lowlevel.checkpoint()
            raise self.call_fault
        return await super().call_all(at, calls)


def fetched(rig: Rig, block: bytes) -> FetchedBlock:
    """Return a block of the chain as if it were fetched."""
    header, body = rig.chain.header(block), rig.chain.body(block)
    assert header is not None
    assert body is not None
    return FetchedBlock(header, block, body, [])
