"""Proofs for tests: of keys of one trie that is kept as plain rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cfnode.core.trie import MissingNode, NodeReader
from cfnode.core.trie.nibbles import covering_key
from cfnode.core.trie.walk import lookup

EMPTY_NODE = b"\x00"


def build_proof(
    node: NodeReader, value: Callable[[bytes], bytes | None], keys: Iterable[bytes]
) -> list[bytes]:
    """Return the entries that prove the values, or the absence, of `keys` in the trie read by `node`.

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
        entry = lookup(fetch, b"", key)
        if entry is not None and entry.hashed:
            whole = value(key)
            if whole is None:
                raise MissingNode(key, entry.value or b"")
            entries[whole] = None
    return list(entries)
