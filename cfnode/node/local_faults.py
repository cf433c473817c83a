"""What does the node do about a block that it cannot judge, for a reason of its own?

The executor was killed, ran out of time or memory, the disk is full: none of that says anything of the block
or of the peer that sent it. The same block is tried again, with growing pauses, and each attempt is logged.
Where several have failed, the node is not fit to be asked, and says so (`/health/readiness`, metrics).
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import trio

from cfnode.core.block import BlockRef
from cfnode.node.chain_errors import ImportRefused
from cfnode.runtime.calls import LocalFault, StoreFault, UnsupportedCode
from cfnode.store import StateDiscarded, StoreError, UnknownBlock

__all__ = ["MANY", "LocalFaults", "retry_after_fault", "stored", "tried_again"]

log = logging.getLogger("cfnode.sync")

MANY = 3
"""Attempts of one block that fail before the node says that it is not fit: one kill is no reason to."""

MAX_BLOCKS = 64
"""Blocks whose faults are remembered: the unfinalized ones are few, and only the newest are asked for."""

PAUSES_S = (0.1, 0.5, 2.0, 4.0)
"""Seconds between attempts: a new executor process is ready in less than one; a full disk takes longer."""

MAX_RETRY_S = 30.0
"""Seconds after which a block is not tried again at once: others wait behind it, perhaps on another fork."""


SHORT_PAUSES_S = (0.1, 0.5, 2.0)
"""The same for a question that somebody waits for."""

T = TypeVar("T")


@dataclass(slots=True)
class _Failing:
    number: int
    attempts: int
    reason: str


class LocalFaults:
    """The blocks that this node could not judge, and how often it has tried. `total`: faults so far."""

    def __init__(self) -> None:
        self.total = 0
        self._blocks: OrderedDict[bytes, _Failing] = OrderedDict()

    @contextmanager
    def judging(self, block: BlockRef) -> Iterator[None]:
        """Import a block in the `with`: remember whether this node could come to a judgement of it.

        Its parent must be in the tree, so a state that is missing is missing here alone: a local fault too.
        """
        try:
            yield
        except (UnknownBlock, StateDiscarded) as error:
            fault = StoreFault(f"the state of its parent is not at hand: {error}")
            self._note(block, fault)
            raise fault from error
        except LocalFault as fault:
            self._note(block, fault)
            raise
        except ImportRefused:
            self._blocks.pop(block.hash, None)
            raise
        self._blocks.pop(block.hash, None)

    def _note(self, block: BlockRef, fault: Exception) -> None:
        self.total += 1
        before = self._blocks.pop(block.hash, None)
        attempts = 1 if before is None else before.attempts + 1
        self._blocks[block.hash] = _Failing(block.number, attempts, str(fault))
        while len(self._blocks) > MAX_BLOCKS:
            self._blocks.popitem(last=False)

    def final_at(self, number: int) -> None:
        """Blocks up to this number do not matter any more."""
        for block in [block for block, failing in self._blocks.items() if failing.number <= number]:
            del self._blocks[block]

    @property
    def failing(self) -> int:
        """How many blocks have failed several times."""
        return sum(failing.attempts >= MANY for failing in self._blocks.values())

    @property
    def reason(self) -> str | None:
        """Which block has failed several times, and why; None where there is none."""
        for failing in reversed(self._blocks.values()):
            if failing.attempts >= MANY:
                return (
                    f"block #{failing.number} cannot be executed by this node "
                    f"({failing.attempts} attempts): {failing.reason}"
                )
        return None


@contextmanager
def stored() -> Iterator[None]:
    """Write to the store; what the disk refuses is a local fault, as what the executor refuses is."""
    try:
        yield
    except StoreError as error:
        raise StoreFault(str(error)) from error


async def tried_again(block: BlockRef, attempt: Callable[[], Awaitable[bool]]) -> bool:
    """What `attempt` at this block returns, made again while a local fault is in the way; raises the last."""
    began = trio.current_time()
    for pause in PAUSES_S:
        try:
            return await attempt()
        except UnsupportedCode:
            raise  # the next attempt, a moment later, meets the same code
        except LocalFault as fault:
            if trio.current_time() - began > MAX_RETRY_S:
                raise
            log.warning("Block #%d (0x%s) could not be executed by this node, through no fault of the block; "
                        "tried again in %g s: %s", block.number, block.hash.hex(), pause, fault)  # fmt: skip
        await trio.sleep(pause)
    return await attempt()


async def retry_after_fault(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer, asked for again after a local fault: no caller shall pay for a process that was killed."""
    for pause in SHORT_PAUSES_S:
        try:
            return await ask()
        except UnsupportedCode:
            raise
        except LocalFault as fault:
            log.warning("A question is asked again in %g s: %s", pause, fault)
        await trio.sleep(pause)
    return await ask()
