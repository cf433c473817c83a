"""How does a state response pack its proof?

The nodes of the partial trie come in depth-first order, the root first, and what can be computed is left out:

- the hash of a child that follows in the list: it stands as a child of no bytes;
- the hash of a value that is included: the node is led by the escape byte 01 and written as if its value were
  empty, and the list's next item is the value.

After the top trie come child tries, in the order of their keys. Unpacking restores every node from its last
child up; since the hashes are computed, not read, the result proves something only when the root is the
expected one.

Substrate's trie codec for compact proofs (`sp-trie`); the message is StateResponse of the state sync
protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cfnode.core.hashing import blake2_256
from cfnode.core.state import CHILD_STORAGE_PREFIX
from cfnode.core.trie.codec import (
    EMPTY_NODE,
    EMPTY_ROOT,
    HASH_LENGTH,
    Node,
    decode_node,
    encode_node,
    is_hash_entry,
)
from cfnode.core.trie.errors import MissingNode, TrieError
from cfnode.core.trie.nibbles import to_nibbles

ESCAPE = b"\x01"
_OMITTED = b"\x00"  # the entry of a child of no bytes
_HASH_PREFIX = b"\x80"


@dataclass(slots=True)
class _Open:
    """A node whose omitted children are still to come."""

    node: Node
    waiting: list[int]


def decode_compact_proof(items: Sequence[bytes], root: bytes) -> list[bytes]:
    """The full nodes and values of a compact proof of the state `root`; they serve ProofState.

    Raises TrieError when the proof is malformed, of another root, or has items left over.
    """
    remaining = iter(items)
    entries: list[bytes] = []
    if _unpack_trie(remaining, entries) != root:
        raise TrieError(f"compact proof is not of the state root 0x{root.hex()}")
    expected = set(_child_roots(root, entries))
    for item in remaining:
        found = _unpack_trie(_chain(item, remaining), entries)
        if found not in expected:
            raise TrieError(f"compact proof holds a trie 0x{found.hex()} that is no child trie of the state")
        expected.discard(found)
    return entries


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _unpack_trie(items: Iterator[bytes], entries: list[bytes]) -> bytes:
    """Read one trie from the list and return its root hash. A stack stands for the way down."""
    stack = [_open_node(items, entries)]
    while True:
        top = stack[-1]
        if top.waiting:
            stack.append(_open_node(items, entries))
            continue
        encoded = EMPTY_NODE if top.node is _EMPTY else encode_node(top.node)
        entries.append(encoded)
        stack.pop()
        if not stack:
            return blake2_256(encoded)
        parent = stack[-1]
        assert parent.node.children is not None
        parent.node.children[parent.waiting.pop(0)] = _HASH_PREFIX + blake2_256(encoded)


_EMPTY = Node(b"")


def _open_node(items: Iterator[bytes], entries: list[bytes]) -> _Open:
    item = _next(items)
    if item == EMPTY_NODE:
        return _Open(_EMPTY, [])
    escaped = item[:1] == ESCAPE
    node = decode_node(item[1:] if escaped else item, omitted=True)
    if escaped:
        if node.value != b"" or node.hashed:
            raise TrieError("compact proof: an escaped node whose value is not left out")
        value = _next(items)
        entries.append(value)
        node.value, node.hashed = blake2_256(value), True
    return _Open(node, [i for i, entry in enumerate(node.children or ()) if entry == _OMITTED])


def _next(items: Iterator[bytes]) -> bytes:
    item = next(items, None)
    if item is None:
        raise TrieError("compact proof ends early")
    return item


def _child_roots(root: bytes, entries: Sequence[bytes]) -> Iterator[bytes]:
    """The roots of child tries that a proof names anywhere: it may show keys after one that it leaves out."""
    nodes, prefix = {blake2_256(entry): entry for entry in entries}, to_nibbles(CHILD_STORAGE_PREFIX)
    stack = [(b"", _HASH_PREFIX + root)]
    while stack:
        path, entry = stack.pop()
        encoded = nodes.get(entry[1:]) if is_hash_entry(entry) else entry[1:]
        if encoded is None or encoded == EMPTY_NODE:
            continue
        node = decode_node(encoded)
        end = path + node.partial
        if end.startswith(prefix) and node.value is not None and len(node.value) == HASH_LENGTH:
            yield node.value
        for index, below in enumerate(node.children or ()):
            way = end + bytes((index,))
            if below and (way.startswith(prefix) or prefix.startswith(way)):
                stack.append((way, below))


# --- packing


def encode_compact_proof(
    root: bytes, nodes: Sequence[bytes], child_roots: Sequence[bytes] = ()
) -> list[bytes]:
    """The compact items of a full proof (nodes and values): the top trie, then the child tries named.

    Entries that are not reached from a root are left out.
    """
    entries = {blake2_256(entry): entry for entry in nodes}
    items: list[bytes] = []
    for start in (root, *child_roots):
        if start == EMPTY_ROOT:
            items.append(EMPTY_NODE)
        elif start in entries:
            _pack_trie(entries, start, items)
        else:
            raise MissingNode(b"", start)
    return items


def _pack_trie(entries: dict[bytes, bytes], root: bytes, items: list[bytes]) -> None:
    stack = [root]
    while stack:
        node = decode_node(entries[stack.pop()])
        value = entries.get(node.value) if node.hashed and node.value is not None else None
        if value is not None:
            node.value, node.hashed = b"", False
        below = []
        for index, entry in enumerate(node.children or ()):
            if is_hash_entry(entry) and entry[1:] in entries:
                assert node.children is not None
                below.append(entry[1:])
                node.children[index] = _OMITTED
        items.append(encode_node(node) if value is None else ESCAPE + encode_node(node))
        if value is not None:
            items.append(value)
        stack += reversed(below)
