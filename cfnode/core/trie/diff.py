"""Keys that differ between two states.

Both tries are walked together, and equal subtries are skipped: equal merkle values mean equal subtries, so
the work grows with the differences, not with the size. The nodes of two tries need not begin at the same
nibbles (a new key can split a long partial key), so the walk advances nibble by nibble: a *point* is a node
and the number of nibbles of its partial key that have been passed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from cfnode.core.hashing import blake2_256
from cfnode.core.trie.codec import EMPTY_NODE, TrieNode, decode_node, is_hash_entry
from cfnode.core.trie.errors import MissingNode
from cfnode.core.trie.nibbles import covering_key, to_key, to_nibbles
from cfnode.core.trie.update import NodeReader


class Change(Enum):
    """Kind of a key's change."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class _Point:
    """A point in a trie: below the first `passed` nibbles of the node's partial key."""

    encoded: bytes
    node: TrieNode
    passed: int

    def same(self, other: _Point) -> bool:
        return self.passed == other.passed and self.encoded == other.encoded

    @property
    def value(self) -> bytes | None:
        """The hash of the value exactly at this point."""
        node = self.node
        if self.passed < len(node.partial) or node.value is None:
            return None
        return node.value if node.hashed else blake2_256(node.value)


def differences(
    old: NodeReader, new: NodeReader, prefix: bytes = b"", after: bytes | None = None
) -> Iterator[tuple[bytes, Change]]:
    """Yield the keys with a prefix whose values differ, in order; with `after`, only those after it.

    `old` and `new` read a trie's nodes by path, and return None for an empty trie. Raises MissingNode.
    """
    bound, start = to_nibbles(prefix), None if after is None else to_nibbles(after)
    waiting = [(b"", _root(old), _root(new))]
    while waiting:
        path, old_point, new_point = waiting.pop()
        if old_point is None or new_point is None:
            if old_point is new_point:
                continue
        elif old_point.same(new_point):
            continue
        if path.startswith(bound) and (start is None or path > start):
            change = _change(old_point, new_point)
            if change is not None:
                yield to_key(path), change
        for nibble in _onward(path, bound, start):
            child_path = path + bytes((nibble,))
            waiting.append((child_path, _step(old, old_point, child_path), _step(new, new_point, child_path)))


def _change(left: _Point | None, right: _Point | None) -> Change | None:
    old_value = None if left is None else left.value
    new_value = None if right is None else right.value
    if old_value == new_value:
        return None
    if old_value is None:
        return Change.ADDED
    return Change.DELETED if new_value is None else Change.MODIFIED


def _onward(path: bytes, bound: bytes, start: bytes | None) -> range | tuple[int]:
    """Return the nibbles that can follow a path, the last first."""
    if len(path) < len(bound):
        return (bound[len(path)],)
    above_start = start is not None and len(start) > len(path) and start.startswith(path)
    return range(15, (start[len(path)] if start and above_start else 0) - 1, -1)


def _root(read: NodeReader) -> _Point | None:
    encoded = read(b"")
    if encoded is None or encoded == EMPTY_NODE:
        return None
    return _Point(encoded, decode_node(encoded), 0)


def _step(read: NodeReader, point: _Point | None, path: bytes) -> _Point | None:
    """Return the point one nibble further down, at the last nibble of `path`, or None. Raises MissingNode."""
    if point is None:
        return None
    partial, nibble = point.node.partial, path[-1]
    if point.passed < len(partial):
        return (
            _Point(point.encoded, point.node, point.passed + 1) if partial[point.passed] == nibble else None
        )
    entry = point.node.children[nibble] if point.node.children else b""
    if not entry:
        return None
    encoded = read(path) if is_hash_entry(entry) else entry[1:]
    if encoded is None:
        raise MissingNode(covering_key(path), entry[1:])
    return _Point(encoded, decode_node(encoded), 0)
