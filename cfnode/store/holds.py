"""Which states are in use, and may stay for longer than the window?

Whoever asks for one state again and again (a client that follows the head of the chain, and was told of the
block) *holds* it. What is held does not leave with the window, and when its branch loses, the overlays from
where it forked off up to the block stay too. Both have a bound; beyond it a state goes although it is held,
and the holder is told.

Holds are for one life of the process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

MAX_BEHIND = 512
"""Blocks before the window whose states and bodies stay, while somebody holds one of them."""
MAX_KEPT = 64
"""Blocks of lost branches whose overlays stay."""
MAX_KEPT_BYTES = 16 << 20


class Holds:
    """The blocks that are held. One thread changes it; `now` may be called from any."""

    def __init__(self) -> None:
        self._bases: dict[bytes, int] = {}
        self._times: Counter[bytes] = Counter()

    def __contains__(self, block: bytes) -> bool:
        return block in self._bases

    def hold(self, block: bytes, base: int = 0) -> None:
        """Once more. `base`, for the first time: the number of a final block that its state will rest on,
        whichever branch wins."""
        self._times[block] += 1
        self._bases.setdefault(block, base)

    def release(self, block: bytes) -> None:
        """Once less."""
        self._times[block] -= 1
        if not self._times[block]:
            del self._times[block], self._bases[block]

    def now(self) -> Mapping[bytes, int]:
        """The base of each block that is held at this moment."""
        return dict(self._bases)
