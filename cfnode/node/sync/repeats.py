"""Has this peer asked the very same before?

Who asks for the same blocks or the same piece of a state a third time is broken or wants to cost us work; a
Substrate server ends the connection then. The memory is small: the newest requests of all peers together.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

__all__ = ["Repeats"]

MOST_REMEMBERED = 512
ALLOWED = 2


class Repeats:
    """Counts answers by (peer, request)."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._answered: OrderedDict[Hashable, int] = OrderedDict()

    def exhausted(self, peer: str, request: Hashable) -> bool:
        """Has the peer had its two answers to this?"""
        return self._answered.get((peer, request), 0) >= ALLOWED

    def answered(self, peer: str, request: Hashable) -> None:
        """Note an answer that gave the peer something."""
        key = (peer, request)
        self._answered[key] = self._answered.pop(key, 0) + 1
        while len(self._answered) > self._most:
            self._answered.popitem(last=False)
