"""Healing of a state that was downloaded at several blocks: a walk that finds its missing nodes.

The pieces of a large state are downloaded while the chain goes on, each proven against the root of its block.
Together they are the state of no block, yet nearly that of the newest: unchanged parts have the same hash. So
the trie is walked from that root over the stored rows, and each row is compared with the hash by which its
parent names it. A node or value that is absent or differs is *missing*; any peer can prove it, by its look-up
key. When nothing is missing, the rows that the walk has visited are the state, and all others are leftovers
of older ones. (Ethereum's snap sync calls this healing.)

The walk keeps a stack of its own, so it can stop between any two nodes and go on in another snapshot. It
takes nodes and values in the order of their rows: the next row is nearly always the one that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cfnode.core.hashing import blake2_256
from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP
from cfnode.core.trie.codec import EMPTY_ROOT, HASH_PREFIX, TrieNode, decode_node, is_hash_entry
from cfnode.core.trie.nibbles import covering_key
from cfnode.core.trie.range_builder import HASHED_LEAF, OrderedState
from cfnode.core.trie.range_part import NIBBLES, hex_digits, path_nibbles
from cfnode.core.trie.ranges import is_child_root, whole_key

__all__ = ["Healing", "MissingSubtrie", "WalkFindings"]

MAX_PASSED = 8
"""Rows that are passed to find the next one, before it is looked up: leftovers of older states."""


@dataclass(frozen=True, slots=True)
class MissingSubtrie:
    """A missing node, or a missing value that its node names by hash.

    `path`: the nibbles of the node, or of the value's complete key.
    """

    child: bytes
    path: bytes
    hash: bytes
    is_value: bool

    @property
    def key(self) -> bytes:
        """A key whose look-up needs the missing part."""
        return covering_key(self.path)


@dataclass(slots=True)
class WalkFindings:
    """The findings of a part of the walk.

    `values`: (child, key, value) that nodes contain, without a row yet.
    """

    missing: list[MissingSubtrie] = field(default_factory=list)
    values: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)


class _RowsInOrder:
    """Rows of one table, asked for mostly in their order: the next one is read without a look-up.

    `get` looks a row up, `after` walks from one on.
    """

    def __init__(
        self,
        get: Callable[[bytes, bytes], bytes | None],
        after: Callable[[bytes, bytes], Iterator[tuple[bytes, bytes]]],
    ) -> None:
        self._get, self._after = get, after
        self._child: bytes | None = None
        self._passed = self._name = b""
        self._row: bytes | None = None
        self._rows: Iterator[tuple[bytes, bytes]] = iter(())

    def row(self, child: bytes, name: bytes) -> bytes | None:
        """Return the row of a child trie under a key or path; None if there is none."""
        if name == self._name and child == self._child and (row := self._row) is not None:
            self._passed = name
            self._name, self._row = next(self._rows, (b"", None))
            return row
        if child == self._child and name > self._passed:
            for _ in range(MAX_PASSED):
                if self._row is None or self._name >= name:
                    return self._row if self._name == name else None
                self._passed = self._name
                self._name, self._row = next(self._rows, (b"", None))
        self._child, self._passed = child, name
        self._rows = self._after(name, child)
        self._name, self._row = next(self._rows, (b"", None))
        return self._get(name, child)


class Healing:
    """The walk over the rows of one root. `keys` and `nodes`: the numbers visited so far."""

    def __init__(self, root: bytes) -> None:
        self.keys = self.nodes = 0
        self._stack: list[tuple[bytes, bytes, bytes]] = []
        self._enter(TOP, root)

    @property
    def done(self) -> bool:
        """Whether all rows have been visited, except below missing nodes."""
        return not self._stack

    def walk(self, state: OrderedState, max_nodes: int, max_missing: int) -> WalkFindings:
        """Continue over the rows of `state`, until one of the maximum numbers is reached.

        Raises TrieError.
        """
        findings = WalkFindings()
        nodes = _RowsInOrder(state.node, state.nodes_after)
        values = _RowsInOrder(state.get, state.pairs_after)
        nodes_left = max_nodes
        while self._stack and nodes_left and len(findings.missing) < max_missing:
            child, path, entry = self._stack.pop()
            nodes_left -= 1
            encoded = entry[1:]
            if is_hash_entry(entry):
                stored = nodes.row(child, path)
                if stored is None or blake2_256(stored) != encoded:
                    findings.missing.append(MissingSubtrie(child, path, encoded, is_value=False))
                    continue
                encoded = stored
                self.nodes += 1
            if HASHED_LEAF <= encoded[0] < HASHED_LEAF + 31:
                self._check_leaf(values, child, path, encoded, findings)
                continue
            node = decode_node(encoded)
            end = path + node.partial
            for index in range(15, -1, -1) if node.children else ():
                if node.children and (child_entry := node.children[index]):
                    self._stack.append((child, end + NIBBLES[index], child_entry))
            if node.value is not None:
                self._check_value(values, child, end, node, findings)
        return findings

    def _check_leaf(
        self, values: _RowsInOrder, child: bytes, path: bytes, encoded: bytes, findings: WalkFindings
    ) -> None:
        """Compare the value of a leaf that holds its hash, and has a short partial key.

        The leaf has the hash that its parent names, so its form is right.
        """
        length = encoded[0] - HASHED_LEAF
        stop = (length + 3) // 2
        partial = encoded[1:stop].hex()[length & 1 :]
        self.keys += 1
        stored = values.row(child, bytes.fromhex(hex_digits(path) + partial))
        if stored is None or blake2_256(stored) != encoded[stop:]:
            end = path + path_nibbles(partial)
            findings.missing.append(MissingSubtrie(child, end, encoded[stop:], is_value=True))

    def complete(self, missing: MissingSubtrie) -> None:
        """Continue below a missing node, whose row has been written."""
        if not missing.is_value:
            self._stack.append((missing.child, missing.path, HASH_PREFIX + missing.hash))

    def _check_value(
        self, values: _RowsInOrder, child: bytes, path: bytes, node: TrieNode, findings: WalkFindings
    ) -> None:
        assert node.value is not None
        key = whole_key(path)
        self.keys += 1
        stored = values.row(child, key)
        if node.hashed:
            if stored is None or blake2_256(stored) != node.value:
                findings.missing.append(MissingSubtrie(child, path, node.value, is_value=True))
            return
        if stored != node.value:
            findings.values.append((child, key, node.value))
        if child == TOP and is_child_root(key, node.value):
            self._enter(key.removeprefix(CHILD_STORAGE_PREFIX), node.value)

    def _enter(self, child: bytes, root: bytes) -> None:
        if root != EMPTY_ROOT:
            self._stack.append((child, b"", HASH_PREFIX + root))
