"""Memory bounds over all connections: unread data that peers sent, and answers that peers have not read.

Two sums over the whole node are bounded (`flow/byte_budget.py`):

- Unread data that we did not request: beyond `MAX_UNREQUESTED_BYTES` the peer that sent most of it is
  disconnected.
- Answers that peers have not read: beyond `MAX_UNREAD_ANSWER_BYTES` the peer that leaves most of them unread
  is disconnected or, if that peer is the one that sends a request, the request is refused.

Data that we requested is bounded by the number of our own requests at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cfnode.flow.byte_budget import ByteBudget

__all__ = ["MAX_UNREAD_ANSWER_BYTES", "MAX_UNREQUESTED_BYTES", "Buffers"]

MAX_UNREQUESTED_BYTES = 48 << 20
"""Bytes over all connections. The largest legal message, a notification of transactions, has 16 MiB."""
MAX_UNREAD_ANSWER_BYTES = 96 << 20
"""Bytes over all connections: three of the largest answers, or about fifty pieces of a state."""


class Buffers:
    """Byte counts over all connections.

    `on_excess` receives the connection with the most unrequested data, or with the most unread answers.
    """

    def __init__(self, on_excess: Callable[[object], None] = lambda connection: None) -> None:
        self.requested = 0
        self._unrequested = ByteBudget[object](MAX_UNREQUESTED_BYTES, on_excess)
        self._answers = ByteBudget[object](MAX_UNREAD_ANSWER_BYTES, on_excess)

    @property
    def unrequested(self) -> int:
        """Unread bytes that we did not request."""
        return self._unrequested.total

    @property
    def answers(self) -> int:
        """Bytes of answers that peers have not read."""
        return self._answers.total

    @property
    def total(self) -> int:
        """Bytes that we hold because of peers."""
        return self.unrequested + self.requested + self.answers

    def hold(self, connection: object, change: int, *, requested: bool) -> None:
        """Add `change` bytes (negative: released) to what a substream of the connection holds."""
        if requested:
            self.requested += change
        else:
            self._unrequested.add(connection, change)

    @contextmanager
    def answer(self, connection: object, size: int) -> Iterator[bool]:
        """Count an answer while the block runs; yield False if there is no room for it.

        A slower reader may be disconnected for it.
        """
        if not self._answers.make_room(connection, size):
            yield False
            return
        self._answers.add(connection, size)
        try:
            yield True
        finally:
            self._answers.add(connection, -size)
