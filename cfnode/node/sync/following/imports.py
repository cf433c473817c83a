"""Import of fetched blocks: retries, bad blocks, and finality by their justifications.

The chain verifies each block (slot, seal, execution). A bad block is never imported again. A block from the
future, and one that this node could not execute because of a local fault, is postponed with a message in the
log. Of many blocks only the newest justification is used: it proves the blocks below it too, up to a change
of the authorities.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import trio

from cfnode.core.block import BlockRef
from cfnode.core.bounded import BoundedDict
from cfnode.core.grandpa import ENGINE, scheduled_change
from cfnode.node.asking.block_requests import FetchedBlock
from cfnode.node.asking.progress import SyncProgress
from cfnode.node.chain.chain import NodeChain
from cfnode.node.chain.errors import (
    BadJustification,
    FinalityRefused,
    FutureSlot,
    ImportRefused,
    UnknownParent,
)
from cfnode.node.chain.local_faults import retry_import
from cfnode.runtime.calls import LocalFault
from cfnode.store import StateDiscarded, UnknownBlock

__all__ = ["BadBlock", "Imports"]

log = logging.getLogger("cfnode.sync")

MAX_BAD = 1_024
"""Blocks remembered as bad."""

FINALIZE_EVERY = 16
"""Blocks that are finalized in one step."""

CLOCK_WARNING_INTERVAL_S = 15.0
"""Seconds between two warnings about the clock: each block from the future has the same cause."""


class BadBlock(Exception):
    """A block that the chain refuses for good; the text names the block and the reason."""


class Imports:
    """The importer of peers' blocks, one at a time, which remembers the bad ones.

    `on_imported`: called for each imported block. `on_bad_justification`: called with a peer that sent an
    invalid justification, and the reason.
    """

    def __init__(
        self,
        chain: NodeChain,
        progress: SyncProgress,
        on_imported: Callable[[], None],
        on_bad_justification: Callable[[str, str], None],
    ) -> None:
        self._chain = chain
        self._progress = progress
        self._on_imported = on_imported
        self._on_bad_justification = on_bad_justification
        self._bad = BoundedDict[bytes, None](MAX_BAD)
        self._warned_at = float("-inf")

    def is_bad(self, block: bytes) -> bool:
        """Return whether the chain has refused this block recently."""
        return block in self._bad

    async def import_blocks(self, peer: str, blocks: Sequence[FetchedBlock]) -> bool:
        """Import blocks of a peer, oldest first; return False if one cannot be imported now.

        Raise BadBlock.
        """
        unfinalized: list[FetchedBlock] = []
        try:
            for block, child in zip(blocks, [*blocks[1:], None], strict=True):
                if not await self._import_block(peer, block, child):
                    return False
                unfinalized.append(block)
                if len(unfinalized) == FINALIZE_EVERY or scheduled_change(block.header) is not None:
                    await self._finalize(peer, unfinalized)
                    unfinalized = []
        finally:
            await self._finalize(peer, unfinalized)
        return True

    async def _import_block(self, peer: str, block: FetchedBlock, child: FetchedBlock | None) -> bool:
        number = block.header.number
        next_block = None if child is None or child.hash in self._bad else (child.header, child.body)
        if block.hash in self._bad:
            raise BadBlock(f"block #{number} is bad")
        try:
            await retry_import(
                BlockRef(block.hash, number),
                lambda: self._chain.import_block(block.header, block.body, next_block),
            )
        except FutureSlot as error:
            self.warn_of_clock(f"Block #{number} of {peer} is postponed", error)
            return False
        except (UnknownParent, UnknownBlock, StateDiscarded) as error:
            log.debug("Block #%d of %s has no parent here: %s", number, peer, error)
            return False
        except LocalFault as fault:
            log.error("Block #%d is postponed: this node cannot execute it, through no fault of %s: %s",
                      number, peer, fault)  # fmt: skip
            return False
        except ImportRefused as error:
            self.mark_bad(block.hash)
            raise BadBlock(f"block #{number}: {error}") from error
        self._progress.steps += 1
        self._on_imported()
        return True

    async def _finalize(self, peer: str, blocks: Sequence[FetchedBlock]) -> None:
        """Finalize by the newest valid justification; charge an invalid one to its peer."""
        for block in reversed(blocks):
            justification = dict(block.justifications).get(ENGINE)
            if justification is None and not self._chain.is_expected(block.hash):
                continue
            if block.header.number <= self._chain.finalized.number:
                return
            try:
                await self._chain.finalize(block.hash, justification)
            except BadJustification as error:
                self._on_bad_justification(peer, f"an invalid justification: {error}")
            except FinalityRefused as error:
                log.debug("Block #%d is not final yet: %s", block.header.number, error)
            except LocalFault as fault:  # a later block brings its votes again
                log.warning("Block #%d is not final yet: %s", block.header.number, fault)

    def warn_of_clock(self, what: str, error: FutureSlot) -> None:
        """Warn that a sealed block lies in the future: the author's clock is wrong, or ours is."""
        now = trio.current_time()
        if now - self._warned_at >= CLOCK_WARNING_INTERVAL_S:
            self._warned_at = now
            log.warning("%s (is the clock right?): %s", what, error)

    def mark_bad(self, block: bytes) -> None:
        """Record that a block is bad: it is never imported, whichever peer sends it."""
        self._bad[block] = None
