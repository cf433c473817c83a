"""How does a cache stay small? Each entry beyond its capacity removes the oldest one.

Writing an entry makes it the newest, and so does `use`; any other reading leaves the order as it is.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

__all__ = ["BoundedDict"]

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(OrderedDict[K, V]):
    """A dict of at most `capacity` entries, the oldest first."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self.capacity:
            self.popitem(last=False)

    def use(self, key: K) -> V | None:
        """The value, whose entry becomes the newest; None if there is no such entry."""
        if key in self:
            self.move_to_end(key)
        return self.get(key)
