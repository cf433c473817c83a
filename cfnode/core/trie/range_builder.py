"""Builder of range proofs: the rows of a state in order become the items of a compact proof.

The rows of a trie's nodes are sorted by path, which is the order in which a walk from the root visits them,
and the order of the items. So a range is packed by two cursors, one over the nodes and one over the values,
without taking the nodes apart:

1. Pack the nodes on the path to the start, found by their paths.
2. Pack the rows after the start: of a leaf, the value in place of its hash; of a branch, nothing for its
   children, since they follow. Each child trie is packed when its root is met, behind the top trie.
3. At `max_bytes`, stop. The branches above the next row get the hashes of the children that do not follow.

Usual rows are cut by their lengths: leaves with the value by hash or inside, branches of hashes. All others
go through `codec.py`. The hashes of our own rows are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP, BlockState
from cfnode.core.trie.codec import (
    EMPTY_NODE,
    EMPTY_ROOT,
    HASH_LENGTH,
    HASH_PREFIX,
    TrieNode,
    decode_node,
    encode_node,
    is_hash_entry,
)
from cfnode.core.trie.compact import ESCAPE, OMITTED
from cfnode.core.trie.errors import MissingNode, TrieError
from cfnode.core.trie.nibbles import covering_key, to_nibbles
from cfnode.core.trie.range_part import hex_digits, inline_pairs
from cfnode.core.trie.ranges import Position, is_child_root, whole_key

__all__ = ["HASHED_LEAF", "OrderedState", "build_range"]

HASHED_LEAF, _LEAF, _BRANCH = 0x20, 0x40, 0x80
_ESCAPED_LEAVES = tuple(bytes((1, _LEAF | length)) for length in range(31))
_ALL_OMITTED = tuple(OMITTED * count for count in range(17))
_ALL_HASHES = tuple(HASH_PREFIX * count for count in range(17))
_ROOTS_BELOW = to_nibbles(CHILD_STORAGE_PREFIX[:1])
_BIT_COUNTS = bytes(byte.bit_count() for byte in range(256))


class OrderedState(BlockState, Protocol):
    """A state whose rows can also be read in order."""

    def pairs_after(self, key: bytes, child: bytes = TOP) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys strictly after `key`, in order, with their values."""
        ...

    def nodes_after(self, path: bytes, child: bytes = TOP) -> Iterator[tuple[bytes, bytes]]:
        """Yield the paths strictly after `path` at which nodes have rows, in order, with these nodes."""
        ...


def build_range(state: OrderedState, start: Position, max_bytes: int) -> tuple[list[bytes], bool]:
    """Return a compact proof of a part of the state after `start`, and whether the state ends with it.

    The proof has about `max_bytes`, and at least one key unless no key follows. Raises TrieError if `start`
    names an unknown child trie, MissingNode if a row of the state is missing.
    """
    try:
        return _Packing(state, max_bytes).range(start)
    except TrieError:
        raise
    except (IndexError, ValueError) as error:
        raise TrieError("a row of the state is malformed") from error


class _Packing:
    """A range that is being packed. `has_key`: whether a key after the start is in it.

    An entry counts at each visit: a state of equal entries is as much work as one of different ones.
    """

    def __init__(self, state: OrderedState, max_bytes: int) -> None:
        self.state = state
        self.left = max_bytes
        self.has_key = False
        self._children: list[bytes] = []
        self._packed: dict[bytes, int] = {}
        """The bytes of each child trie that is packed as a whole, by its root."""
        self._first: bytes | None = None
        """The root of the child trie in which the range begins."""

    @property
    def is_full(self) -> bool:
        """Whether nothing more may be visited."""
        return self.left <= 0 and self.has_key

    def range(self, start: Position) -> tuple[list[bytes], bool]:
        """Return the items, and whether the state ends with the range."""
        top = _TriePacking(self, TOP, start[0] if start else None)
        is_whole = (
            top.above(self.state.root)
            and (len(start) < 2 or self._rest_of_child(start[0], start[1]))
            and top.below()
        )
        if not is_whole:
            top.close()
        return top.items + self._children, is_whole

    def _rest_of_child(self, name: bytes, after: bytes) -> bool:
        root = self.state.get(name)
        if root is None or len(root) != HASH_LENGTH:
            raise TrieError(f"0x{name.hex()} holds no root of a child trie")
        self._first = root
        return self._pack(name, root, after)

    def child(self, name: bytes, root: bytes) -> bool:
        """Pack the child trie whose root a key of the top trie holds; return whether it is whole.

        A second one of the same root is in the proof already, but not the rest of the one in which the range
        begins.
        """
        self.has_key = True
        if root in self._packed and not self.is_full:
            self.left -= self._packed[root]
            return True
        if root in (self._first, *self._packed):
            return False
        before = self.left
        is_whole = self._pack(name, root, None)
        if is_whole:
            self._packed[root] = before - self.left
        return is_whole

    def _pack(self, name: bytes, root: bytes, after: bytes | None) -> bool:
        if root == EMPTY_ROOT:
            return True
        trie = _TriePacking(self, name.removeprefix(CHILD_STORAGE_PREFIX), after)
        is_whole = trie.above(root) and trie.below()
        if not is_whole:
            trie.close()
        self._children += trie.items
        return is_whole


class _TriePacking:
    """The part of one trie after a key that is being packed: first `above`, then `below`."""

    def __init__(self, packing: _Packing, child: bytes, after: bytes | None) -> None:
        self.items: list[bytes] = []
        self._packing = packing
        self._state = packing.state
        self._child = child
        self._bound = None if after is None else to_nibbles(after)
        self._values = packing.state.pairs_after(after or b"", child)
        self._branches: dict[bytes, tuple[int, bytes]] = {}
        """By its path, the index of each branch's item, and the branch."""
        self._last = b""
        """The path of the last packed node."""
        self._first_inline: str | None = None
        """The first key after the start within a branch's bytes (in hexadecimal), while there is no other."""

    def above(self, root: bytes) -> bool:
        """Pack the nodes on the path to the start; return False where the range ends with them."""
        if root == EMPTY_ROOT:
            self.items.append(EMPTY_NODE)
            return True
        path: bytes | None = b""
        while path is not None:
            encoded = self._state.node(path, self._child)
            if encoded is None and self._child == TOP:
                raise MissingNode(covering_key(path), root, self._child)
            if encoded is None or self._packing.is_full or not self._pack_node(path, encoded):
                return False
            path = self._next_on_path(path + decode_node(encoded).partial, decode_node(encoded))
        return True

    def _next_on_path(self, end: bytes, node: TrieNode) -> bytes | None:
        """Return the path of the next node with a row above the start."""
        bound = self._bound
        if bound is None or node.children is None or len(end) >= len(bound) or not bound.startswith(end):
            return None
        index = bound[len(end)]
        return end + bytes((index,)) if is_hash_entry(node.children[index]) else None

    def below(self) -> bool:
        """Pack the rows after the start; return False where the range ends before the trie does.

        One loop without calls for usual rows, since calls would take as long as all that is done with one.
        """
        packing, items, values = self._packing, self.items, self._values
        for path, encoded in self._state.nodes_after(self._bound or b"", self._child):
            if packing.left <= 0 and self._is_full_before(path):
                return False
            first = encoded[0]
            length = first & (31 if first < _LEAF else 63)
            stop = (length + 3) // 2
            if HASHED_LEAF <= first < HASHED_LEAF + 31:
                self._last = path
                packing.left -= len(encoded)
                if packing.is_full:
                    items.append(encoded)
                    return False
                packed = encoded[1:stop]
                key = bytes.fromhex(hex_digits(path) + packed.hex()[length & 1 :])
                value_path, value = next(values, (b"", b""))
                if value_path != key:
                    value = self._value(key)
                items += (_ESCAPED_LEAVES[length] + packed + OMITTED, value)
                packing.left -= len(value)
                packing.has_key = True
            elif _LEAF <= first < _LEAF + 63 and (
                len(encoded) != stop + 1 + HASH_LENGTH or self._child or not _ROOTS_BELOW.startswith(path[:2])
            ):
                self._last = path
                items.append(encoded)
                packing.left -= len(encoded)
                packing.has_key = True
            elif (
                _BRANCH <= first < _BRANCH + 63
                and encoded[stop + 2 :: 1 + HASH_LENGTH]
                == _ALL_HASHES[count := _BIT_COUNTS[encoded[stop]] + _BIT_COUNTS[encoded[stop + 1]]]
                and len(encoded) == stop + 2 + count * (1 + HASH_LENGTH)
            ):
                self._last = path
                self._branches[path] = len(items), encoded
                items.append(encoded[: stop + 2] + _ALL_OMITTED[count])
                packing.left -= len(encoded)
            elif not self._pack_node(path, encoded):
                return False
        packing.has_key |= self._first_inline is not None
        return True

    def close(self) -> None:
        """Put the hashes of the children that do not follow into the branches above the range's end."""
        last = self._last
        for length in range(len(last) + 1):
            path = last[:length]
            if path not in self._branches:
                continue
            index, encoded = self._branches[path]
            node = decode_node(encoded)
            end = path + node.partial
            is_escaped = self.items[index][:1] == ESCAPE
            self.items[index] = self._item(node, end, is_escaped, last[len(end)] + 1 if path != last else 0)

    def _pack_node(self, path: bytes, encoded: bytes) -> bool:
        """Pack a node of any form; return False where the range ends at its value or child trie."""
        packing, node = self._packing, decode_node(encoded)
        end = path + node.partial
        self._last = path
        packing.left -= len(encoded)
        is_full = packing.left <= 0 and self._is_full_before(path)
        is_after = self._bound is None or end > self._bound
        value: bytes | None = None
        if is_after and node.hashed and not is_full:
            value = self._value(whole_key(end))
            packing.left -= len(value)
        packing.has_key |= is_after and node.value is not None and not (node.hashed and is_full)
        if node.children:
            self._branches[path] = len(self.items), encoded
        self.items.append(self._item(node, end, value is not None, 16))
        if value is not None:
            self.items.append(value)
        if is_after and node.hashed and is_full:
            return False
        self._note_inline(decode_node(encoded), end)
        root = decode_node(encoded).value
        if not is_after or root is None or len(root) != HASH_LENGTH or self._child:
            return True
        key = whole_key(end)
        return not is_child_root(key, root) or packing.child(key, root)

    def _item(self, node: TrieNode, end: bytes, is_escaped: bool, before: int) -> bytes:
        """Return the item of a node whose children up to an index follow, from the start on.

        The node is changed.
        """
        children = node.children or []
        for index in range(self._first_child(end), min(before, len(children))):
            if is_hash_entry(children[index]):
                children[index] = OMITTED
        if not is_escaped:
            return encode_node(node)
        node.value, node.hashed = b"", False
        return ESCAPE + encode_node(node)

    def _first_child(self, end: bytes) -> int:
        """Return the first child of a node ending at `end` with keys after the start; 16 for none."""
        bound = self._bound
        if bound is None or end >= bound:
            return 0
        return bound[len(end)] if bound.startswith(end) else 16

    def _value(self, key: bytes) -> bytes:
        """Return the value of a key behind those that were read."""
        if not key:
            return self._state.get(key, self._child) or b""
        for path, value in self._values:
            if path == key:
                return value
            if path > key:
                break
        raise MissingNode(key, b"", self._child)

    def _note_inline(self, node: TrieNode, end: bytes) -> None:
        """Note the first key within a branch's bytes: the range has a key once that one has been passed."""
        if self._packing.has_key or self._first_inline is not None:
            return
        for index, entry in enumerate(node.children or ()):
            if entry and not is_hash_entry(entry):
                for key, _ in inline_pairs(entry[1:], hex_digits(end + bytes((index,)))):
                    if self._bound is None or key > hex_digits(self._bound):
                        self._first_inline = key
                        return

    def _is_full_before(self, path: bytes) -> bool:
        """Return whether a node at a path is behind the range's end, if no bytes are left."""
        if self._first_inline is not None and self._first_inline < hex_digits(path):
            self._packing.has_key = True
        return self._packing.has_key
