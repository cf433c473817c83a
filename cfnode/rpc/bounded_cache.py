"""How does a cache stay small? It drops its oldest entry when it has more than `capacity`."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

__all__ = ["BoundedCache"]

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(OrderedDict[Key, Value]):
    """A dictionary of at most `capacity` entries, in the order in which they were added."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self._capacity = capacity

    def __setitem__(self, key: Key, value: Value) -> None:
        super().__setitem__(key, value)
        while len(self) > self._capacity:
            self.popitem(last=False)
