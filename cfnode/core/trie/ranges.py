"""Ranges of a state with their proofs, for the transfer of a whole state piece by piece.

A *range* is the part of the state after a position, in key order: keys, values and the nodes above them, as
far as the nodes reach. The server walks its own trie and stops when it has enough; the visited nodes are the
proof. The client walks the proof from the trusted root in the same order, and where a node or value is
missing, the range ends, just before that key. So both sides run the same walk, and a peer can neither leave a
key out nor insert one: it can only stop early.

A child trie follows directly after the key that holds its root. Positions are those of the state protocol:
nothing (the beginning), a key of the top trie, or the key of a child trie and the last key in it.

Substrate, `prove_range_read_with_child_with_size` and state sync.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cfnode.core.state import CHILD_STORAGE_PREFIX, BlockState
from cfnode.core.trie.codec import (
    EMPTY_NODE,
    EMPTY_ROOT,
    HASH_LENGTH,
    HASH_PREFIX,
    TrieNode,
    decode_node,
    is_hash_entry,
)
from cfnode.core.trie.errors import TrieError
from cfnode.core.trie.nibbles import to_key
from cfnode.core.trie.source import ByPath, NodeSource

__all__ = [
    "Position",
    "StateRange",
    "is_child_root",
    "trie_rows",
    "whole_key",
]

Position = tuple[bytes, ...]
"""The position after which a range begins: (), (key,) or (child trie's key, key in it)."""


@dataclass(slots=True)
class StateRange:
    """The content of a range. `pairs`: (child, key, value) in order; `nodes`: (child, path, encoded node).

    `next` is where the next range begins, None at the end of the state. `ahead`: keys of the top trie,
    ascending, after which more is known to follow: later ranges can be requested there at the same time.
    `share`: the range's part of the state, estimated as if all children of a branch were equal.
    """

    pairs: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)
    nodes: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)
    next: Position | None = ()
    ahead: list[bytes] = field(default_factory=list)
    share: float = 0.0


class _RangeWalk:
    """A walk over a state, and its position: the last visited key, None at the end."""

    def __init__(self, source: NodeSource) -> None:
        self.source = source
        self.position: Position | None = ()

    def node(self, child: bytes, path: bytes, merkle_value: bytes) -> TrieNode:
        """Return the node at `path`; raise MissingNode."""
        return _decoded(self.source.node(child, path, merkle_value))


class _LastRow(ByPath):
    """Our own state, row by row. `row`: the path of the node that was read last."""

    row: bytes | None = None

    def node(self, child: bytes, path: bytes, merkle_value: bytes) -> bytes:
        self.row = path
        return super().node(child, path, merkle_value)


def trie_rows(
    state: BlockState, child: bytes, root: bytes
) -> Iterator[tuple[bytes | None, bytes | None, bytes | None]]:
    """Yield the rows of a complete trie in order: (path, key, value or its hash).

    The path is that of the node's row, None if the node lies in its parent; key and value are None if the
    node has no value. Raises MissingNode if the trie is incomplete.
    """
    source = _LastRow(state)
    for end, _, value in _nodes(_RangeWalk(source), child, root, lambda _: True):
        yield source.row, None if value is None else whole_key(end), value
        source.row = None


def is_child_root(key: bytes, value: bytes) -> bool:
    """Return whether a pair of the top trie holds the root of a child trie."""
    return key.startswith(CHILD_STORAGE_PREFIX) and len(value) == HASH_LENGTH


def whole_key(path: bytes) -> bytes:
    """Return the key of a node's complete path; raise TrieError for an odd number of nibbles."""
    if len(path) & 1:
        raise TrieError("a trie key ends in the middle of a byte")
    return to_key(path)


def _decoded(encoded: bytes) -> TrieNode:
    if encoded == EMPTY_NODE:
        raise TrieError("an empty node within a trie")
    return decode_node(encoded)


def _nodes(
    walk: _RangeWalk, child: bytes, root: bytes, wanted: Callable[[bytes], bool]
) -> Iterator[tuple[bytes, TrieNode, bytes | None]]:
    """Yield (complete path, node, its value or the value's hash) in key order.

    The descent has its own stack.
    """
    if root == EMPTY_ROOT:
        return
    stack = [(b"", HASH_PREFIX + root)]
    while stack:
        path, entry = stack.pop()
        node = walk.node(child, path, entry[1:]) if is_hash_entry(entry) else _decoded(entry[1:])
        end = path + node.partial
        if not wanted(end):
            continue
        yield end, node, node.value
        for index in range(15, -1, -1) if node.children else ():
            child_entry = node.children[index] if node.children else b""
            if child_entry and wanted(end + bytes((index,))):
                stack.append((end + bytes((index,)), child_entry))
