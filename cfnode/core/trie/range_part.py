"""One pass over the compact items of a trie, for keys, values and nodes after a key.

A stranger sent the items. Until the root of the trie has been computed, which is when the last item has been
read, nothing in them is known to be true:

1. Read the items in order, the order of the trie's keys, with a stack of the branches above the present
   item. Each node is hashed when its last child is known, and the hash goes into its parent.
2. On the way, collect the keys, values and nodes after the start, up to the first one that is missing. A key
   is longer than the item that it comes from, so all paths together are bounded while nothing is proven.
3. Return what was collected with the root, which the caller compares.

Usual items are taken apart here: leaves with a short partial key, branches whose children all follow. All
others go through `codec.py`.

A node counts where it stands: a node that is left out does not become known because an equal one is present
elsewhere in the trie. Servers pack a node at each of its places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from cfnode.core.hashing import blake2_256
from cfnode.core.trie.codec import (
    EMPTY_NODE,
    EMPTY_ROOT,
    HASH_PREFIX,
    decode_node,
    encode_node,
    is_hash_entry,
)
from cfnode.core.trie.compact import ESCAPE, OMITTED
from cfnode.core.trie.errors import TrieError

__all__ = ["NIBBLES", "LongPathsError", "TriePart", "hex_digits", "inline_pairs", "path_nibbles", "read_part"]

_ENTRY_COST = 32
"""Nibbles that an entry counts besides its path: its value may have no byte."""

NIBBLES = (*(bytes((nibble,)) for nibble in range(16)), b"")
_HEX = (*"0123456789abcdef", "")
_SHORT_LEAVES = tuple(bytes((0x20 | length,)) for length in range(31))
"""Headers of leaves with the value by hash, by the length of the partial key."""
_ALL_OMITTED = tuple(OMITTED * count for count in range(17))
_LEAF, _BRANCH = 0x40, 0x80


@dataclass(slots=True)
class TriePart:
    """The part of one trie after a key. Positions in the trie are nibbles in hexadecimal.

    `end`: the index of the item after the trie. `stop`: the first missing node, or the key of the first
    missing value; None if nothing is missing. `at_start`: the value under the key itself.
    """

    root: bytes = EMPTY_ROOT
    end: int = 0
    pairs: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)
    nodes: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)
    stop: str | None = None
    at_start: bytes | None = None


class LongPathsError(Exception):
    """The paths of a proof together are too long to be put together before its root is known."""


def read_part(
    items: Sequence[bytes], at: int, child: bytes, after: bytes | None, max_nibbles: int | None
) -> TriePart:
    """Return the part after a key of the trie whose items begin at an index, and the trie's root.

    Raises TrieError; and LongPathsError if the paths have more than `max_nibbles` together.
    """
    try:
        return _TrieReader(items, child, after, max_nibbles).read(at)
    except TrieError:
        raise
    except (IndexError, ValueError) as error:
        raise TrieError("compact proof ends early, or a key of it in the middle of a byte") from error


@lru_cache(4096)
def _places(bitmap: int) -> tuple[int, ...]:
    """Return the nibbles of a branch's children, the first one at index 1."""
    return (0, *(index for index in range(16) if bitmap >> index & 1))


_COLLECTING, _SEEKING, _MUTED = range(3)
"""What happens to a node: it is collected; it is compared with the start first; it is only hashed."""

_Frame = tuple[list[bytes], Iterator[int], tuple[int, ...], bytes, str, int, int]
"""A branch whose children are being read: its head and its children's entries, the indexes of those that are
left, their nibbles, the path to them (as nibbles and in hexadecimal), the index of its row, and the index of
the child that is read."""

_Opened = tuple[bytes, str, bytes | None, bool, Sequence[bytes], tuple[int, ...]]
"""An item taken apart: the node up to its children's entries, its partial key, its value, whether only the
value's hash is known, the entries and their nibbles."""


class _TrieReader:
    """One pass over the items of a trie."""

    def __init__(
        self, items: Sequence[bytes], child: bytes, after: bytes | None, max_nibbles: int | None
    ) -> None:
        self._items = items
        self._child = child
        self._bound = "" if after is None else after.hex()
        self._mode = _COLLECTING if after is None else _SEEKING
        self._muted_at = -1
        """The depth of the node before the start below which nothing is collected."""
        self._part = TriePart()
        self._nibbles_left = max_nibbles

    def read(self, at: int) -> TriePart:
        """Return the part; `at`: the index of the root's item.

        One loop without calls for usual items, since calls would take as long as all that is done with one.
        The root is the only child of the first frame.
        """
        items, child, pairs, rows = self._items, self._child, self._part.pairs, self._part.nodes
        if items[at] == EMPTY_NODE:
            return TriePart(EMPTY_ROOT, at + 1)
        stack: list[_Frame] = []
        places: tuple[int, ...] = (0, 16)
        pieces, left, end, hexed, row = [b"", OMITTED], iter((1,)), b"", "", -1
        while True:
            for slot in left:
                if pieces[slot] != OMITTED:
                    if self._mode != _MUTED:
                        self._place_entry(pieces[slot], hexed + _HEX[places[slot]])
                    continue
                item = items[at]
                at += 1
                first, packed = item[0], None
                opened: _Opened | None = None
                if first == 1:
                    length = item[1] - _LEAF
                    stop = (length + 5) // 2
                    if 0 <= length < 31 and item[stop:] == OMITTED:
                        packed, value = item[2:stop], items[at]
                        encoded = _SHORT_LEAVES[length] + packed + blake2_256(value)
                        at += 1
                elif _LEAF <= first < _LEAF + 63:
                    length = first - _LEAF
                    stop = (length + 3) // 2
                    if item[stop] == len(item) - stop - 1 << 2:
                        packed, value, encoded = item[1:stop], item[stop + 1 :], item
                elif _BRANCH <= first < _BRANCH + 63:
                    length = first - _BRANCH
                    stop = (length + 3) // 2
                    nibbles = _places(item[stop] | item[stop + 1] << 8)
                    entries = item[stop + 2 :]
                    if entries and entries == _ALL_OMITTED[len(nibbles) - 1]:
                        partial = _partial(item[1:stop], length)
                        opened = item[: stop + 2], partial, None, False, [OMITTED] * len(entries), nibbles
                if packed is not None:
                    partial = packed.hex()
                    if length & 1:
                        partial = _partial(packed, length)
                    pieces[slot] = HASH_PREFIX + blake2_256(encoded)
                    if self._mode == _COLLECTING:
                        nibble = places[slot]
                        pairs.append((child, bytes.fromhex(hexed + _HEX[nibble] + partial), value))
                        rows.append((child, end + NIBBLES[nibble], encoded))
                    elif self._mode == _SEEKING:
                        nibble = places[slot]
                        self._seek_leaf(end + NIBBLES[nibble], hexed + _HEX[nibble], partial, value, encoded)
                    continue
                if opened is None:
                    opened, at = self._open(item, at)
                stack.append((pieces, left, places, end, hexed, row, slot))
                path = end + NIBBLES[places[slot]]
                row, end, hexed = self._enter(path, hexed + _HEX[places[slot]], opened, len(stack))
                pieces, places = [opened[0], *opened[4]], opened[5]
                left = iter(range(1, len(pieces)))
                break
            else:
                if not stack:
                    self._part.root, self._part.end = pieces[1][1:], at
                    return self._part
                if self._muted_at == len(stack):
                    self._mode, self._muted_at = _SEEKING, -1
                encoded = b"".join(pieces)
                if row >= 0:
                    rows[row] = child, rows[row][1], encoded
                pieces, left, places, end, hexed, row, slot = stack.pop()
                pieces[slot] = HASH_PREFIX + blake2_256(encoded)

    def _open(self, item: bytes, at: int) -> tuple[_Opened, int]:
        """Take an unusual item apart; return it and the index of the next item."""
        is_escaped = item[:1] == ESCAPE
        node = decode_node(item[1:] if is_escaped else item, omitted=True)
        value, lacks_value = (None, True) if node.hashed else (node.value, False)
        if is_escaped:
            if lacks_value or value != b"":
                raise TrieError("compact proof: an escaped node whose value is not left out")
            value = self._items[at]
            node.value, node.hashed, at = blake2_256(value), True, at + 1
        entries = [entry for entry in node.children or () if entry]
        encoded = encode_node(node)
        head = encoded[: len(encoded) - sum(map(len, entries))]
        places = (0, *(index for index, entry in enumerate(node.children or ()) if entry))
        return (head, hex_digits(node.partial), value, lacks_value, entries, places), at

    # --- collecting

    def _enter(self, path: bytes, hexed: str, opened: _Opened, depth: int) -> tuple[int, bytes, str]:
        """Collect a node that may have children.

        Return the index of its row, -1 without one, and the path to its children in both forms.
        """
        if self._mode == _SEEKING and not self._is_wanted(hexed):
            self._mode, self._muted_at = _MUTED, depth
        if self._mode == _MUTED:
            return -1, b"", ""
        _, partial, value, lacks_value, entries, _ = opened
        end = hexed + partial
        self._charge((len(end) + _ENTRY_COST) * (len(entries) + 1))
        self._part.nodes.append((self._child, path, b""))
        row = len(self._part.nodes) - 1
        if self._mode == _SEEKING and end <= self._bound:
            if end == self._bound:
                self._part.at_start = value
            elif not self._bound.startswith(end):
                self._mode, self._muted_at = _MUTED, depth
        else:
            self._mode = _COLLECTING
            if lacks_value:
                self._end_at(end)
            elif value is not None:
                self._part.pairs.append((self._child, bytes.fromhex(end), value))
        return row, path + path_nibbles(partial), end

    def _seek_leaf(self, path: bytes, hexed: str, partial: str, value: bytes, encoded: bytes) -> None:
        """Collect a leaf that may lie before the start."""
        if not self._is_wanted(hexed):
            return
        self._part.nodes.append((self._child, path, encoded))
        self._seek_pair(hexed + partial, value)

    def _seek_pair(self, key: str, value: bytes) -> None:
        if key > self._bound:
            self._mode = _COLLECTING
            self._part.pairs.append((self._child, bytes.fromhex(key), value))
        elif key == self._bound:
            self._part.at_start = value

    def _place_entry(self, entry: bytes, hexed: str) -> None:
        """Collect a child that its parent's item contains, or end the part where only its hash is there."""
        if is_hash_entry(entry):
            if self._mode == _COLLECTING or self._is_wanted(hexed):
                self._end_at(hexed)
            return
        for key, value in inline_pairs(entry[1:], hexed):
            self._charge(len(key) + _ENTRY_COST)
            if self._mode == _SEEKING:
                self._seek_pair(key, value)
            else:
                self._part.pairs.append((self._child, bytes.fromhex(key), value))

    def _is_wanted(self, hexed: str) -> bool:
        """Return whether keys after the start may lie below a path."""
        return hexed > self._bound or self._bound.startswith(hexed)

    def _end_at(self, hexed: str) -> None:
        self._part.stop = hexed
        self._mode, self._muted_at = _MUTED, -1

    def _charge(self, nibbles: int) -> None:
        if self._nibbles_left is not None:
            self._nibbles_left -= nibbles
            if self._nibbles_left < 0:
                raise LongPathsError


def inline_pairs(encoded: bytes, hexed: str) -> Iterator[tuple[str, bytes]]:
    """Yield the keys and values of a node within its parent's bytes.

    Each level takes four bytes of at most 31, so this recursion ends soon.
    """
    node = decode_node(encoded)
    end = hexed + hex_digits(node.partial)
    if node.value is not None:
        yield end, node.value
    for index, entry in enumerate(node.children or ()):
        if entry:
            yield from inline_pairs(entry[1:], end + _HEX[index])


def _partial(packed: bytes, length: int) -> str:
    """Return a partial key in hexadecimal; raise TrieError for padding that is not zero."""
    partial = packed.hex()
    if not length & 1:
        return partial
    if partial[0] != "0":
        raise TrieError("trie node: padding of the partial key is not zero")
    return partial[1:]


def hex_digits(nibbles: bytes) -> str:
    """Return nibbles in hexadecimal: `path_nibbles` reversed."""
    return nibbles.hex()[1::2]


def path_nibbles(hexed: str) -> bytes:
    """Return the nibbles of a path in hexadecimal."""
    return bytes.fromhex("0" + "0".join(hexed)) if hexed else b""
