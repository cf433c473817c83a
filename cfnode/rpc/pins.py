"""Which blocks do clients hold on to, and what happens when they are too many?

Who follows the head of the chain (chainHead_v1_follow) holds each block it was told of until it lets go of
it. All together may hold `MAX_PINNED` blocks. One more ends the followers that have held a block for longer
than `PATIENCE`, and if there is none, the one that would hold it: Substrate's rule and numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, Protocol

import trio

MAX_PINNED: Final = 512
PATIENCE: Final = 60.0


class TooManyPinned(Exception):
    """Nobody could be found to make room: the follower itself has to go."""


class Pinner(Protocol):
    """Who holds blocks."""

    def halt(self) -> None:
        """Stop, and let go of all blocks at once."""


class Pins:
    """Who holds which block since when."""

    def __init__(self) -> None:
        self._held: dict[Pinner, dict[bytes, float]] = {}
        self._holders: Counter[bytes] = Counter()

    def __len__(self) -> int:
        return len(self._holders)

    def holds(self, pinner: Pinner, block: bytes) -> bool:
        """Whether the pinner holds the block."""
        return block in self._held.get(pinner, ())

    def pin(self, pinner: Pinner, block: bytes) -> None:
        """Hold a block that it does not hold yet. Raises TooManyPinned."""
        self._held.setdefault(pinner, {})[block] = trio.current_time()
        self._holders[block] += 1
        if len(self._holders) > MAX_PINNED:
            self._make_room()

    def unpin(self, pinner: Pinner, blocks: Iterable[bytes]) -> None:
        """Let go of blocks that it holds."""
        held = self._held.get(pinner, {})
        for block in blocks:
            del held[block]
            self._holders[block] -= 1
            if not self._holders[block]:
                del self._holders[block]

    def release(self, pinner: Pinner) -> list[bytes]:
        """Let go of all; which these were."""
        blocks = list(self._held.get(pinner, ()))
        self.unpin(pinner, blocks)
        self._held.pop(pinner, None)
        return blocks

    def _make_room(self) -> None:
        latest = trio.current_time() - PATIENCE
        for pinner, held in list(self._held.items()):
            if held and min(held.values()) < latest:
                pinner.halt()
        if len(self._holders) > MAX_PINNED:
            raise TooManyPinned
