"""What does a set of trie nodes prove about a state whose root is trusted?

A proof is a list of node encodings, and of values that nodes give by hash only, in any order. Each entry is
kept under its blake2-256 and looked at only when a trusted node names that hash, so a peer can leave entries
out or add useless ones, but cannot make a key appear, vanish or change. Three answers must be kept apart:
the value, its certain absence, and "this proof does not say" (MissingNode).

Polkadot spec, state storage; the light client protocol carries the list as SCALE Vec<Vec<u8>>.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cfnode.core.hashing import blake2_256
from cfnode.core.scale import Cursor, ScaleError, encode_compact
from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP
from cfnode.core.trie.codec import EMPTY_NODE, EMPTY_ROOT, Node, is_hash_entry
from cfnode.core.trie.errors import MissingNode, TrieError
from cfnode.core.trie.nibbles import covering_key
from cfnode.core.trie.update import NodeReader
from cfnode.core.trie.walk import Fetch, descend, lookup, next_key

MAX_PROOF_ENTRIES = 1 << 20
"""Entries of one proof; its bytes are bounded by whoever received it."""


def encode_proof(entries: Iterable[bytes]) -> bytes:
    """SCALE Vec<Vec<u8>>."""
    items = list(entries)
    return encode_compact(len(items)) + b"".join(encode_compact(len(item)) + item for item in items)


def decode_proof(data: bytes) -> list[bytes]:
    """The entries of SCALE Vec<Vec<u8>>; raises TrieError."""
    cursor = Cursor(data)
    try:
        count = cursor.count()
        if count > MAX_PROOF_ENTRIES:
            raise TrieError(f"storage proof of {count} entries, more than {MAX_PROOF_ENTRIES}")
        entries = [cursor.bytes() for _ in range(count)]
        cursor.finish()
    except ScaleError as error:
        raise TrieError(f"storage proof is malformed: {error}") from error
    return entries


def build_proof(
    node: NodeReader, value: Callable[[bytes], bytes | None], keys: Iterable[bytes]
) -> list[bytes]:
    """The entries that prove the values, or the absence, of `keys` in the trie that `node` reads by path.

    `value` reads a value by its key; it is asked only where the trie holds a hash.
    """
    entries: dict[bytes, None] = {}

    def fetch(path: bytes, merkle_value: bytes) -> bytes:
        encoded = node(path)
        if encoded is None:
            if path:
                raise MissingNode(covering_key(path), merkle_value)
            encoded = EMPTY_NODE
        entries[encoded] = None
        return encoded

    for key in keys:
        found = lookup(fetch, b"", key)
        if found is not None and found.hashed:
            whole = value(key)
            if whole is None:
                raise MissingNode(key, found.value or b"")
            entries[whole] = None
    return list(entries)


class ProofState:
    """The part of a state that a proof shows; a `cfnode.core.state.State`.

    Reads raise MissingNode where the proof does not say, and TrieError where the trie under the trusted root
    is itself malformed.
    """

    def __init__(self, root: bytes, nodes: Iterable[bytes]) -> None:
        self._root = root
        self._entries = {blake2_256(entry): entry for entry in nodes}

    @property
    def root(self) -> bytes:
        """The trusted state root that everything is checked against."""
        return self._root

    def get(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """The value under `key`, or None where it is certainly absent."""
        found = self.find(key, child)
        if found is None or found.value is None:
            return None
        return self._entry(found.value, key, child) if found.hashed else found.value

    def find(self, key: bytes, child: bytes = TOP) -> Node | None:
        """The node that holds the value of `key` (or only the value's hash), None where it is absent."""
        root = self._root_of(child)
        return None if root is None else lookup(self._fetch_in(child, key), root, key)

    def next_key(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """The first key strictly after `key`, or None."""
        root = self._root_of(child)
        return None if root is None else next_key(self._fetch_in(child), root, key)

    def keys(self, prefix: bytes, child: bytes = TOP) -> Iterator[bytes]:
        """All keys that begin with `prefix`, in order; needs no node beyond the prefix."""
        root, fetch = self._root_of(child), self._fetch_in(child)
        if root is None:
            return
        if lookup(fetch, root, prefix) is not None:
            yield prefix
        key = next_key(fetch, root, prefix, prefix)
        while key is not None:
            yield key
            key = next_key(fetch, root, key, prefix)

    def node(self, path: bytes, child: bytes = TOP) -> bytes | None:
        """The encoded node at `path`; None where the trie has none of its own there."""
        root, fetch = self._root_of(child), self._fetch_in(child)
        if root is None or root == EMPTY_ROOT:
            return None
        if not path:
            return fetch(b"", root)
        for start, node in descend(fetch, root, covering_key(path)):
            end = start + node.partial
            if len(end) + 1 == len(path) and path.startswith(end):
                entry = node.children[path[-1]] if node.children else b""
                return fetch(path, entry[1:]) if is_hash_entry(entry) else None
        return None

    def _root_of(self, child: bytes) -> bytes | None:
        return self.get(CHILD_STORAGE_PREFIX + child) if child else self._root

    def _fetch_in(self, child: bytes, key: bytes | None = None) -> Fetch:
        """Entries by hash; what is missing is missing for `key`, or for a key below the node."""
        return lambda path, merkle_value: self._entry(
            merkle_value, covering_key(path) if key is None else key, child
        )

    def _entry(self, hashed: bytes, key: bytes, child: bytes) -> bytes:
        if hashed == EMPTY_ROOT:
            return EMPTY_NODE
        entry = self._entries.get(hashed)
        if entry is None:
            raise MissingNode(key, hashed, child)
        return entry
