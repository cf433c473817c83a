"""Host functions for storage and child storage, on the journal of the call.

Reads and writes go to the journal of the call, with nested transactions. A runtime can only end transactions
that it began itself: the outer ones belong to the code that builds the block.

Polkadot spec, host API: Storage and Child Storage. `clear_prefix` and `storage_kill` return what Substrate
does: how many keys of the state below were visited, and whether some are left.
"""

from __future__ import annotations

from cfnode.core.scale import encode_compact
from cfnode.core.state import TOP
from cfnode.runtime.journal import Journal
from cfnode.runtime.wasm.host.signature import HostError, host_function, state_version

__all__ = ["ChildStorage", "Storage", "option"]

_NONE = b"\0"


def option(value: bytes | None) -> bytes:
    """Encode a value as the SCALE Option<Vec<u8>>."""
    return _NONE if value is None else b"\x01" + encode_compact(len(value)) + value


class _OnJournal:
    """The common base of all storage functions."""

    journal: Journal

    def _read(self, key: bytes, length: int, offset: int, child: bytes) -> tuple[bytes, bytes]:
        value = self.journal.get(key, child)
        if value is None:
            return b"", _NONE
        tail = value[offset:]
        return tail[:length], b"\x01" + len(tail).to_bytes(4, "little")

    def _clear(self, prefix: bytes, limit: int | None, child: bytes) -> bytes:
        count, all_gone = self.journal.clear_prefix(prefix, limit, child)
        return (b"\0" if all_gone else b"\x01") + count.to_bytes(4, "little")


def _limit(encoded: bytes) -> int | None:
    """Read the SCALE Option<u32>. Raises HostError."""
    if encoded == _NONE:
        return None
    if len(encoded) != 5 or encoded[0] != 1:
        raise HostError(f"the limit 0x{encoded.hex()} is not an Option<u32>")
    return int.from_bytes(encoded[1:], "little")


class Storage(_OnJournal):
    """Host functions of the part Storage: the top trie."""

    floor: int
    """The number of transactions that were open before the runtime was called."""

    @host_function("data", "data")
    def ext_storage_set_version_1(self, key: bytes, value: bytes) -> None:
        """Set the value of a key."""
        self.journal.set(key, value)

    @host_function("data", result="data")
    def ext_storage_get_version_1(self, key: bytes) -> bytes:
        """Return the value of a key as a SCALE option."""
        return option(self.journal.get(key))

    @host_function("data", "buffer", "u32", result="data")
    def ext_storage_read_version_1(self, key: bytes, length: int, offset: int) -> tuple[bytes, bytes]:
        """Copy a value from an offset into the buffer; return the length from there as a SCALE option."""
        return self._read(key, length, offset, TOP)

    @host_function("data")
    def ext_storage_clear_version_1(self, key: bytes) -> None:
        """Remove a key."""
        self.journal.delete(key)

    @host_function("data", result="u32")
    def ext_storage_exists_version_1(self, key: bytes) -> int:
        """Return 1 if the key has a value, else 0."""
        return int(self.journal.exists(key))

    @host_function("data")
    def ext_storage_clear_prefix_version_1(self, prefix: bytes) -> None:
        """Remove all keys with a prefix."""
        self.journal.clear_prefix(prefix)

    @host_function("data", "data", result="data")
    def ext_storage_clear_prefix_version_2(self, prefix: bytes, limit: bytes) -> bytes:
        """Remove keys with a prefix up to a limit.

        Return, encoded, whether some are left and how many were removed.
        """
        return self._clear(prefix, _limit(limit), TOP)

    @host_function("data", "data")
    def ext_storage_append_version_1(self, key: bytes, item: bytes) -> None:
        """Append an encoded item to an encoded list."""
        self.journal.append(key, item)

    @host_function("data", result="data")
    def ext_storage_next_key_version_1(self, key: bytes) -> bytes:
        """Return the next key in byte order as a SCALE option."""
        return option(self.journal.next_key(key))

    @host_function(result="data")
    def ext_storage_root_version_1(self) -> bytes:
        """Return the state root after the writes so far, with state version 0."""
        return self.journal.root(0)

    @host_function("u32", result="data")
    def ext_storage_root_version_2(self, version: int) -> bytes:
        """Return the state root after the writes so far, with a given state version."""
        return self.journal.root(state_version(version))

    @host_function("data", result="data")
    def ext_storage_changes_root_version_1(self, parent: bytes) -> bytes:
        """Return that there is no root: Substrate has removed changes tries."""
        return _NONE

    @host_function()
    def ext_storage_start_transaction_version_1(self) -> None:
        """Begin a nested transaction."""
        self.journal.begin()

    @host_function()
    def ext_storage_commit_transaction_version_1(self) -> None:
        """Keep the writes of the innermost transaction. Raises HostError without one."""
        self._own_transaction("commit")
        self.journal.commit()

    @host_function()
    def ext_storage_rollback_transaction_version_1(self) -> None:
        """Undo the writes of the innermost transaction. Raises HostError without one."""
        self._own_transaction("roll back")
        self.journal.rollback()

    def _own_transaction(self, wish: str) -> None:
        if self.journal.depth <= self.floor:
            raise HostError(f"there is no open transaction to {wish}")


def _child(name: bytes) -> bytes:
    """Return a child trie's name, checked not to be empty: that would be the top trie. Raises HostError."""
    if not name:
        raise HostError("a child trie needs a name")
    return name


class ChildStorage(_OnJournal):
    """Host functions of the part Child Storage: the default child tries, by name."""

    @host_function("data", "data", result="data")
    def ext_default_child_storage_get_version_1(self, child: bytes, key: bytes) -> bytes:
        """Return a value of a child trie as a SCALE option."""
        return option(self.journal.get(key, _child(child)))

    @host_function("data", "data", "buffer", "u32", result="data")
    def ext_default_child_storage_read_version_1(
        self, child: bytes, key: bytes, length: int, offset: int
    ) -> tuple[bytes, bytes]:
        """Copy a value of a child trie from an offset into the buffer.

        Return the length from there as a SCALE option.
        """
        return self._read(key, length, offset, _child(child))

    @host_function("data", "data", "data")
    def ext_default_child_storage_set_version_1(self, child: bytes, key: bytes, value: bytes) -> None:
        """Set the value of a key of a child trie."""
        self.journal.set(key, value, _child(child))

    @host_function("data", "data")
    def ext_default_child_storage_clear_version_1(self, child: bytes, key: bytes) -> None:
        """Remove a key of a child trie."""
        self.journal.delete(key, _child(child))

    @host_function("data")
    def ext_default_child_storage_storage_kill_version_1(self, child: bytes) -> None:
        """Remove all keys of a child trie."""
        self.journal.clear_prefix(b"", None, _child(child))

    @host_function("data", "data", result="u32")
    def ext_default_child_storage_storage_kill_version_2(self, child: bytes, limit: bytes) -> int:
        """Remove keys of a child trie up to a limit; return 1 if none is left, else 0."""
        return int(self.journal.clear_prefix(b"", _limit(limit), _child(child))[1])

    @host_function("data", "data", result="data")
    def ext_default_child_storage_storage_kill_version_3(self, child: bytes, limit: bytes) -> bytes:
        """Remove keys of a child trie up to a limit.

        Return, encoded, whether some are left and how many were removed.
        """
        return self._clear(b"", _limit(limit), _child(child))

    @host_function("data", "data", result="u32")
    def ext_default_child_storage_exists_version_1(self, child: bytes, key: bytes) -> int:
        """Return 1 if a key of a child trie has a value, else 0."""
        return int(self.journal.exists(key, _child(child)))

    @host_function("data", "data")
    def ext_default_child_storage_clear_prefix_version_1(self, child: bytes, prefix: bytes) -> None:
        """Remove all keys of a child trie with a prefix."""
        self.journal.clear_prefix(prefix, None, _child(child))

    @host_function("data", "data", "data", result="data")
    def ext_default_child_storage_clear_prefix_version_2(
        self, child: bytes, prefix: bytes, limit: bytes
    ) -> bytes:
        """Remove keys of a child trie with a prefix up to a limit.

        Return, encoded, whether some are left and how many were removed.
        """
        return self._clear(prefix, _limit(limit), _child(child))

    @host_function("data", "data", result="data")
    def ext_default_child_storage_next_key_version_1(self, child: bytes, key: bytes) -> bytes:
        """Return the next key of a child trie in byte order as a SCALE option."""
        return option(self.journal.next_key(key, _child(child)))

    @host_function("data", result="data")
    def ext_default_child_storage_root_version_1(self, child: bytes) -> bytes:
        """Return the root of a child trie after the writes so far, with state version 0."""
        return self.journal.root(0, _child(child))

    @host_function("data", "u32", result="data")
    def ext_default_child_storage_root_version_2(self, child: bytes, version: int) -> bytes:
        """Return the root of a child trie after the writes so far, with a given state version."""
        return self.journal.root(state_version(version), _child(child))
