"""Which unfinalized blocks change the authorities, and when do the new ones begin to vote?

A *scheduled* change begins with the block `delay` after the one that announces it, once that block is final
by the old authorities (on this chain the delay is 0: the announcing block itself). A justification never
reaches past it.

A *forced* change needs no finality: the new authorities vote from the block `delay` after the announcement
on, whatever is final. Governance makes one when the old ones cannot vote any more. Nothing in a state proves
to a follower that nobody abuses it, so it is refused in words: blocks are followed, but the old authorities'
votes do not count at or past that block, and a person decides. Substrate, GRANDPA authority set changes.
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
    """The announcements above the finalized block, and those whose delay is not over."""

    def __init__(self) -> None:
        self._scheduled: dict[bytes, int] = {}  # announcing block -> number of the block that it begins with
        self._forced: dict[bytes, int] = {}
        self._pending: int | None = None  # of an announcement that is final
        self._forced_pending: int | None = None

    def clear(self) -> None:
        """The chain begins anew at a block that was proven otherwise."""
        self._scheduled.clear()
        self._forced.clear()
        self._pending = self._forced_pending = None

    def note(self, header: Header, block: BlockRef) -> None:
        """A block has entered the tree. The scheduled change in its header, if any, can be read."""
        scheduled, begins = scheduled_change(header), _forced_from(header)
        if scheduled is not None:
            self._scheduled[block.hash] = block.number + scheduled.delay
        if begins is not None:
            self._forced[block.hash] = begins
            log.error("Block #%d announces a forced change of the authorities from block #%d on: %s",
                      block.number, begins, _ADVICE)  # fmt: skip

    @property
    def any(self) -> bool:
        """Is there a scheduled change at all? Mostly there is none, and no path has to be looked at."""
        return bool(self._scheduled) or self._pending is not None

    def first(self, path: Sequence[BlockRef]) -> BlockRef | None:
        """The first block of a path from above the finalized one with which other authorities begin."""
        number = _earliest(self._scheduled, self._pending, path)
        return next((block for block in path if block.number == number), None)

    def forced(self, path: Sequence[BlockRef]) -> int | None:
        """The number from which on a forced change rules this path, where the path reaches that far."""
        number = _earliest(self._forced, self._forced_pending, path)
        return number if number is not None and number <= path[-1].number else None

    def finalized(self, path: Sequence[BlockRef], left: set[bytes]) -> None:
        """These blocks are final; `left` are those that still can be."""
        pending = _earliest(self._scheduled, self._pending, path)
        self._pending = pending if pending is not None and pending > path[-1].number else None
        self._forced_pending = _earliest(self._forced, self._forced_pending, path)
        self._scheduled = {block: number for block, number in self._scheduled.items() if block in left}
        self._forced = {block: number for block, number in self._forced.items() if block in left}

    @property
    def reason(self) -> str | None:
        """What a person has to decide on; None when there is nothing."""
        known = [*self._forced.values(), *([] if self._forced_pending is None else [self._forced_pending])]
        return f"a forced change of the authorities from block #{min(known)} on: {_ADVICE}" if known else None


def _earliest(announced: dict[bytes, int], pending: int | None, path: Sequence[BlockRef]) -> int | None:
    """The lowest number that an announcement on this path, or one that is final, names."""
    numbers = [] if pending is None else [pending]
    if announced:
        numbers += [announced[block.hash] for block in path if block.hash in announced]
    return min(numbers, default=None)


def _forced_from(header: Header) -> int | None:
    """The number of the block from which on a forced change rules; one that cannot be read is none to
    anybody."""
    try:
        forced = forced_change(header)
    except ScaleError:
        return None
    return None if forced is None else header.number + forced.delay


_ADVICE = (
    "nothing from there on becomes final on this node. If it is right (ask the chain's developers), begin "
    "anew: `cfnode purge-chain`, and --checkpoint with a block after it"
)
