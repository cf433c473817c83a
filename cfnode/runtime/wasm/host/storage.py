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
        self.journal.set(key, value)

    @host_function("data", result="data")
    def ext_storage_get_version_1(self, key: bytes) -> bytes:
        return option(self.journal.get(key))

    @host_function("data", "buffer", "u32", result="data")
    def ext_storage_read_version_1(self, key: bytes, length: int, offset: int) -> tuple[bytes, bytes]:
        return self._read(key, length, offset, TOP)

    @host_function("data")
    def ext_storage_clear_version_1(self, key: bytes) -> None:
        self.journal.delete(key)

    @host_function("data", result="u32")
    def ext_storage_exists_version_1(self, key: bytes) -> int:
        return int(self.journal.exists(key))

    @host_function("data")
    def ext_storage_clear_prefix_version_1(self, prefix: bytes) -> None:
        self.journal.clear_prefix(prefix)

    @host_function("data", "data", result="data")
    def ext_storage_clear_prefix_version_2(self, prefix: bytes, limit: bytes) -> bytes:
        return self._clear(prefix, _limit(limit), TOP)

    @host_function("data", "data")
    def ext_storage_append_version_1(self, key: bytes, item: bytes) -> None:
        self.journal.append(key, item)

    @host_function("data", result="data")
    def ext_storage_next_key_version_1(self, key: bytes) -> bytes:
        return option(self.journal.next_key(key))

    @host_function(result="data")
    def ext_storage_root_version_1(self) -> bytes:
        return self.journal.root(0)

    @host_function("u32", result="data")
    def ext_storage_root_version_2(self, version: int) -> bytes:
        return self.journal.root(state_version(version))

    @host_function("data", result="data")
    def ext_storage_changes_root_version_1(self, parent: bytes) -> bytes:
        """Return that there is no root: Substrate has removed changes tries."""
        return _NONE

    @host_function()
    def ext_storage_start_transaction_version_1(self) -> None:
        self.journal.begin()

    @host_function()
    def ext_storage_commit_transaction_version_1(self) -> None:
        self._own_transaction("commit")
        self.journal.commit()

    @host_function()
    def ext_storage_rollback_transaction_version_1(self) -> None:
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
        return option(self.journal.get(key, _child(child)))

    @host_function("data", "data", "buffer", "u32", result="data")
    def ext_default_child_storage_read_version_1(
        self, child: bytes, key: bytes, length: int, offset: int
    ) -> tuple[bytes, bytes]:
        return self._read(key, length, offset, _child(child))

    @host_function("data", "data", "data")
    def ext_default_child_storage_set_version_1(self, child: bytes, key: bytes, value: bytes) -> None:
        self.journal.set(key, value, _child(child))

    @host_function("data", "data")
    def ext_default_child_storage_clear_version_1(self, child: bytes, key: bytes) -> None:
        self.journal.delete(key, _child(child))

    @host_function("data")
    def ext_default_child_storage_storage_kill_version_1(self, child: bytes) -> None:
        self.journal.clear_prefix(b"", None, _child(child))

    @host_function("data", "data", result="u32")
    def ext_default_child_storage_storage_kill_version_2(self, child: bytes, limit: bytes) -> int:
        return int(self.journal.clear_prefix(b"", _limit(limit), _child(child))[1])

    @host_function("data", "data", result="data")
    def ext_default_child_storage_storage_kill_version_3(self, child: bytes, limit: bytes) -> bytes:
        return self._clear(b"", _limit(limit), _child(child))

    @host_function("data", "data", result="u32")
    def ext_default_child_storage_exists_version_1(self, child: bytes, key: bytes) -> int:
        return int(self.journal.exists(key, _child(child)))

    @host_function("data", "data")
    def ext_default_child_storage_clear_prefix_version_1(self, child: bytes, prefix: bytes) -> None:
        self.journal.clear_prefix(prefix, None, _child(child))

    @host_function("data", "data", "data", result="data")
    def ext_default_child_storage_clear_prefix_version_2(
        self, child: bytes, prefix: bytes, limit: bytes
    ) -> bytes:
        return self._clear(prefix, _limit(limit), _child(child))

    @host_function("data", "data", result="data")
    def ext_default_child_storage_next_key_version_1(self, child: bytes, key: bytes) -> bytes:
        return option(self.journal.next_key(key, _child(child)))

    @host_function("data", result="data")
    def ext_default_child_storage_root_version_1(self, child: bytes) -> bytes:
        return self.journal.root(0, _child(child))

    @host_function("data", "u32", result="data")
    def ext_default_child_storage_root_version_2(self, child: bytes, version: int) -> bytes:
        return self.journal.root(state_version(version), _child(child))
