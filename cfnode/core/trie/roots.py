"""Root hashes of complete sets of pairs: genesis states, streamed states and extrinsics roots.

Polkadot spec, state storage; the extrinsics root is the trie of compact(index) to extrinsic, state version 0.
In the order of the keys a trie is completed from left to right, so only the nodes on the path to the last key
are in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cfnode.core.hashing import blake2_256
from cfnode.core.scale import encode_compact
from cfnode.core.trie.codec import EMPTY_ROOT, TrieNode, encode_node, merkle_entry, stored_value
from cfnode.core.trie.nibbles import common_prefix, to_nibbles

__all__ = ["RootOfSorted", "ordered_root", "root"]


@dataclass(slots=True)
class _PathNode:
    """A node on the path to the last key, which ends after `depth` nibbles of that key."""

    depth: int
    node: TrieNode


class RootOfSorted:
    """The root of pairs that come one by one, in the order of their keys. `version`: the state version."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._key: bytes | None = None
        self._last = b""
        self._open: list[_PathNode] = []

    def add(self, key: bytes, value: bytes) -> None:
        """Add the next pair; raise ValueError if its key does not follow the one before."""
        if self._key is not None and key <= self._key:
            raise ValueError(f"key 0x{key.hex()} does not follow 0x{self._key.hex()}")
        nibbles = to_nibbles(key)
        if self._key is not None:
            self._close(common_prefix(self._last, nibbles))
        self._key, self._last = key, nibbles
        self._open.append(_PathNode(len(nibbles), TrieNode(b"", *stored_value(value, self._version))))

    def root(self) -> bytes:
        """Return the root hash; no pair can be added after this."""
        if not self._open:
            return EMPTY_ROOT
        self._close(self._open[0].depth)
        return blake2_256(self._encoded(self._open[0], 0))

    def _close(self, depth: int) -> None:
        """Finish the nodes that end beyond `depth` nibbles of the last key.

        One node ends at `depth` and stays open.
        """
        while self._open[-1].depth > depth:
            finished = self._open.pop()
            if not self._open or self._open[-1].depth < depth:
                self._open.append(_PathNode(depth, TrieNode(b"")))
            above = self._open[-1]
            if above.node.children is None:
                above.node.children = [b""] * 16
            above.node.children[self._last[above.depth]] = merkle_entry(
                self._encoded(finished, above.depth + 1)
            )

    def _encoded(self, done: _PathNode, start: int) -> bytes:
        done.node.partial = self._last[start : done.depth]
        return encode_node(done.node)


def root(pairs: Mapping[bytes, bytes], version: int) -> bytes:
    """Return the root hash of a trie that holds these pairs, in state version 0 or 1."""
    builder = RootOfSorted(version)
    for key in sorted(pairs):
        builder.add(key, pairs[key])
    return builder.root()


def ordered_root(items: Iterable[bytes], version: int) -> bytes:
    """Return the root hash of the trie from compact(0), compact(1), … to the items."""
    return root({encode_compact(index): item for index, item in enumerate(items)}, version)
