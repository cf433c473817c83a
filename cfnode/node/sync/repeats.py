"""Has this peer asked the very same before?

A peer that asks for the same blocks or the same piece of a state a third time is broken or wants to cost us
work; a Substrate server ends the connection then. An answer counts from its beginning, so that asking at the
same time is asking again, and is forgotten where it gave the peer nothing. The memory is small: hashes of the
newest requests of all peers together.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cfnode.core.hashing import blake2_128

__all__ = ["Answering", "Repeats"]

MAX_REMEMBERED = 512
ALLOWED = 2


@dataclass(slots=True)
class Answering:
    """An answer under way. `useful`: it has given the peer something."""

    useful: bool = False


class Repeats:
    """Counts answers by peer and request."""

    def __init__(self, most: int = MAX_REMEMBERED) -> None:
        self._most = most
        self._answered: OrderedDict[tuple[str, bytes], int] = OrderedDict()

    def exhausted(self, peer: str, request: bytes) -> bool:
        """Has the peer had its two answers to this?"""
        return self._answered.get((peer, blake2_128(request)), 0) >= ALLOWED

    @contextmanager
    def answering(self, peer: str, request: bytes) -> Iterator[Answering]:
        """Answer while the block runs; it counts if the answer is useful then."""
        key = (peer, blake2_128(request))
        self._answered[key] = self._answered.pop(key, 0) + 1
        while len(self._answered) > self._most:
            self._answered.popitem(last=False)
        answer = Answering()
        try:
            yield answer
        finally:
            if not answer.useful and key in self._answered:
                self._answered[key] -= 1
