"""How much memory do all peers together take?

Each connection has its bounds, but their sum over all connections would be gigabytes. So there are two sums
over the whole node. What peers send without being asked and nobody has read: beyond `MAX_UNASKED` the peer
that holds most of it is let go. And answers that wait for peers to read them: beyond `MAX_ANSWERS` the peer
that leaves most of them unread is let go, or, where that is the peer that asks, its request is refused. What
we ask for ourselves is bounded by how much we ask at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["MAX_ANSWERS", "MAX_UNASKED", "Buffers"]

MAX_UNASKED = 48 << 20
"""Bytes over all connections. The largest legal message, a notification of transactions, has 16 MiB."""
MAX_ANSWERS = 96 << 20
"""Bytes over all connections: three of the largest answers, or about fifty pieces of a state."""


@dataclass(slots=True)
class Buffers:
    """The sums. `on_excess` gets the connection that holds most, of what nobody asked for or of answers."""

    on_excess: Callable[[object], None] = lambda connection: None
    answers: int = 0
    unasked: int = 0
    asked: int = 0
    _holders: Counter[object] = field(default_factory=Counter)
    _readers: Counter[object] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """Bytes that peers make us hold."""
        return self.unasked + self.asked + self.answers

    def hold(self, connection: object, change: int, *, asked: bool) -> None:
        """A substream of the connection holds so much more, or less."""
        if asked:
            self.asked += change
            return
        self.unasked += change
        self._holders[connection] += change
        if self._holders[connection] <= 0:
            del self._holders[connection]
        if change > 0 and self.unasked > MAX_UNASKED:
            self.on_excess(max(self._holders, key=self._holders.__getitem__))

    @contextmanager
    def answer(self, connection: object, size: int) -> Iterator[bool]:
        """Hold an answer while the block runs; False where there is no room for it."""
        if not self._makes_room(connection, size):
            yield False
            return
        self.answers += size
        self._readers[connection] += size
        try:
            yield True
        finally:
            self.answers -= size
            self._readers[connection] -= size
            self._readers += Counter()  # drops who is at zero

    def _makes_room(self, connection: object, size: int) -> bool:
        """Is there room for an answer, or does a peer that leaves more unread have to go for it?"""
        if self.answers + size <= MAX_ANSWERS:
            return True
        slowest = max(self._readers, key=self._readers.__getitem__, default=None)
        if slowest is None or self._readers[slowest] <= self._readers[connection] + size:
            return False
        self.on_excess(slowest)
        return True
