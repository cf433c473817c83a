"""Local faults: retries and reports of blocks that this node cannot verify through no fault of theirs.

The executor was killed, ran out of time or memory, or the disk is full: neither the block nor the peer that
sent it is to blame. The import is retried, with growing pauses, and each attempt is logged. After several
failed attempts the node is not ready for clients, and reports it (`/health/readiness`, metrics).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import trio

from cfnode.core.block import BlockRef
from cfnode.core.bounded import BoundedDict
from cfnode.node.chain.errors import ImportRefused
from cfnode.runtime.calls import LocalFault, StoreFault, UnsupportedCode
from cfnode.store import StateDiscarded, StoreError, UnknownBlock

__all__ = ["ATTEMPTS_BEFORE_NOT_READY", "LocalFaults", "retry_after_fault", "retry_import", "stored"]

log = logging.getLogger("cfnode.sync")

ATTEMPTS_BEFORE_NOT_READY = 3
"""Failed attempts of one block before the node reports that it is not ready: one kill is not enough."""

MAX_FAULTY_BLOCKS = 64
"""Blocks whose faults are kept: there are few unfinalized ones, and only the newest matter."""

RETRY_PAUSES_S = (0.1, 0.5, 2.0, 4.0)
"""Seconds between attempts: a new executor process is ready in less than one; a full disk takes longer."""

MAX_RETRY_S = 30.0
"""Seconds after which a block is not retried at once: other blocks wait for it, perhaps on another fork."""


SHORT_PAUSES_S = (0.1, 0.5, 2.0)
"""Seconds between attempts of a query, for which a client waits."""

T = TypeVar("T")


@dataclass(slots=True)
class _Failing:
    number: int
    attempts: int
    reason: str


class LocalFaults:
    """The blocks that this node could not verify, and the number of attempts.

    `total`: faults so far. `results`: attempts to import a block, by Substrate's name for the result.
    """

    def __init__(self) -> None:
        self.total = 0
        self.results = {"success": 0, "verification_failed": 0, "failed": 0}
        self._blocks = BoundedDict[bytes, _Failing](MAX_FAULTY_BLOCKS)

    @contextmanager
    def judging(self, block: BlockRef) -> Iterator[None]:
        """Import a block inside the `with`: record whether this node could verify it.

        Its parent must be in the tree, so a missing state is a local fault, too.
        """
        try:
            yield
        except (UnknownBlock, StateDiscarded) as error:
            fault = StoreFault(f"the state of its parent is missing: {error}")
            self._note(block, fault)
            raise fault from error
        except LocalFault as fault:
            self._note(block, fault)
            raise
        except ImportRefused:
            self.results["verification_failed"] += 1
            self._blocks.pop(block.hash, None)
            raise
        self.results["success"] += 1
        self._blocks.pop(block.hash, None)

    def _note(self, block: BlockRef, fault: Exception) -> None:
        self.total += 1
        self.results["failed"] += 1
        before = self._blocks.get(block.hash)
        attempts = 1 if before is None else before.attempts + 1
        self._blocks.put_last(block.hash, _Failing(block.number, attempts, str(fault)))

    def final_at(self, number: int) -> None:
        """Forget the blocks up to this final number."""
        for block in [block for block, fault in self._blocks.items() if fault.number <= number]:
            del self._blocks[block]

    @property
    def failing(self) -> int:
        """The number of blocks that have failed several times."""
        return sum(fault.attempts >= ATTEMPTS_BEFORE_NOT_READY for fault in self._blocks.values())

    @property
    def reason(self) -> str | None:
        """The newest block that has failed several times, and the reason; None without one."""
        for fault in reversed(self._blocks.values()):
            if fault.attempts >= ATTEMPTS_BEFORE_NOT_READY:
                return (
                    f"block #{fault.number} cannot be executed by this node "
                    f"({fault.attempts} attempts): {fault.reason}"
                )
        return None


@contextmanager
def stored() -> Iterator[None]:
    """Write to the store inside the `with`: a StoreError becomes a local fault."""
    try:
        yield
    except StoreError as error:
        raise StoreFault(str(error)) from error


async def retry_import(block: BlockRef, attempt: Callable[[], Awaitable[bool]]) -> bool:
    """Return the result of `attempt` at this block, retried after local faults. Raise the last fault."""
    began = trio.current_time()
    for pause in RETRY_PAUSES_S:
        try:
            return await attempt()
        except UnsupportedCode:
            raise  # the next attempt would run the same code
        except LocalFault as fault:
            if trio.current_time() - began > MAX_RETRY_S:
                raise
            log.warning("Block #%d (0x%s) could not be executed by this node, through no fault of the block; "
                        "retrying in %g s: %s", block.number, block.hash.hex(), pause, fault)  # fmt: skip
        await trio.sleep(pause)
    return await attempt()


async def retry_after_fault(ask: Callable[[], Awaitable[T]]) -> T:
    """Return the answer of `ask`, retried after local faults. Raise the last fault.

    A killed process must not fail a client's call.
    """
    for pause in SHORT_PAUSES_S:
        try:
            return await ask()
        except UnsupportedCode:
            raise
        except LocalFault as fault:
            log.warning("Retrying a runtime call in %g s: %s", pause, fault)
        await trio.sleep(pause)
    return await ask()
