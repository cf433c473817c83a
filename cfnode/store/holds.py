"""The states in use by clients, which stay for longer than the window.

A client that follows the head of the chain reads the state of a reported block again and again: it *holds*
the block. Windows do not pass a held block, and when its branch loses, the overlays from the fork up to the
block stay too. Both have a bound; beyond it the store discards a held state, and returns the block to its
caller.

Holds end with the process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

MAX_HELD_BEFORE_WINDOW = 512
"""Blocks before the window whose states and bodies stay while one of them is held."""
MAX_HELD_LOST_BLOCKS = 64
"""Blocks of lost branches whose overlays stay."""
MAX_HELD_LOST_BYTES = 16 << 20


class Holds:
    """The held blocks. One thread changes them; any thread may call `now`."""

    def __init__(self) -> None:
        self._bases: dict[bytes, int] = {}
        self._holders: Counter[bytes] = Counter()

    def __contains__(self, block: bytes) -> bool:
        """Return whether the block has a holder."""
        return block in self._bases

    def hold(self, block: bytes, base: int = 0) -> None:
        """Add a holder.

        `base`, used for the first holder: the number of a final block that the block's state lies over,
        whichever branch wins.
        """
        self._holders[block] += 1
        self._bases.setdefault(block, base)

    def release(self, block: bytes) -> None:
        """Remove a holder."""
        self._holders[block] -= 1
        if not self._holders[block]:
            del self._holders[block], self._bases[block]

    def now(self) -> Mapping[bytes, int]:
        """Return a copy of the base of each held block."""
        return dict(self._bases)
