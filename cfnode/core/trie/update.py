"""Update of a trie: its new root and nodes after some keys have changed.

Only nodes on the path to a changed key are read, each once, and each of them is written once:

1. *Walk.* For each change, descend from the root as deep as nodes exist, keeping every visited node in
   memory. A new key becomes a leaf; where it diverges within a partial key, that node is split in place, and
   its content moves down. A deletion only removes the value.
2. *Finish.* From the deepest visited node up to the root: insert the children's new merkle values, then
   restore the shape. A branch left with one child and no value is joined with that child (which may have to
   be read: a deletion can change a node next to the path), one left with nothing disappears. Then encode and
   hash.

A node is known by its path, the nibbles consumed before its own partial key. Splitting and joining change the
path of one node only, never of those below it. Neither step recurses, so no key can exhaust the stack.

Polkadot spec, state storage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cfnode.core.hashing import blake2_256
from cfnode.core.trie.codec import (
    EMPTY_ROOT,
    HASH_LENGTH,
    NO_CHILDREN,
    TrieNode,
    decode_node,
    encode_node,
    is_hash_entry,
    merkle_entry,
    stored_value,
)
from cfnode.core.trie.errors import MissingNode
from cfnode.core.trie.nibbles import common_prefix, covering_key, to_nibbles

NodeReader = Callable[[bytes], "bytes | None"]
"""From a path to the encoded node stored there, or None."""


@dataclass(frozen=True, slots=True)
class TrieUpdate:
    """The new root hash, and the changed nodes: path to encoded node, None for a removed one.

    A node of less than 32 bytes lies within its parent and has no row, but the root always has one, unless
    the trie is empty.
    """

    root: bytes
    nodes: dict[bytes, bytes | None]


def update(node: NodeReader, changes: Mapping[bytes, bytes | None], version: int) -> TrieUpdate:
    """Return the root and the changed nodes of a trie after `changes`, in state version 0 or 1.

    `node` reads the nodes of the trie. `changes` maps keys to values; None deletes. Raises MissingNode for a
    missing node that its parent names, TrieError for a malformed one.
    """
    walk = _UpdateWalk(node)
    for key, value in changes.items():
        walk.change(to_nibbles(key), value, version)
    return walk.finish()


class _Touched:
    """A node in memory.

    `live` are those of its children that are in memory too, by index. `old` is the entry that the parent
    held for the node before the changes (`b""` where no node stood at its path), `entry` the one after them.
    """

    __slots__ = ("entry", "live", "node", "old")

    def __init__(self, node: TrieNode, old: bytes) -> None:
        self.node = node
        self.old = self.entry = old
        self.live: dict[int, _Touched] = {}


class _UpdateWalk:
    def __init__(self, read: NodeReader) -> None:
        self._read = read
        self._old = read(b"")
        self._root = _Touched(TrieNode(b"") if self._old is None else decode_node(self._old), b"")
        self._rows: dict[bytes, bytes | None] = {}

    # --- step 1

    def change(self, key: bytes, value: bytes | None, version: int) -> None:
        """Set or delete the value at `key` (nibbles)."""
        touched, offset = self._descend(key)
        node = touched.node
        shared = common_prefix(node.partial, key[offset:])
        if shared < len(node.partial):
            if value is None:
                return
            node = _split(touched, shared)
        end = offset + shared
        if end == len(key):
            node.value, node.hashed = (None, False) if value is None else stored_value(value, version)
        elif value is not None:
            touched.live[key[end]] = _Touched(TrieNode(key[end + 1 :], *stored_value(value, version)), b"")

    def _descend(self, key: bytes) -> tuple[_Touched, int]:
        """Return the deepest node on the path to `key`, and where in the key its partial key begins."""
        touched, offset, length = self._root, 0, len(key)
        while True:
            partial = touched.node.partial
            end = offset + len(partial)
            if end >= length or not key.startswith(partial, offset):
                return touched, offset
            child = touched.live.get(key[end]) or self._load(touched, key[: end + 1])
            if child is None:
                return touched, offset
            touched, offset = child, end + 1

    def _load(self, parent: _Touched, path: bytes) -> _Touched | None:
        """Return the child of `parent` at `path`, kept in memory from now on; None if there is none."""
        children = parent.node.children
        if children is None or not (entry := children[path[-1]]):
            return None
        child = parent.live[path[-1]] = _Touched(self._stored(entry, path), entry)
        return child

    def _stored(self, entry: bytes, path: bytes) -> TrieNode:
        if not is_hash_entry(entry):
            return decode_node(entry[1:])
        encoded = self._read(path)
        if encoded is None:
            raise MissingNode(covering_key(path), entry[1:])
        return decode_node(encoded)

    # --- step 2

    def finish(self) -> TrieUpdate:
        """Restore the shape, encode and hash, from the deepest node up."""
        order = [(self._root, b"")]
        for touched, path in order:  # grows while it is walked: parents before their children
            if touched.live:
                end = path + touched.node.partial
                order += [(child, end + bytes((index,))) for index, child in touched.live.items()]
        for touched, path in reversed(order):
            self._finish_node(touched, path)
        return self._finish_root()

    def _finish_node(self, touched: _Touched, path: bytes) -> None:
        """Compute a node's new entry and row, once those of its live children are known."""
        node = touched.node
        if touched.live:
            children = node.children = node.children or list(NO_CHILDREN)
            for index, child in touched.live.items():
                children[index] = child.entry
        if node.children is not None:
            absent = node.children.count(b"")
            if absent == 16:
                node.children = None
            elif absent == 15 and node.value is None:
                self._join(touched, path)
        if path:
            self._write(touched, path)

    def _join(self, touched: _Touched, path: bytes) -> None:
        """Replace a branch with one child and no value by that child, with the longer partial key."""
        node = touched.node
        index, entry = next((i, entry) for i, entry in enumerate(node.children or ()) if entry)
        prefix = node.partial + bytes((index,))
        live_child = touched.live.get(index)
        child = live_child.node if live_child else self._stored(entry, path + prefix)
        if is_hash_entry(live_child.old if live_child else entry):
            self._rows[path + prefix] = None
        else:
            self._rows.pop(path + prefix, None)
        touched.node = TrieNode(prefix + child.partial, child.value, child.hashed, child.children)

    def _write(self, touched: _Touched, path: bytes) -> None:
        node, old_entry = touched.node, touched.old
        empty = node.value is None and node.children is None
        encoded = b"" if empty else encode_node(node)
        new_entry = touched.entry = b"" if empty else merkle_entry(encoded)
        if new_entry == old_entry:
            return
        if len(encoded) >= HASH_LENGTH:
            self._rows[path] = encoded
        elif is_hash_entry(old_entry):
            self._rows[path] = None

    def _finish_root(self) -> TrieUpdate:
        node = self._root.node
        if node.value is None and node.children is None:
            if self._old is not None:
                self._rows[b""] = None
            return TrieUpdate(EMPTY_ROOT, self._rows)
        encoded = encode_node(node)
        if encoded != self._old:
            self._rows[b""] = encoded
        return TrieUpdate(blake2_256(encoded), self._rows)


def _split(touched: _Touched, shared: int) -> TrieNode:
    """Split a partial key after `shared` nibbles.

    A new branch, which is returned, replaces the node, and the node moves below it.
    """
    node = touched.node
    lower = _Touched(TrieNode(node.partial[shared + 1 :], node.value, node.hashed, node.children), b"")
    lower.live = touched.live
    touched.live = {node.partial[shared]: lower}
    touched.node = TrieNode(node.partial[:shared], children=list(NO_CHILDREN))
    return touched.node
