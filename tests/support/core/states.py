"""Whole states in memory, and any small state."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import strategies as st

from cfnode.core.state import TOP
from cfnode.store.genesis import initial_state

Tables = dict[bytes, dict[bytes, bytes]]


class Held:
    """A whole state in memory, nodes and all."""

    def __init__(self, top: dict[bytes, bytes], children: Tables | None = None, version: int = 1) -> None:
        changes = initial_state(top, children or {}, version)
        self.root = changes.root
        self.storage, self.nodes = changes.storage, changes.nodes

    def get(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the value of a key."""
        return self.storage.get(child, {}).get(key)

    def next_key(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the key after a key."""
        return min(
            (stored_key for stored_key in self.storage.get(child, {}) if stored_key > key), default=None
        )

    def node(self, path: bytes, child: bytes = TOP) -> bytes | None:
        """Return the encoded node at a path."""
        return self.nodes.get(child, {}).get(path)

    def pairs_after(self, key: bytes, child: bytes = TOP) -> Iterator[tuple[bytes, bytes]]:
        """Return the pairs after a key, in their order."""
        return (
            (stored_key, value)
            for stored_key, value in sorted(self.storage.get(child, {}).items())
            if stored_key > key
        )

    def nodes_after(self, path: bytes, child: bytes = TOP) -> Iterator[tuple[bytes, bytes]]:
        """Return the nodes after a path, in their order."""
        return (
            (node_path, node)
            for node_path, node in sorted(self.nodes.get(child, {}).items())
            if node_path > path
        )


keys = st.binary(min_size=1, max_size=4) | st.binary(min_size=1, max_size=2).map(
    lambda tail: b"\x5f" * 6 + tail
)
tables = st.dictionaries(keys, st.binary(max_size=50), max_size=20)
