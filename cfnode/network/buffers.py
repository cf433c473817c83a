"""How much memory do all peers together take?

Each connection has its bounds, but their sum over all connections would be gigabytes. So there are two sums
over the whole node. What peers send without being asked and nobody has read: beyond `MAX_UNASKED` the peer
that holds most of it is let go. And answers that wait for peers to read them: beyond `MAX_ANSWERS` further
requests are refused. What we ask for ourselves is bounded by how much we ask at a time.
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
    """The sums. `on_excess` is told which connection holds most of what nobody asked for."""

    on_excess: Callable[[object], None] = lambda connection: None
    answers: int = 0
    unasked: int = 0
    asked: int = 0
    _holders: Counter[object] = field(default_factory=Counter)

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
    def answer(self, size: int) -> Iterator[bool]:
        """Hold an answer while the block runs; False where there is no room for it."""
        if self.answers + size > MAX_ANSWERS:
            yield False
            return
        self.answers += size
        try:
            yield True
        finally:
            self.answers -= size
