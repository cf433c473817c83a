"""Sources of the nodes and values that a walk over a trie reads.

A source is a proof, whose entries are named by their hashes, or a state that keeps them by path and key. The
walk passes both, so it is the same walk, and a server that makes a proof visits the nodes that its reader
needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from cfnode.core.state import BlockState
from cfnode.core.trie.codec import EMPTY_NODE, EMPTY_ROOT
from cfnode.core.trie.errors import MissingNode
from cfnode.core.trie.nibbles import covering_key

__all__ = ["ByHash", "ByPath", "CollectingSource", "NodeSource"]


class NodeSource(Protocol):
    """The nodes and values of a state: of its top trie, and of its child tries by their names."""

    def node(self, child: bytes, path: bytes, merkle_value: bytes) -> bytes:
        """Return the encoded node at a path (nibbles), which its parent names by `merkle_value`.

        That of an empty trie is the empty node. Raises MissingNode.
        """

    def value(self, child: bytes, key: bytes, hashed: bytes) -> bytes:
        """Return the value of a key of which the trie holds the hash; raise MissingNode."""


class ByHash:
    """The entries of a proof, by their hashes."""

    def __init__(self, entries: Mapping[bytes, bytes]) -> None:
        self._entries = entries

    def node(self, child: bytes, path: bytes, merkle_value: bytes) -> bytes:
        """Return the node with this merkle value. Raises MissingNode."""
        if merkle_value == EMPTY_ROOT:
            return EMPTY_NODE
        entry = self._entries.get(merkle_value)
        if entry is None:
            raise MissingNode(covering_key(path), merkle_value, child)
        return entry

    def value(self, child: bytes, key: bytes, hashed: bytes) -> bytes:
        """Return the value with this hash. Raises MissingNode."""
        entry = self._entries.get(hashed)
        if entry is None:
            raise MissingNode(key, hashed, child)
        return entry


class ByPath:
    """The rows of a state. Their hashes are not compared: the state is our own."""

    def __init__(self, state: BlockState) -> None:
        self._state = state

    def node(self, child: bytes, path: bytes, merkle_value: bytes) -> bytes:
        """Return the node at this path (nibbles). Raises MissingNode."""
        encoded = self._state.node(path, child)
        if encoded is not None:
            return encoded
        if merkle_value == EMPTY_ROOT:
            return EMPTY_NODE
        raise MissingNode(covering_key(path), merkle_value, child)

    def value(self, child: bytes, key: bytes, hashed: bytes) -> bytes:
        """Return the value of this key. Raises MissingNode."""
        value = self._state.get(key, child)
        if value is None:
            raise MissingNode(key, hashed, child)
        return value


class CollectingSource:
    """A source that collects the entries read from another: each once, in the order of first reads."""

    def __init__(self, source: NodeSource) -> None:
        self._source = source
        self.entries: dict[bytes, None] = {}
        self.size = 0
        """Bytes of the entries."""

    def node(self, child: bytes, path: bytes, merkle_value: bytes) -> bytes:
        """Return the node of the inner source, and keep it. Raises MissingNode."""
        return self._kept(self._source.node(child, path, merkle_value))

    def value(self, child: bytes, key: bytes, hashed: bytes) -> bytes:
        """Return the value of the inner source, and keep it. Raises MissingNode."""
        return self._kept(self._source.value(child, key, hashed))

    def _kept(self, entry: bytes) -> bytes:
        if entry not in self.entries:
            self.entries[entry] = None
            self.size += len(entry)
        return entry
