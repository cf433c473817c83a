"""Memory bounds over all connections: unread data that peers sent, and answers that peers have not read.

Each connection has its bounds, but their sum over all connections would be gigabytes. So two sums over the
whole node are bounded:

- Unread data that we did not request: beyond `MAX_UNREQUESTED_BYTES` the peer that sent most of it is
  disconnected.
- Answers that peers have not read: beyond `MAX_UNREAD_ANSWER_BYTES` the peer that leaves most of them unread
  is disconnected or, if that peer is the one that sends a request, the request is refused.

Data that we requested is bounded by the number of our own requests at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["MAX_UNREAD_ANSWER_BYTES", "MAX_UNREQUESTED_BYTES", "Buffers"]

MAX_UNREQUESTED_BYTES = 48 << 20
"""Bytes over all connections. The largest legal message, a notification of transactions, has 16 MiB."""
MAX_UNREAD_ANSWER_BYTES = 96 << 20
"""Bytes over all connections: three of the largest answers, or about fifty pieces of a state."""


@dataclass(slots=True)
class Buffers:
    """Byte counts over all connections.

    `on_excess` receives the connection with the most unrequested data, or with the most unread answers.
    """

    on_excess: Callable[[object], None] = lambda connection: None
    answers: int = 0
    unrequested: int = 0
    requested: int = 0
    _holders: Counter[object] = field(default_factory=Counter)
    _readers: Counter[object] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """Bytes that we hold because of peers."""
        return self.unrequested + self.requested + self.answers

    def hold(self, connection: object, change: int, *, requested: bool) -> None:
        """Add `change` bytes (negative: released) to what a substream of the connection holds."""
        if requested:
            self.requested += change
            return
        self.unrequested += change
        self._holders[connection] += change
        if self._holders[connection] <= 0:
            del self._holders[connection]
        if change > 0 and self.unrequested > MAX_UNREQUESTED_BYTES:
            self.on_excess(max(self._holders, key=self._holders.__getitem__))

    @contextmanager
    def answer(self, connection: object, size: int) -> Iterator[bool]:
        """Count an answer while the block runs; yield False if there is no room for it."""
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
            self._readers += Counter()  # removes zero counts

    def _makes_room(self, connection: object, size: int) -> bool:
        """Return whether there is room for an answer, if need be after disconnecting a slower reader."""
        if self.answers + size <= MAX_UNREAD_ANSWER_BYTES:
            return True
        slowest = max(self._readers, key=self._readers.__getitem__, default=None)
        if slowest is None or self._readers[slowest] <= self._readers[connection] + size:
            return False
        self.on_excess(slowest)
        return True
