"""A state in memory, for tests: plain dictionaries with the trie nodes that belong to them."""

from __future__ import annotations

from bisect import bisect_right

from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP, Changes
from cfnode.core.trie import update


class MemoryState:
    """Implements `cfnode.core.state.BlockState`; `apply` makes the next state in place."""

    def __init__(self, pairs: dict[bytes, bytes] | None = None, **children: dict[bytes, bytes]) -> None:
        self.storage: dict[bytes, dict[bytes, bytes]] = {TOP: {}}
        self.nodes: dict[bytes, dict[bytes, bytes]] = {TOP: {}}
        self._sorted: dict[bytes, list[bytes]] = {}
        top = dict(pairs or {})
        for name, child_pairs in children.items():
            child = name.encode()
            top[CHILD_STORAGE_PREFIX + child] = self._fill(child, child_pairs)
        self.root = self._fill(TOP, top)

    def _fill(self, child: bytes, pairs: dict[bytes, bytes]) -> bytes:
        done = update(lambda _path: None, pairs, 1)
        self.storage[child] = dict(pairs)
        self._sorted.pop(child, None)
        self.nodes[child] = {path: node for path, node in done.nodes.items() if node is not None}
        return done.root

    def copy(self) -> MemoryState:
        """Return a state of its own with the same content."""
        copied = MemoryState.__new__(MemoryState)
        copied.storage = {child: dict(pairs) for child, pairs in self.storage.items()}
        copied.nodes = {child: dict(nodes) for child, nodes in self.nodes.items()}
        copied._sorted, copied.root = dict(self._sorted), self.root
        return copied

    def get(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the value of a key."""
        return self.storage.get(child, {}).get(key)

    def next_key(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the key after a key."""
        keys = self._sorted.get(child)
        if keys is None:
            keys = self._sorted[child] = sorted(self.storage.get(child, {}))
        place = bisect_right(keys, key)
        return keys[place] if place < len(keys) else None

    def node(self, path: bytes, child: bytes = TOP) -> bytes | None:
        """Return the encoded node at a path."""
        return self.nodes.get(child, {}).get(path)

    def apply(self, changes: Changes) -> None:
        """Apply changes of values and nodes."""
        for tables, changed in ((self.storage, changes.storage), (self.nodes, changes.nodes)):
            for child, rows in changed.items():
                table = tables.setdefault(child, {})
                for key, value in rows.items():
                    if value is None:
                        table.pop(key, None)
                    else:
                        table[key] = value
        self._sorted.clear()
        self.root = changes.root
