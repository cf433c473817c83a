"""A dict of bounded size for caches: each entry beyond its capacity removes the oldest one."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

__all__ = ["BoundedDict"]

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(OrderedDict[K, V]):
    """A dict of at most `capacity` entries, the oldest first. An entry that is set again keeps its place."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        while len(self) > self.capacity:
            self.popitem(last=False)

    def put_last(self, key: K, value: V) -> None:
        """Set an entry and make it the newest."""
        self.pop(key, None)
        self[key] = value
