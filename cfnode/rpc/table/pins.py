"""The blocks that follows of the chain's head have pinned, and the limit on them.

A follow of the chain's head (chainHead_v1_follow) pins each block that it reports until the client unpins it.
All follows together may pin `MAX_PINNED` blocks. One more stops the follows that have pinned a block for
longer than `PATIENCE`; if there is no such follow, it stops the follow that wanted to pin it: Substrate's
rule and numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, Protocol

import trio

MAX_PINNED: Final = 512
PATIENCE: Final = 60.0


class TooManyPinned(Exception):
    """The follow that pins a block has to stop: no other follow could be stopped to make room."""


class Pinner(Protocol):
    """A follow that pins blocks."""

    def halt(self) -> None:
        """Stop, and unpin all blocks at once."""


class Pins:
    """The pinned blocks of each follow, and since when they are pinned."""

    def __init__(self) -> None:
        self._pinned: dict[Pinner, dict[bytes, float]] = {}
        self._pins: Counter[bytes] = Counter()

    def __len__(self) -> int:
        """Return the number of pinned blocks; a block that several follows pin counts once."""
        return len(self._pins)

    def has_pinned(self, pinner: Pinner, block: bytes) -> bool:
        """Return whether `pinner` has pinned the block."""
        return block in self._pinned.get(pinner, ())

    def pin(self, pinner: Pinner, block: bytes) -> None:
        """Pin a block that `pinner` has not pinned yet. Raises TooManyPinned."""
        self._pinned.setdefault(pinner, {})[block] = trio.current_time()
        self._pins[block] += 1
        if len(self._pins) > MAX_PINNED:
            self._make_room()

    def unpin(self, pinner: Pinner, blocks: Iterable[bytes]) -> None:
        """Unpin blocks that `pinner` has pinned."""
        pinned = self._pinned.get(pinner, {})
        for block in blocks:
            del pinned[block]
            self._pins[block] -= 1
            if not self._pins[block]:
                del self._pins[block]

    def release(self, pinner: Pinner) -> list[bytes]:
        """Unpin all blocks of `pinner`; return them."""
        blocks = list(self._pinned.get(pinner, ()))
        self.unpin(pinner, blocks)
        self._pinned.pop(pinner, None)
        return blocks

    def _make_room(self) -> None:
        latest = trio.current_time() - PATIENCE
        for pinner, pinned in list(self._pinned.items()):
            if pinned and min(pinned.values()) < latest:
                pinner.halt()
        if len(self._pins) > MAX_PINNED:
            raise TooManyPinned
