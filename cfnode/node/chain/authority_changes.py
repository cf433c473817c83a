"""Scheduled and forced changes of the GRANDPA authorities in unfinalized blocks.

A *scheduled* change begins with the block `delay` after the one that announces it, once the old authorities
have finalized that block (on this chain the delay is 0: the announcing block itself). A justification never
reaches past it.

A *forced* change needs no finality: the new authorities vote from the block `delay` after the announcement
on, whatever is final. Governance makes one when the old authorities can no longer vote. A state contains no
proof that a forced change is legitimate, so this node refuses it with a message: it imports the blocks, but
the old authorities' votes do not count at or past that block, and the operator has to decide. Substrate,
GRANDPA authority set changes.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from cfnode.core.block import BlockRef
from cfnode.core.grandpa import forced_change, scheduled_change
from cfnode.core.header import Header
from cfnode.core.scale import ScaleError

__all__ = ["AuthorityChanges"]

log = logging.getLogger("cfnode.grandpa")


class AuthorityChanges:
    """The announcements above the finalized block, and final ones whose delay is not over."""

    def __init__(self) -> None:
        self._scheduled: dict[bytes, int] = {}  # announcing block -> number of the block that it begins with
        self._forced: dict[bytes, int] = {}
        self._pending: int | None = None  # of an announcement that is final
        self._forced_pending: int | None = None

    def clear(self) -> None:
        """Drop all announcements, since the chain is reset to a proven block."""
        self._scheduled.clear()
        self._forced.clear()
        self._pending = self._forced_pending = None

    def add(self, header: Header, block: BlockRef) -> None:
        """Record the changes that a block announces, which has been added to the tree.

        The scheduled change in its header, if there is one, is well-formed.
        """
        scheduled, begins = scheduled_change(header), _forced_from(header)
        if scheduled is not None:
            self._scheduled[block.hash] = block.number + scheduled.delay
        if begins is not None:
            self._forced[block.hash] = begins
            log.error("Block #%d announces a forced change of the authorities from block #%d on: %s",
                      block.number, begins, _ADVICE)  # fmt: skip

    @property
    def any(self) -> bool:
        """Whether there is any scheduled change. Usually there is none, and no path has to be searched."""
        return bool(self._scheduled) or self._pending is not None

    def first(self, path: Sequence[BlockRef]) -> BlockRef | None:
        """Return the block of a path with which other authorities begin; None without one.

        `path`: blocks from above the finalized one, oldest first.
        """
        number = _earliest(self._scheduled, self._pending, path)
        return next((block for block in path if block.number == number), None)

    def forced(self, path: Sequence[BlockRef]) -> int | None:
        """Return the number from which on a forced change applies to this path; None if it lies above it."""
        number = _earliest(self._forced, self._forced_pending, path)
        return number if number is not None and number <= path[-1].number else None

    def finalized(self, path: Sequence[BlockRef], left: set[bytes]) -> None:
        """Forget the changes that are over, after the blocks of `path` have become final.

        `left`: the hashes of the blocks that are still in the tree.
        """
        pending = _earliest(self._scheduled, self._pending, path)
        self._pending = pending if pending is not None and pending > path[-1].number else None
        self._forced_pending = _earliest(self._forced, self._forced_pending, path)
        self._scheduled = {block: number for block, number in self._scheduled.items() if block in left}
        self._forced = {block: number for block, number in self._forced.items() if block in left}

    @property
    def reason(self) -> str | None:
        """The forced change that the operator has to decide on; None without one."""
        numbers = [*self._forced.values(), *([] if self._forced_pending is None else [self._forced_pending])]
        return (
            f"a forced change of the authorities from block #{min(numbers)} on: {_ADVICE}"
            if numbers
            else None
        )


def _earliest(announced: dict[bytes, int], pending: int | None, path: Sequence[BlockRef]) -> int | None:
    """Return the lowest number at which an announced change begins, on this path or already final."""
    numbers = [] if pending is None else [pending]
    if announced:
        numbers += [announced[block.hash] for block in path if block.hash in announced]
    return min(numbers, default=None)


def _forced_from(header: Header) -> int | None:
    """Return the number from which on a forced change applies; None without one.

    A malformed change is ignored, as by every node.
    """
    try:
        forced = forced_change(header)
    except ScaleError:
        return None
    return None if forced is None else header.number + forced.delay


_ADVICE = (
    "nothing from there on becomes final on this node. If the change is legitimate (ask the chain's "
    "developers), run `cfnode purge-chain` and start with --checkpoint and a block after it"
)
