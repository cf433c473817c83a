"""How do fetched blocks come into the chain?

Each passes the chain's own gate (slot, seal, execution). One that does not is never taken again; a block from
the future, and one that this node could not judge for a reason of its own, is left for later, and said aloud.
Of many blocks only the newest justification is used: it proves those below it too, up to a change of the
authorities.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence

import trio

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import ENGINE, scheduled_change
from cfnode.node.chain import Chain
from cfnode.node.chain_errors import (
    BadJustification,
    FinalityRefused,
    FutureSlot,
    ImportRefused,
    UnknownParent,
)
from cfnode.node.local_faults import tried_again
from cfnode.node.sync.blocks import FetchedBlock
from cfnode.node.sync.progress import Progress
from cfnode.runtime.calls import LocalFault
from cfnode.store import StateDiscarded, UnknownBlock

__all__ = ["BadBlock", "Imports"]

log = logging.getLogger("cfnode.sync")

MAX_BAD = 1_024
"""Blocks remembered as bad."""

FINAL_EACH = 16
"""Blocks that are made final in one step."""

CLOCK_S = 15.0
"""Seconds between two warnings about the clock: each block from the future has the same cause."""


class BadBlock(Exception):
    """A block that the chain refuses for good; the text names it and says why."""


class Imports:
    """Gives the chain blocks of peers, one at a time, and knows those that it refused.

    `moved`: called for each block that is taken. `refuted`: called with a peer whose justification does not
    hold, and the reason.
    """

    def __init__(
        self,
        chain: Chain,
        progress: Progress,
        moved: Callable[[], None],
        refuted: Callable[[str, str], None],
    ) -> None:
        self._chain = chain
        self._progress = progress
        self._moved = moved
        self._refuted = refuted
        self._bad: OrderedDict[bytes, None] = OrderedDict()
        self._warned = float("-inf")

    def is_bad(self, block: bytes) -> bool:
        """Was it refused, of late?"""
        return block in self._bad

    async def take(self, peer: str, blocks: Sequence[FetchedBlock]) -> bool:
        """Import blocks of a peer, oldest first; False where one finds no place now. Raises BadBlock."""
        waiting: list[FetchedBlock] = []
        try:
            for block in blocks:
                if not await self._take(peer, block):
                    return False
                waiting.append(block)
                if len(waiting) == FINAL_EACH or scheduled_change(block.header) is not None:
                    await self._finalize(peer, waiting)
                    waiting = []
        finally:
            await self._finalize(peer, waiting)
        return True

    async def _take(self, peer: str, block: FetchedBlock) -> bool:
        number = block.header.number
        if block.hash in self._bad:
            raise BadBlock(f"block #{number} is bad")
        try:
            await tried_again(
                BlockRef(block.hash, number), lambda: self._chain.import_block(block.header, block.body)
            )
        except FutureSlot as error:
            self.warn_of_clock(f"Block #{number} of {peer} is left for later", error)
            return False
        except (UnknownParent, UnknownBlock, StateDiscarded) as error:
            log.debug("Block #%d of %s has no place: %s", number, peer, error)
            return False
        except LocalFault as fault:
            log.error("Block #%d is left for later: this node cannot execute it, through no fault of %s: %s",
                      number, peer, fault)  # fmt: skip
            return False
        except ImportRefused as error:
            self.mark_bad(block.hash)
            raise BadBlock(f"block #{number}: {error}") from error
        self._progress.steps += 1
        self._moved()
        return True

    async def _finalize(self, peer: str, blocks: Sequence[FetchedBlock]) -> None:
        """By the newest justification that is of use; one that does not hold costs its peer."""
        for block in reversed(blocks):
            justification = dict(block.justifications).get(ENGINE)
            if justification is None and not self._chain.is_expected(block.hash):
                continue
            if block.header.number <= self._chain.finalized.number:
                return
            try:
                await self._chain.finalize(block.hash, justification)
            except BadJustification as error:
                self._refuted(peer, f"a justification that does not hold: {error}")
            except FinalityRefused as error:
                log.debug("Block #%d is not final yet: %s", block.header.number, error)
            except LocalFault as fault:  # its votes come again with a later block
                log.warning("Block #%d is not final yet: %s", block.header.number, fault)

    def warn_of_clock(self, what: str, error: FutureSlot) -> None:
        """A sealed block lies in the future: the author's clock is wrong, or ours is."""
        now = trio.current_time()
        if now - self._warned >= CLOCK_S:
            self._warned = now
            log.warning("%s (is the clock right?): %s", what, error)

    def mark_bad(self, block: bytes) -> None:
        """It must not be taken, whoever offers it."""
        self._bad[block] = None
        while len(self._bad) > MAX_BAD:
            self._bad.popitem(last=False)
