"""Walks over a trie from its root: look-up of a key, of the next key, of subtrees.

One walk serves both ways of keeping nodes: rows by path (the store) and entries by hash (a proof). It passes
both to `fetch`, the path and the hash by which the parent names the node; `fetch` returns the bytes, or
raises MissingNode. A node of less than 32 bytes is read from its parent and never fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cfnode.core.trie.codec import HASH_PREFIX, TrieNode, decode_node, is_hash_entry
from cfnode.core.trie.errors import TrieError
from cfnode.core.trie.nibbles import to_key, to_nibbles

Fetch = Callable[[bytes, bytes], bytes]
"""(path, hash) to the encoded node; raises MissingNode."""


def root_node(fetch: Fetch, root: bytes) -> TrieNode | None:
    """Return the root node, or None for the empty trie."""
    encoded = fetch(b"", root)
    return None if encoded == b"\x00" else decode_node(encoded)


def descend(fetch: Fetch, root: bytes, key: bytes) -> Iterator[tuple[bytes, TrieNode]]:
    """Yield the nodes on the path to `key`, with their paths, as deep as they exist.

    The last node may diverge from the key.
    """
    nibbles = to_nibbles(key)
    node, path = root_node(fetch, root), b""
    while node is not None:
        yield path, node
        end = path + node.partial
        if len(end) >= len(nibbles) or not nibbles.startswith(end):
            return
        path = nibbles[: len(end) + 1]
        node = _child(fetch, node, path)


def lookup(fetch: Fetch, root: bytes, key: bytes) -> TrieNode | None:
    """Return the node that holds the value of `key`, or None if the key is certainly absent."""
    nodes = list(descend(fetch, root, key))
    if not nodes:
        return None
    path, node = nodes[-1]
    return node if node.value is not None and path + node.partial == to_nibbles(key) else None


def closest_merkle_value(fetch: Fetch, root: bytes, key: bytes) -> bytes | None:
    """Return the merkle value of the first node at or below `key`; None if no key begins with `key`.

    Two states in which it is equal have the same keys and values below `key`.
    """
    nibbles = to_nibbles(key)
    node, path, merkle_value = root_node(fetch, root), b"", root
    while node is not None:
        end = path + node.partial
        if end.startswith(nibbles):
            return merkle_value
        if not nibbles.startswith(end):
            return None
        path = nibbles[: len(end) + 1]
        merkle_value = (node.children[path[-1]] if node.children else b"")[1:]
        node = _child(fetch, node, path)
    return None


def next_key(fetch: Fetch, root: bytes, key: bytes, prefix: bytes = b"") -> bytes | None:
    """Return the first key strictly after `key` in byte order that begins with `prefix`, or None.

    No node beyond the prefix is fetched, so a proof of the prefix alone suffices. `key` has to begin with
    `prefix` too.
    """
    nibbles, bound = to_nibbles(key), to_nibbles(prefix)
    nodes = list(descend(fetch, root, key))
    for path, node in reversed(nodes):
        end = path + node.partial
        if end > nibbles:
            return _first_key(fetch, path, node) if end.startswith(bound) else None
        for index in range(_first_child_after(end, nibbles), 16):
            if node.children and node.children[index]:
                child_path = end + bytes((index,))
                if not child_path.startswith(bound[: len(child_path)]):
                    return None
                return _first_key(fetch, child_path, _child(fetch, node, child_path))
    return None


def subtrees_after(fetch: Fetch, root: bytes, key: bytes) -> Iterator[bytes]:
    """Yield the paths of all nodes at which keys after `key` may be, in order.

    A node for which `fetch` returns the empty node has nothing below it.
    """
    nibbles = to_nibbles(key)
    waiting = [(b"", HASH_PREFIX + root)]
    while waiting:
        path, entry = waiting.pop()
        encoded = fetch(path, entry[1:]) if is_hash_entry(entry) else entry[1:]
        yield path
        if encoded == b"\x00":
            continue
        node = decode_node(encoded)
        end = path + node.partial
        first = 0 if end > nibbles else _first_child_on_way(end, nibbles)
        for index in range(15, first - 1, -1) if node.children else ():
            child_entry = node.children[index] if node.children else b""
            if child_entry:
                waiting.append((end + bytes((index,)), child_entry))


def _first_child_on_way(end: bytes, nibbles: bytes) -> int:
    """Return the first child of a node ending at `end` that may have keys above `nibbles`; 16 for none."""
    if not nibbles.startswith(end):
        return 16
    return nibbles[len(end)] if len(nibbles) > len(end) else 0


def _first_child_after(end: bytes, nibbles: bytes) -> int:
    """Return the first child of a node ending at `end` that has only keys above `nibbles`; 16 for none."""
    if not nibbles.startswith(end):
        return 16
    return nibbles[len(end)] + 1 if len(nibbles) > len(end) else 0


def _first_key(fetch: Fetch, path: bytes, node: TrieNode | None) -> bytes:
    """Return the smallest key at or below a node; raise TrieError for a branch without value and children."""
    while node is not None:
        end = path + node.partial
        if node.value is not None:
            return _whole(end)
        index = next(i for i, entry in enumerate(node.children or ()) if entry)
        path = end + bytes((index,))
        node = _child(fetch, node, path)
    raise TrieError("a trie branch has neither a value nor children")


def _child(fetch: Fetch, node: TrieNode, path: bytes) -> TrieNode | None:
    entry = node.children[path[-1]] if node.children else b""
    if not entry:
        return None
    return decode_node(fetch(path, entry[1:]) if is_hash_entry(entry) else entry[1:])


def _whole(nibbles: bytes) -> bytes:
    if len(nibbles) & 1:
        raise TrieError("a trie key ends in the middle of a byte")
    return to_key(nibbles)
