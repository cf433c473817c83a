"""Execution of the next block while its parent is being written to the database.

The executor process would have nothing to do while the node writes a block, and on a slow disk that takes
longer than to execute one. So the block's overlay is sent to the process before it is written, and the next
block is queued there; but only with a valid seal, or strangers could occupy the process for nothing.

The changes of a block depend on its parent's state alone: if the write fails and is retried, they stay valid.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.core.aura import AuraError, slot_of, verify_seal
from cfnode.core.header import Header
from cfnode.core.state import Changes
from cfnode.node.chain import errors as refused
from cfnode.node.chain.queries import RuntimeQueries
from cfnode.node.chain.slots import check_digest, check_time
from cfnode.runtime.calls import RuntimeCallError
from cfnode.runtime.executor import BlockExecution, Executor
from cfnode.store import Overlay

__all__ = ["ExecutionAhead", "NextBlock"]

NextBlock = tuple[Header, Sequence[bytes]]
"""Header and body of the block that will be imported next."""


class ExecutionAhead:
    """The executor of blocks, at most one of them before its import."""

    def __init__(self, executor: Executor, queries: RuntimeQueries) -> None:
        self._executor = executor
        self._queries = queries
        self._ahead: tuple[bytes, BlockExecution] | None = None
        self._sent: tuple[bytes, int] | None = None
        """The block whose overlay was sent ahead, and the number of processes that had been started by
        then."""

    async def begin(self, parent: Header, changes: Changes, block: NextBlock, slot_now: int) -> None:
        """Send the overlay of an executed parent, and queue the next block, if its seal is valid."""
        header, body = block
        if not self._is_sealed(header, parent, slot_now):
            return
        self._sent = parent.hash, self._executor.started
        overlay = Overlay(parent.hash, parent.parent_hash, parent.number, changes)
        await self._executor.overlay_added(overlay)
        try:
            self._ahead = header.hash, self._executor.begin_block(header, body)
        except RuntimeCallError:  # its import will fail the same way
            self._ahead = None

    async def written(self, overlay: Overlay) -> None:
        """Send the overlay of a written block, unless all processes have received it ahead.

        A process that was started in between reads the overlays of written blocks, and may lack it.
        """
        if self._sent != (overlay.hash, self._executor.started):
            await self._executor.overlay_added(overlay)

    async def execute(self, header: Header, body: Sequence[bytes]) -> Changes:
        """Return the changes of a block, executed ahead or now. Raise Verdict and LocalFault."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            block, execution = ahead
            if block == header.hash:
                return await execution.changes()
            execution.abandon()
        return await self._executor.execute_block(header, body)

    def _is_sealed(self, header: Header, parent: Header, slot_now: int) -> bool:
        """Return whether the block has a valid seal, as far as is known without its parent's state."""
        authorities = self._queries.authorities_after(parent)
        if authorities is None or header.parent_hash != parent.hash or header.number != parent.number + 1:
            return False
        try:
            check_digest(header, slot_of(parent))
            verify_seal(header, authorities)
            check_time(header, slot_now)
        except (refused.ImportRefused, AuraError):
            return False
        return True
