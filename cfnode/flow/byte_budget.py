"""A limit on the bytes that are held for all clients together, and the choice of the client that pays for it.

Unread messages, requests that wait, answers that are not read: each connection has limits for all of these,
but the sum over all connections would be gigabytes. So the bytes held for each are counted, and when their
sum is too large, the connection with most is evicted. A client that reads its answers holds little, and not
for long.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["ByteBudget"]

Holder = TypeVar("Holder", bound=Hashable)


class ByteBudget(Generic[Holder]):
    """The bytes held for each holder, in total at most `limit`.

    `evict` ends what a holder does; its bytes are subtracted then, or when its tasks have ended.
    """

    def __init__(self, limit: int, evict: Callable[[Holder], None]) -> None:
        self.limit = limit
        self.total = 0
        self._evict = evict
        self._held: dict[Holder, int] = {}

    def held_by(self, holder: Holder) -> int:
        """Return the bytes held for a holder."""
        return self._held.get(holder, 0)

    def add(self, holder: Holder, size: int) -> None:
        """Count `size` more bytes (negative: fewer) for a holder.

        While the total is too large, the holder with most is evicted: maybe this one.
        """
        self.total += size
        held = self._held.get(holder, 0) + size
        if held:
            self._held[holder] = held
        else:
            self._held.pop(holder, None)
        while size > 0 and self.total > self.limit:
            before = self.total
            self._evict(self._heaviest())
            if self.total >= before:  # the evicted holder's tasks have yet to end
                return

    def make_room(self, holder: Holder, size: int) -> bool:
        """Return whether `size` more bytes may be held for a holder.

        For a holder that would then have fewer bytes than the one with most, that one is evicted if need be.
        """
        if self.total + size <= self.limit:
            return True
        if not self._held or self.held_by(heaviest := self._heaviest()) <= self.held_by(holder) + size:
            return False
        self._evict(heaviest)
        return True

    def forget(self, holder: Holder) -> None:
        """Subtract all bytes of a holder."""
        self.total -= self._held.pop(holder, 0)

    def _heaviest(self) -> Holder:
        return max(self._held, key=self._held.__getitem__)
