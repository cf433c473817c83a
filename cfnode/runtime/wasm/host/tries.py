"""Host functions that compute trie roots.

Polkadot spec, host API: Trie.
"""

from __future__ import annotations

from cfnode.core.scale import ByteCursor, ScaleError
from cfnode.core.trie import ordered_root, root
from cfnode.runtime.wasm.host.signature import HostError, host_function, state_version

__all__ = ["Tries"]


def _pairs(data: bytes) -> dict[bytes, bytes]:
    """Read the SCALE Vec<(Vec<u8>, Vec<u8>)>. Raises HostError."""
    try:
        cursor = ByteCursor(data)
        pairs = [(cursor.bytes(), cursor.bytes()) for _ in range(cursor.count(2))]
        cursor.finish()
    except ScaleError as error:
        raise HostError(f"malformed pairs: {error}") from error
    return dict(pairs)


def _items(data: bytes) -> list[bytes]:
    """Read the SCALE Vec<Vec<u8>>. Raises HostError."""
    try:
        cursor = ByteCursor(data)
        items = [cursor.bytes() for _ in range(cursor.count())]
        cursor.finish()
    except ScaleError as error:
        raise HostError(f"malformed items: {error}") from error
    return items


class Tries:
    """Host functions of the part Trie: roots over BLAKE2b-256."""

    @host_function("data", result="pointer")
    def ext_trie_blake2_256_root_version_1(self, pairs: bytes) -> bytes:
        """Return the root of encoded pairs, with state version 0."""
        return root(_pairs(pairs), 0)

    @host_function("data", "u32", result="pointer")
    def ext_trie_blake2_256_root_version_2(self, pairs: bytes, version: int) -> bytes:
        """Return the root of encoded pairs, with a given state version."""
        return root(_pairs(pairs), state_version(version))

    @host_function("data", result="pointer")
    def ext_trie_blake2_256_ordered_root_version_1(self, items: bytes) -> bytes:
        """Return the root of encoded items by their index, with state version 0."""
        return ordered_root(_items(items), 0)

    @host_function("data", "u32", result="pointer")
    def ext_trie_blake2_256_ordered_root_version_2(self, items: bytes, version: int) -> bytes:
        """Return the root of encoded items by their index, with a given state version."""
        return ordered_root(_items(items), state_version(version))
