"""State that is read by walking its trie from the root, wherever the nodes come from.

A proof is read in this way, by the hashes that name its entries, and is made by the same walk, so that it
contains exactly what reading it needs.

Polkadot spec, state storage.
"""

from __future__ import annotations

from collections.abc import Iterator

from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP
from cfnode.core.trie.codec import EMPTY_ROOT, TrieNode, is_hash_entry
from cfnode.core.trie.errors import MissingNode
from cfnode.core.trie.nibbles import covering_key
from cfnode.core.trie.source import NodeSource
from cfnode.core.trie.walk import Fetch, descend, lookup, next_key

__all__ = ["TrieState"]


class TrieState:
    """A `cfnode.core.state.BlockState` over nodes and values that are fetched one by one."""

    def __init__(self, root: bytes, source: NodeSource) -> None:
        self._root, self._source = root, source

    @property
    def root(self) -> bytes:
        """The trusted state root, against which all nodes are checked."""
        return self._root

    def get(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the value under `key`, or None if it is certainly absent; raise MissingNode."""
        node = self.find(key, child)
        if node is None or node.value is None:
            return None
        return self._source.value(child, key, node.value) if node.hashed else node.value

    def find(self, key: bytes, child: bytes = TOP) -> TrieNode | None:
        """Return the node that holds the value of `key` (or only the value's hash), None if it is absent."""
        root = self._root_of(child)
        return None if root is None else lookup(self._fetch_in(child, key), root, key)

    def next_key(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the first key strictly after `key`, or None."""
        root = self._root_of(child)
        return None if root is None else next_key(self._fetch_in(child), root, key)

    def keys(self, prefix: bytes, child: bytes = TOP) -> Iterator[bytes]:
        """Yield all keys that begin with `prefix`, in order; no node beyond the prefix is needed."""
        root, fetch = self._root_of(child), self._fetch_in(child)
        if root is None:
            return
        if lookup(fetch, root, prefix) is not None:
            yield prefix
        key = next_key(fetch, root, prefix, prefix)
        while key is not None:
            yield key
            key = next_key(fetch, root, key, prefix)

    def node(self, path: bytes, child: bytes = TOP) -> bytes | None:
        """Return the encoded node at `path`; None if the trie has no separate node there."""
        root, fetch = self._root_of(child), self._fetch_in(child)
        if root is None or root == EMPTY_ROOT:
            return None
        if not path:
            return fetch(b"", root)
        for start, node in descend(fetch, root, covering_key(path)):
            end = start + node.partial
            if len(end) + 1 == len(path) and path.startswith(end):
                entry = node.children[path[-1]] if node.children else b""
                return fetch(path, entry[1:]) if is_hash_entry(entry) else None
        return None

    def _root_of(self, child: bytes) -> bytes | None:
        return self.get(CHILD_STORAGE_PREFIX + child) if child else self._root

    def _fetch_in(self, child: bytes, key: bytes | None = None) -> Fetch:
        """Return a function that reads nodes of one trie.

        Its MissingNode names `key`, or without it a key below the missing node.
        """
        if key is None:
            return lambda path, merkle_value: self._source.node(child, path, merkle_value)

        def fetch(path: bytes, merkle_value: bytes) -> bytes:
            try:
                return self._source.node(child, path, merkle_value)
            except MissingNode:
                raise MissingNode(key, merkle_value, child) from None

        return fetch
