"""Healing of a state that was downloaded at several blocks: a walk that finds its missing nodes.

The pieces of a large state are downloaded while the chain goes on, each proven against the root of its block.
Together they are the state of no block, yet nearly that of the newest: unchanged parts have the same hash. So
the trie is walked from that root over the stored rows, and each row is compared with the hash by which its
parent names it. A node or value that is absent or differs is *missing*; any peer can prove it, by its look-up
key. When nothing is missing, the rows that the walk has visited are the state, and all others are leftovers
of older ones. (Ethereum's snap sync calls this healing.)

The walk keeps a stack of its own, so it can stop between any two nodes and go on in another snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cfnode.core.hashing import blake2_256
from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP, BlockState
from cfnode.core.trie.codec import EMPTY_ROOT, HASH_PREFIX, TrieNode, decode_node, is_hash_entry
from cfnode.core.trie.nibbles import covering_key
from cfnode.core.trie.ranges import is_child_root, whole_key

__all__ = ["Healing", "MissingSubtrie", "WalkFindings"]


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

    def walk(self, state: BlockState, max_nodes: int, max_missing: int) -> WalkFindings:
        """Continue over the rows of `state`, until one of the maximum numbers is reached.

        Raises TrieError.
        """
        findings = WalkFindings()
        nodes_left = max_nodes
        while self._stack and nodes_left and len(findings.missing) < max_missing:
            child, path, entry = self._stack.pop()
            nodes_left -= 1
            encoded = entry[1:]
            if is_hash_entry(entry):
                stored = state.node(path, child)
                if stored is None or blake2_256(stored) != encoded:
                    findings.missing.append(MissingSubtrie(child, path, encoded, is_value=False))
                    continue
                encoded = stored
                self.nodes += 1
            node = decode_node(encoded)
            end = path + node.partial
            if node.value is not None:
                self._check_value(state, child, end, node, findings)
            for index, child_entry in enumerate(node.children or ()):
                if child_entry:
                    self._stack.append((child, end + bytes((index,)), child_entry))
        return findings

    def complete(self, missing: MissingSubtrie) -> None:
        """Continue below a missing node, whose row has been written."""
        if not missing.is_value:
            self._stack.append((missing.child, missing.path, HASH_PREFIX + missing.hash))

    def _check_value(
        self, state: BlockState, child: bytes, path: bytes, node: TrieNode, findings: WalkFindings
    ) -> None:
        assert node.value is not None
        key = whole_key(path)
        self.keys += 1
        stored = state.get(key, child)
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
