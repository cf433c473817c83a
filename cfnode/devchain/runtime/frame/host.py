"""The host of a runtime: ordered storage with nested transactions.

The host API of a Polkadot runtime offers such storage. The executor's `Journal` is a host; a genesis is built
on a plain dictionary.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Protocol

from cfnode.core.scale import decode_compact, encode_compact


class Host(Protocol):
    """Storage of the block that is being built or read."""

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""

    def set(self, key: bytes, value: bytes) -> None:
        """Set the value of a key."""

    def delete(self, key: bytes) -> None:
        """Remove a key; a missing one is no error."""

    def append(self, key: bytes, item: bytes) -> None:
        """Append an encoded item to the SCALE sequence under `key`, or begin one."""
        ...

    def next_key(self, key: bytes) -> bytes | None:
        """Return the first key strictly after `key`, None after the last."""
        ...

    def begin(self) -> None:
        """Open a transaction inside the present one."""
        ...

    def commit(self) -> None:
        """Keep the writes since the last begin."""

    def rollback(self) -> None:
        """Undo the writes since the last begin."""

    def root(self, version: int) -> bytes:
        """Return the state root (32 bytes) with all writes so far, of the given state version."""
        ...


class GenesisHost:
    """A host on a dictionary: what the pallets write into it is the genesis storage."""

    def __init__(self) -> None:
        self.storage: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""
        return self.storage.get(key)

    def set(self, key: bytes, value: bytes) -> None:
        """Set the value of a key."""
        self.storage[key] = value

    def delete(self, key: bytes) -> None:
        """Remove a key; a missing one is no error."""
        self.storage.pop(key, None)

    def append(self, key: bytes, item: bytes) -> None:
        """Append an encoded item to an encoded list."""
        value = self.storage.get(key, b"\0")
        count, start = decode_compact(value, 0)
        self.storage[key] = encode_compact(count + 1) + value[start:] + item

    def next_key(self, key: bytes) -> bytes | None:
        """Return the next key in byte order, or None."""
        keys = sorted(self.storage)
        at = bisect_right(keys, key)
        return keys[at] if at < len(keys) else None

    def begin(self) -> None:
        """Do nothing: a genesis has no transactions, since nothing in it may fail."""

    def commit(self) -> None:
        """Do nothing, as in `begin`."""

    def rollback(self) -> None:
        """Raise RuntimeError: no call fails while a genesis is built."""
        raise RuntimeError("a genesis is never rolled back")

    def root(self, version: int) -> bytes:
        """Raise RuntimeError: an incomplete genesis has no root."""
        raise RuntimeError("a genesis has no root before it is complete: use core.trie.root")
