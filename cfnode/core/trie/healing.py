"""Which rows of a state that was put together from several states are those of one root?

The pieces of a large state come while the chain goes on, each proven against the root of its day. Together
they are the state of no block, yet nearly that of the newest: what has not changed has the same hash. So the
trie is walked from that root over the rows at hand, and each row compared with the hash by which its parent
names it. What is missing or another is a *hole*; its look-up key gets a proof of it from any peer. When no
hole is left, the rows that the walk has met are the state, and any others are leftovers of older ones.

The walk stands on a stack of its own, so it can stop between any two nodes and go on in another snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cfnode.core.hashing import blake2_256
from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP, State
from cfnode.core.trie.codec import EMPTY_ROOT, HASH_PREFIX, Node, decode_node, is_hash_entry
from cfnode.core.trie.nibbles import covering_key
from cfnode.core.trie.ranges import is_child_root, whole_key

__all__ = ["Found", "Healing", "MissingSubtrie"]


@dataclass(frozen=True, slots=True)
class MissingSubtrie:
    """A node, or a value that its node names by hash, which is not at hand.

    `path`: the nibbles of the node, or of the value's whole key.
    """

    child: bytes
    path: bytes
    hash: bytes
    is_value: bool

    @property
    def key(self) -> bytes:
        """A key whose look-up needs what is missing."""
        return covering_key(self.path)


@dataclass(slots=True)
class Found:
    """What a stretch of the walk has met. `values`: (child, key, value) that nodes hold, but not the rows."""

    missing: list[MissingSubtrie] = field(default_factory=list)
    values: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)


class Healing:
    """The walk over the rows of one root. `keys` and `nodes`: how many it has met."""

    def __init__(self, root: bytes) -> None:
        self.keys = self.nodes = 0
        self._stack: list[tuple[bytes, bytes, bytes]] = []
        self._enter(TOP, root)

    @property
    def done(self) -> bool:
        """Has all been met, as far as it has been at hand?"""
        return not self._stack

    def walk(self, state: State, most_nodes: int, most_holes: int) -> Found:
        """Go on over the rows of `state`, for so many nodes or holes. Raises TrieError."""
        found = Found()
        left = most_nodes
        while self._stack and left and len(found.missing) < most_holes:
            child, path, entry = self._stack.pop()
            left -= 1
            encoded = entry[1:]
            if is_hash_entry(entry):
                at_hand = state.node(path, child)
                if at_hand is None or blake2_256(at_hand) != encoded:
                    found.missing.append(MissingSubtrie(child, path, encoded, is_value=False))
                    continue
                encoded = at_hand
                self.nodes += 1
            node = decode_node(encoded)
            end = path + node.partial
            if node.value is not None:
                self._meet_value(state, child, end, node, found)
            for index, below in enumerate(node.children or ()):
                if below:
                    self._stack.append((child, end + bytes((index,)), below))
        return found

    def complete(self, hole: MissingSubtrie) -> None:
        """What was missing is at hand now, in its row: the walk goes on below it."""
        if not hole.is_value:
            self._stack.append((hole.child, hole.path, HASH_PREFIX + hole.hash))

    def _meet_value(self, state: State, child: bytes, path: bytes, node: Node, found: Found) -> None:
        assert node.value is not None
        key = whole_key(path)
        self.keys += 1
        at_hand = state.get(key, child)
        if node.hashed:
            if at_hand is None or blake2_256(at_hand) != node.value:
                found.missing.append(MissingSubtrie(child, path, node.value, is_value=True))
            return
        if at_hand != node.value:
            found.values.append((child, key, node.value))
        if child == TOP and is_child_root(key, node.value):
            self._enter(key.removeprefix(CHILD_STORAGE_PREFIX), node.value)

    def _enter(self, child: bytes, root: bytes) -> None:
        if root != EMPTY_ROOT:
            self._stack.append((child, b"", HASH_PREFIX + root))
