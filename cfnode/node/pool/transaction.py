"""A transaction of the pool, and the bounds of many."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limit", "PoolTransaction"]


@dataclass(frozen=True, slots=True)
class PoolTransaction:
    """A validated transaction: `data` with length prefix; it is stale from block number `valid_till` on."""

    hash: bytes
    data: bytes
    priority: int
    requires: tuple[bytes, ...]
    provides: tuple[bytes, ...]
    valid_till: int
    propagate: bool = True
    source: int = 2

    @property
    def position(self) -> tuple[int, tuple[bytes, ...], tuple[bytes, ...]]:
        """The values that decide the position in the graph: priority, requires, provides."""
        return self.priority, self.requires, self.provides


@dataclass(frozen=True, slots=True)
class Limit:
    """The maximum number of transactions, and of their bytes."""

    count: int
    total_bytes: int

    def exceeded(self, count: int, total_bytes: int) -> bool:
        """Return whether this number of transactions, or their size, is above the limit."""
        return count > self.count or total_bytes > self.total_bytes
