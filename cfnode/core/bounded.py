"""Dicts of bounded size for caches: each entry beyond the capacity removes the oldest ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["BoundedDict", "SizedCache"]

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(OrderedDict[K, V]):
    """A dict of at most `capacity` entries, the oldest first. An entry that is set again keeps its place."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity

    def __setitem__(self, key: K, value: V) -> None:
        """Set an entry; drop the oldest ones beyond the capacity."""
        super().__setitem__(key, value)
        while len(self) > self.capacity:
            self.popitem(last=False)

    def put_last(self, key: K, value: V) -> None:
        """Set an entry and make it the newest."""
        self.pop(key, None)
        self[key] = value


class SizedCache(Generic[K, V]):
    """A cache of entries that cost at most `limit` bytes together, by `cost` of each key and value."""

    def __init__(self, limit: int, cost: Callable[[K, V], int]) -> None:
        self._limit, self._cost = limit, cost
        self._entries: OrderedDict[K, V] = OrderedDict()
        self.size = 0
        """The bytes that all entries cost."""

    def get(self, key: K) -> V | None:
        """Return the value of a key; None without one."""
        return self._entries.get(key)

    def add(self, key: K, value: V) -> None:
        """Add an entry, unless its key has one, and remove the oldest entries above the limit."""
        if key in self._entries:
            return
        self._entries[key] = value
        self.size += self._cost(key, value)
        while self.size > self._limit:
            self.size -= self._cost(*self._entries.popitem(last=False))

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
        self.size = 0
