"""Compact proofs, the form in which a state response packs trie nodes.

The nodes of the partial trie are listed in depth-first order, the root first, without what can be computed:

- the hash of a child that follows in the list: it is written as a child of no bytes;
- the hash of a value that is included: the node begins with the escape byte 01 and is encoded as if its value
  were empty, and the list's next item is the value.

The child tries follow the top trie, in the order of their keys. Unpacking restores every node from its last
child up; since the hashes are computed, not read, the result is a proof only if the root is the expected one.

Substrate's trie codec for compact proofs (`sp-trie`); the message is StateResponse of the state sync
protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cfnode.core.hashing import blake2_256
from cfnode.core.state import CHILD_STORAGE_PREFIX
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
from cfnode.core.trie.errors import MissingNode, TrieError
from cfnode.core.trie.nibbles import to_nibbles

ESCAPE = b"\x01"
OMITTED = b"\x00"
"""The entry of a child of no bytes."""


@dataclass(slots=True)
class _OpenNode:
    """A node whose omitted children have not been read yet."""

    node: TrieNode
    waiting: list[int]


@dataclass(slots=True)
class Unpacked:
    """The part of a trie that a proof covers, by hash: nodes and values as bytes, and the nodes decoded."""

    entries: dict[bytes, bytes] = field(default_factory=dict)
    nodes: dict[bytes, TrieNode] = field(default_factory=dict)


def decode_compact_proof(items: Sequence[bytes], root: bytes) -> list[bytes]:
    """Return the full nodes and values of a compact proof of the state `root`, for a ProofState.

    Raises TrieError when the proof is malformed, of another root, or has items left over.
    """
    return list(unpack_compact_proof(items, root).entries.values())


def unpack_compact_proof(items: Sequence[bytes], root: bytes) -> Unpacked:
    """Return the part of a trie that a compact proof of the state `root` covers, by hash and decoded.

    Raises TrieError when the proof is malformed, of another root, or has items left over.
    """
    remaining = iter(items)
    unpacked = Unpacked()
    if _unpack_trie(remaining, unpacked) != root:
        raise TrieError(f"compact proof is not of the state root 0x{root.hex()}")
    expected: set[bytes] | None = None
    for item in remaining:
        if expected is None:
            expected = set(_child_roots(root, unpacked.nodes))
        trie_root = _unpack_trie(_chain(item, remaining), unpacked)
        if trie_root not in expected:
            raise TrieError(
                f"compact proof contains the trie 0x{trie_root.hex()}, not a child trie of the state"
            )
        expected.discard(trie_root)
    return unpacked


def _chain(first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from others


def _unpack_trie(items: Iterator[bytes], into: Unpacked) -> bytes:
    """Read one trie from the list and return its root hash. The stack holds the path from the root."""
    stack = [_open_node(items, into)]
    while True:
        top = stack[-1]
        if top.waiting:
            stack.append(_open_node(items, into))
            continue
        stack.pop()
        node_hash = _close_node(top.node, into)
        if not stack:
            return node_hash
        parent = stack[-1]
        assert parent.node.children is not None
        parent.node.children[parent.waiting.pop(0)] = HASH_PREFIX + node_hash


def _close_node(node: TrieNode, into: Unpacked) -> bytes:
    """Store a node whose children are all known; return its hash."""
    encoded = EMPTY_NODE if node is _EMPTY else encode_node(node)
    node_hash = blake2_256(encoded)
    into.entries[node_hash] = encoded
    if node is not _EMPTY:
        into.nodes[node_hash] = node
    return node_hash


_EMPTY = TrieNode(b"")


def _open_node(items: Iterator[bytes], into: Unpacked) -> _OpenNode:
    item = _next(items)
    if item == EMPTY_NODE:
        return _OpenNode(_EMPTY, [])
    escaped = item[:1] == ESCAPE
    node = decode_node(item[1:] if escaped else item, omitted=True)
    if escaped:
        if node.value != b"" or node.hashed:
            raise TrieError("compact proof: an escaped node whose value is not left out")
        value = _next(items)
        node.value, node.hashed = blake2_256(value), True
        into.entries[node.value] = value
    return _OpenNode(node, [i for i, entry in enumerate(node.children or ()) if entry == OMITTED])


def _next(items: Iterator[bytes]) -> bytes:
    item = next(items, None)
    if item is None:
        raise TrieError("compact proof ends early")
    return item


def _child_roots(root: bytes, nodes: Mapping[bytes, TrieNode]) -> Iterator[bytes]:
    """Yield the roots of child tries that a proof names anywhere.

    The proof may cover keys after one that it omits.
    """
    prefix = to_nibbles(CHILD_STORAGE_PREFIX)
    stack = [(b"", HASH_PREFIX + root)]
    while stack:
        path, entry = stack.pop()
        node = nodes.get(entry[1:]) if is_hash_entry(entry) else decode_node(entry[1:])
        if node is None:
            continue
        end = path + node.partial
        if end.startswith(prefix) and node.value is not None and len(node.value) == HASH_LENGTH:
            yield node.value
        for index, child_entry in enumerate(node.children or ()):
            next_path = end + bytes((index,))
            if child_entry and (next_path.startswith(prefix) or prefix.startswith(next_path)):
                stack.append((next_path, child_entry))


# --- packing


def encode_compact_proof(
    root: bytes, nodes: Sequence[bytes], child_roots: Sequence[bytes] = ()
) -> list[bytes]:
    """Return the compact items of a full proof (nodes and values): the top trie, then the named child tries.

    Entries that are not reached from a root are left out. Raises MissingNode if the entry of a root is
    missing.
    """
    entries = {blake2_256(entry): entry for entry in nodes}
    items: list[bytes] = []
    for trie_root in (root, *child_roots):
        if trie_root == EMPTY_ROOT:
            items.append(EMPTY_NODE)
        elif trie_root in entries:
            _pack_trie(entries, trie_root, items)
        else:
            raise MissingNode(b"", trie_root)
    return items


def _pack_trie(entries: dict[bytes, bytes], root: bytes, items: list[bytes]) -> None:
    stack = [root]
    while stack:
        node = decode_node(entries[stack.pop()])
        value = entries.get(node.value) if node.hashed and node.value is not None else None
        if value is not None:
            node.value, node.hashed = b"", False
        child_hashes = []
        for index, entry in enumerate(node.children or ()):
            if is_hash_entry(entry) and entry[1:] in entries:
                assert node.children is not None
                child_hashes.append(entry[1:])
                node.children[index] = OMITTED
        items.append(encode_node(node) if value is None else ESCAPE + encode_node(node))
        if value is not None:
            items.append(value)
        stack += reversed(child_hashes)
