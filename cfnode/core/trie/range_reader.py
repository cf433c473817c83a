"""Reader of range proofs: from the compact items that a stranger sent to the range after a position.

The top trie is read in one pass (`range_part.py`); it counts once its root is the expected one. A proof with
long paths, or with child tries, is first checked as a whole by the reader of compact proofs (`compact.py`),
and then read without the bound.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence

from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP
from cfnode.core.trie.codec import EMPTY_ROOT, HASH_LENGTH, decode_node
from cfnode.core.trie.compact import decode_compact_proof
from cfnode.core.trie.errors import TrieError
from cfnode.core.trie.nibbles import covering_key, to_nibbles
from cfnode.core.trie.range_part import LongPathsError, TriePart, path_nibbles, read_part
from cfnode.core.trie.ranges import Position, StateRange, is_child_root

__all__ = ["read_range"]

MAX_UNPROVEN_NIBBLES = 32 << 20
"""Nibbles of all paths that are put together before the root is known, with some for each entry. A usual
answer has some two million."""


def read_range(items: Sequence[bytes], root: bytes, start: Position) -> StateRange:
    """Return the range after `start` in a compact proof of the state `root`. Raises TrieError.

    A range whose `next` is `start` has no new key.
    """
    after = start[0] if start else None
    try:
        top = read_part(items, 0, TOP, after, MAX_UNPROVEN_NIBBLES)
    except LongPathsError:
        top = None
    if top is None or top.end != len(items):
        decode_compact_proof(items, root)
        top = read_part(items, 0, TOP, after, None)
    elif top.root != root:
        raise TrieError(f"compact proof is not of the state root 0x{root.hex()}")
    return _ProvenRange(items, top, start).read()


class _ProvenRange:
    """The range in a proven part of the top trie and the child tries after it."""

    def __init__(self, items: Sequence[bytes], top: TriePart, start: Position) -> None:
        self._items = items
        self._top = top
        self._start = start
        self._begins = self._child_tries()
        self._range = StateRange(next=start)
        self._stop = top.stop

    def _child_tries(self) -> dict[bytes, int]:
        """Return the index of the first item of each child trie, by its root."""
        begins, at = {}, self._top.end
        while at < len(self._items):
            part = read_part(self._items, at, TOP, None, None)
            begins[part.root] = at
            at = part.end
        return begins

    def read(self) -> StateRange:
        """Put the range together: the child tries follow the keys that hold their roots."""
        state_range, start = self._range, self._start
        is_whole = len(start) < 2 or self._rest_of_child(start[0], start[1])
        if is_whole:
            self._top_with_children()
        else:
            state_range.nodes += self._above(start[0])
        top_nodes = {path: encoded for child, path, encoded in state_range.nodes if child == TOP}
        if is_whole and self._stop is not None:
            state_range.ahead = sorted(set(_keys_ahead(top_nodes, self._stop)))
        state_range.share = _before(top_nodes, state_range.next) - _before(top_nodes, start)
        return state_range

    def _rest_of_child(self, name: bytes, after: bytes) -> bool:
        """Read what is left of the child trie in which the range begins; return whether it is whole."""
        root, stop = self._top.at_start, self._stop
        if root is None and stop is not None and name.hex().startswith(stop):
            return False
        if root is None or len(root) != HASH_LENGTH:
            raise TrieError(f"0x{name.hex()} holds no root of a child trie")
        return self._child(name, root, after)

    def _child(self, name: bytes, root: bytes, after: bytes | None) -> bool:
        """Read a child trie, and set where the range ends if it ends here; return whether it is whole."""
        state_range = self._range
        state_range.next = (name, after or b"")
        begin = self._begins.get(root)
        if begin is None:
            return root == EMPTY_ROOT
        part = read_part(self._items, begin, name.removeprefix(CHILD_STORAGE_PREFIX), after, None)
        state_range.pairs += part.pairs
        state_range.nodes += part.nodes
        if part.pairs:
            state_range.next = (name, part.pairs[-1][1])
        return part.stop is None

    def _top_with_children(self) -> None:
        """Read the top trie, and each child trie after its key, up to the first missing entry."""
        state_range, top, begin = self._range, self._top, 0
        for index in _child_roots(top.pairs):
            state_range.pairs += top.pairs[begin : index + 1]
            _, name, root = top.pairs[index]
            begin = index + 1
            if not self._child(name, root, None):
                self._stop = name.hex()
                state_range.nodes += self._above(name)
                return
        state_range.pairs += top.pairs[begin:]
        state_range.nodes += top.nodes
        if top.stop is None:
            state_range.next = None
        elif top.pairs:
            state_range.next = (top.pairs[-1][1],)
        else:
            state_range.next = self._start[:1]

    def _above(self, key: bytes) -> list[tuple[bytes, bytes, bytes]]:
        """Return the nodes of the top trie up to the one of a key."""
        return self._top.nodes[: bisect_right(self._top.nodes, to_nibbles(key), key=lambda node: node[1])]


def _child_roots(pairs: Sequence[tuple[bytes, bytes, bytes]]) -> Iterator[int]:
    """Yield the indexes of the pairs of the top trie that hold roots of child tries."""
    for index in range(bisect_left(pairs, (TOP, CHILD_STORAGE_PREFIX)), len(pairs)):
        _, key, value = pairs[index]
        if not key.startswith(CHILD_STORAGE_PREFIX):
            return
        if is_child_root(key, value):
            yield index


# --- what a range says about the rest


def _keys_ahead(nodes: Mapping[bytes, bytes], stop: str) -> Iterator[bytes]:
    """Yield keys of the top trie after which more is known to follow, from a missing entry on."""
    stop_path, path = path_nibbles(stop), b""
    while (encoded := nodes.get(path)) is not None:
        node = decode_node(encoded)
        end = path + node.partial
        if node.children is None or len(end) >= len(stop_path) or not stop_path.startswith(end):
            return
        index = stop_path[len(end)]
        for later in range(index + 1, 16):
            if node.children[later]:
                yield covering_key(end + bytes((later,)))
        path = end + bytes((index,))


def _before(nodes: Mapping[bytes, bytes], position: Position | None) -> float:
    """Return the part of the top trie before a position, if all children of a branch weigh the same."""
    if not position:
        return 1.0 if position is None else 0.0
    key_nibbles, path, share, weight = to_nibbles(position[0]), b"", 0.0, 1.0
    while (encoded := nodes.get(path)) is not None:
        node = decode_node(encoded)
        end = path + node.partial
        if node.children is None or len(end) >= len(key_nibbles) or not key_nibbles.startswith(end):
            return share if end > key_nibbles else share + weight * (node.children is None)
        index = key_nibbles[len(end)]
        weight /= sum(map(bool, node.children))
        share += weight * sum(map(bool, node.children[:index]))
        path = end + bytes((index,))
    return share
