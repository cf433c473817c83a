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
from contextlib import suppress
from dataclasses import dataclass, field

from cfnode.core.hashing import blake2_256
from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP, BlockState
from cfnode.core.trie.codec import (
    EMPTY_NODE,
    EMPTY_ROOT,
    HASH_LENGTH,
    HASH_PREFIX,
    TrieNode,
    decode_node,
    is_hash_entry,
)
from cfnode.core.trie.compact import encode_compact_proof
from cfnode.core.trie.errors import MissingNode, TrieError
from cfnode.core.trie.nibbles import covering_key, to_key, to_nibbles
from cfnode.core.trie.source import ByPath, CollectingSource, NodeSource

__all__ = [
    "Position",
    "StateRange",
    "build_range",
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


class _Limited(CollectingSource):
    """The visited part of our own state. After `max_bytes` and one key, all further entries are missing.

    An entry counts at each visit: a state of equal entries is as much work as one of different ones.
    """

    def __init__(self, state: BlockState, max_bytes: int) -> None:
        super().__init__(ByPath(state))
        self.any = False
        self._left = max_bytes

    def node(self, child: bytes, path: bytes, merkle_value: bytes) -> bytes:
        if self.any and self._left <= 0:
            raise MissingNode(covering_key(path), merkle_value, child)
        return super().node(child, path, merkle_value)

    def value(self, child: bytes, key: bytes, hashed: bytes) -> bytes:
        if self.any and self._left <= 0:
            raise MissingNode(key, hashed, child)
        return super().value(child, key, hashed)

    def _kept(self, entry: bytes) -> bytes:
        self._left -= len(entry)
        return super()._kept(entry)


class _LastRow(ByPath):
    """Our own state, row by row. `row`: the path of the node that was read last."""

    row: bytes | None = None

    def node(self, child: bytes, path: bytes, merkle_value: bytes) -> bytes:
        self.row = path
        return super().node(child, path, merkle_value)


def build_range(state: BlockState, start: Position, max_bytes: int) -> tuple[list[bytes], Position | None]:
    """Return a compact proof of a part of the state after `start`, and where the next range begins.

    The proof has about `max_bytes`, and at least one key unless no key follows. Raises TrieError if `start`
    names an unknown child trie.
    """
    visited = _Limited(state, max_bytes)
    walk = _RangeWalk(visited)
    roots = [state.get(start[0]) or b""] if len(start) == 2 else []
    with suppress(MissingNode):
        for child, key, value in _walk_state(walk, state.root, start):
            visited.any = True
            if child == TOP and is_child_root(key, value):
                roots.append(value)
    present = {blake2_256(entry) for entry in visited.entries}
    child_roots = [child_root for child_root in dict.fromkeys(roots) if child_root in present]
    return encode_compact_proof(state.root, list(visited.entries), child_roots), walk.position


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


def _walk_state(walk: _RangeWalk, root: bytes, start: Position) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield (child, key, value) after `start`, and keep `walk.position` up to date.

    Raises MissingNode where the known part ends.
    """
    walk.position = start
    if len(start) == 2:
        yield from _walk_child(walk, start[0], _value_at(walk, root, start[0]), start[1])
        walk.position = start[:1]
    for key, value in _pairs(walk, TOP, root, start[0] if start else None):
        walk.position = (key,)
        yield TOP, key, value
        if is_child_root(key, value):
            yield from _walk_child(walk, key, value, None)
            walk.position = (key,)
    walk.position = None


def _walk_child(
    walk: _RangeWalk, name: bytes, root: bytes, after: bytes | None
) -> Iterator[tuple[bytes, bytes, bytes]]:
    child = name.removeprefix(CHILD_STORAGE_PREFIX)
    walk.position = (name, after or b"")
    for key, value in _pairs(walk, child, root, after):
        walk.position = (name, key)
        yield child, key, value


def _value_at(walk: _RangeWalk, root: bytes, key: bytes) -> bytes:
    """Return the root of the child trie under `key`, in the middle of which the walk is; raise TrieError."""
    key_nibbles = to_nibbles(key)
    for end, node, _ in _nodes(walk, TOP, root, key_nibbles.startswith):
        if end == key_nibbles and node.value is not None and len(node.value) == HASH_LENGTH:
            return node.value
    raise TrieError(f"0x{key.hex()} holds no root of a child trie")


def _pairs(walk: _RangeWalk, child: bytes, root: bytes, after: bytes | None) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values strictly after `after`, in order; raise MissingNode at the first missing one."""
    bound = None if after is None else to_nibbles(after)

    def wanted(path: bytes) -> bool:
        return bound is None or path > bound or bound.startswith(path)

    for end, node, value in _nodes(walk, child, root, wanted):
        if value is None or (bound is not None and end <= bound):
            continue
        key = whole_key(end)
        yield key, walk.source.value(child, key, value) if node.hashed else value


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
