"""The journal of a runtime call: writes over a state, transactions, and the changes in the end.

A journal records writes over a state that never changes. Reads look into the journal first. Transactions
nest: for each key, a transaction keeps the value before its first write, so that a rollback restores exactly
those values, and a commit costs nothing for keys that the outer transaction has written too. At the end the
journal yields the new state root and the changes, of values and of trie nodes.

The host API of a Polkadot runtime (storage, default child storage) is the model; two of its rules are easy
to miss:

- `clear_prefix` deletes all keys in the journal itself, whatever the limit; the limit, and the returned
  count, refer to keys of the state below, including those already deleted.
- `append` treats a value as a SCALE sequence of which only the length is read; a value that is no sequence is
  replaced by a new one.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from cfnode.core.scale import ScaleError, decode_compact, encode_compact
from cfnode.core.state import CHILD_STORAGE, CHILD_STORAGE_PREFIX, TOP, BlockState, Changes
from cfnode.core.trie import EMPTY_ROOT, TrieUpdate, update

__all__ = ["MAX_KEPT_VALUES", "MAX_KEPT_VALUE_BYTES", "Journal"]

MAX_KEPT_VALUES: Final = 4096
"""Values of the state that a journal keeps, once read."""
MAX_KEPT_VALUE_BYTES: Final = 1024
"""Bytes of one of them: the memory of all is bounded."""


class _Sequence:
    """A value that `append` extends: the cost is that of the item, not of the sequence."""

    __slots__ = ("body", "count")

    def __init__(self, count: int, body: bytes) -> None:
        self.count = count
        self.body = bytearray(body)

    def value(self) -> bytes:
        return encode_compact(self.count) + self.body


class _Mark:
    """The length of a sequence at the beginning of a transaction."""

    __slots__ = ("count", "length", "sequence")

    def __init__(self, sequence: _Sequence) -> None:
        self.sequence, self.count, self.length = sequence, sequence.count, len(sequence.body)

    def restore(self) -> _Sequence:
        self.sequence.count = self.count
        del self.sequence.body[self.length :]
        return self.sequence


class _Untouched:
    """The mark of a key that was not in the journal."""


_UNTOUCHED = _Untouched()
_Entry = bytes | _Sequence | None
_Before = bytes | _Mark | _Untouched | None


class _Table:
    """The journal's own keys of one trie. Keys are sorted at the first walk over them."""

    def __init__(self) -> None:
        self.entries: dict[bytes, _Entry] = {}
        self._sorted: list[bytes] | None = None

    def put(self, key: bytes, entry: _Entry) -> None:
        if self._sorted is not None and key not in self.entries:
            insort(self._sorted, key)
        self.entries[key] = entry

    def put_back(self, key: bytes, before: _Before) -> None:
        if isinstance(before, _Untouched):
            del self.entries[key]
            self._sorted = None
        else:
            self.entries[key] = before.restore() if isinstance(before, _Mark) else before

    def after(self, key: bytes) -> Iterator[tuple[bytes, _Entry]]:
        """Yield the entries strictly after `key`, in order."""
        if self._sorted is None:
            self._sorted = sorted(self.entries)
        keys = self._sorted
        for index in range(bisect_right(keys, key), len(keys)):
            yield keys[index], self.entries[keys[index]]

    def values(self) -> dict[bytes, bytes | None]:
        return {key: _plain(entry) for key, entry in self.entries.items()}


def _plain(entry: _Entry) -> bytes | None:
    return entry.value() if isinstance(entry, _Sequence) else entry


class Journal:
    """The writes over a state. `child` names a child trie, `b""` the top one, as in `core.state`."""

    def __init__(self, state: BlockState) -> None:
        self._state = state
        self._tables: dict[bytes, _Table] = {TOP: _Table()}
        self._before: list[dict[tuple[bytes, bytes], _Before]] = []
        self._values: dict[bytes, bytes | None] = {}  # read from the top trie of the state
        self._updates: tuple[int, dict[bytes, TrieUpdate]] | None = None  # of a state version

    # --- reading

    def get(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the value under `key`, or None."""
        table = self._tables.get(child)
        entry = _UNTOUCHED if table is None else table.entries.get(key, _UNTOUCHED)
        if type(entry) is bytes or entry is None:
            return entry
        return self._read(key, child) if isinstance(entry, _Untouched) else _plain(entry)

    def exists(self, key: bytes, child: bytes = TOP) -> bool:
        """Return whether there is a value under `key`."""
        return self.get(key, child) is not None

    def next_key(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the first key strictly after `key`, or None."""
        table = self._tables.get(child)
        stored_key = self._state.next_key(key, child)
        if table is None:
            return stored_key
        while stored_key is not None and table.entries.get(stored_key, _UNTOUCHED) is None:
            stored_key = self._state.next_key(stored_key, child)
        for written_key, entry in table.after(key):
            if stored_key is not None and written_key >= stored_key:
                break
            if entry is not None:
                return written_key
        return stored_key

    def _read(self, key: bytes, child: bytes) -> bytes | None:
        """Return the value under `key` in the state, which never changes: a small one is read once."""
        if child != TOP:
            return self._state.get(key, child)
        value = self._values.get(key, _UNTOUCHED)
        if isinstance(value, _Untouched):
            value = self._state.get(key)
            if len(self._values) < MAX_KEPT_VALUES and (value is None or len(value) <= MAX_KEPT_VALUE_BYTES):
                self._values[key] = value
        return value

    # --- writing

    def set(self, key: bytes, value: bytes, child: bytes = TOP) -> None:
        """Put a value under `key`."""
        self._write(key, value, child)

    def delete(self, key: bytes, child: bytes = TOP) -> None:
        """Remove `key`; does nothing if it is absent."""
        self._write(key, None, child)

    def append(self, key: bytes, item: bytes, child: bytes = TOP) -> None:
        """Append an encoded item to the SCALE sequence under `key`, or start a new one."""
        entry = self._entry(key, child)
        if isinstance(entry, _Sequence):
            self._remember(key, child, entry)
            self._updates = None
        else:
            entry = _as_sequence(self._read(key, child) if isinstance(entry, _Untouched) else entry)
            self._write(key, entry, child)
        entry.count += 1
        entry.body += item

    def clear_prefix(self, prefix: bytes, limit: int | None = None, child: bytes = TOP) -> tuple[int, bool]:
        """Delete keys that begin with `prefix`.

        Return how many keys of the state below were visited, at most `limit`, and whether all are deleted. An
        empty prefix clears a whole child trie.
        """
        if child == TOP and (prefix.startswith(CHILD_STORAGE) or CHILD_STORAGE.startswith(prefix)):
            return 0, True
        for key in [key for key in self._table(child).entries if key.startswith(prefix)]:
            self._write(key, None, child)
        count = 0
        for key in self._below(prefix, child):
            if count == limit:
                return count, False
            self._write(key, None, child)
            count += 1
        return count, True

    # --- transactions

    @property
    def depth(self) -> int:
        """The number of open transactions."""
        return len(self._before)

    def begin(self) -> None:
        """Open a transaction inside the present one."""
        self._before.append({})

    def commit(self) -> None:
        """Keep the innermost transaction's writes; they now belong to the outer one."""
        before = self._before.pop()
        if self._before:
            outer = self._before[-1]
            for key, entry in before.items():
                outer.setdefault(key, entry)

    def rollback(self) -> None:
        """Undo the innermost transaction."""
        for (child, key), before in self._before.pop().items():
            self._tables[child].put_back(key, before)
        self._updates = None

    def rollback_to(self, depth: int) -> None:
        """Undo every transaction opened beyond this depth: those that a runtime left open do not count."""
        while len(self._before) > depth:
            self.rollback()

    # --- the result

    def root(self, version: int = 1, child: bytes = TOP) -> bytes:
        """Return the root with all writes so far, in state version 0 or 1. Commits nothing."""
        updated = self._updated(version).get(child)
        if updated is not None:
            return updated.root
        return self._state.root if child == TOP else self._child_root(child)

    def changes(self, version: int = 1) -> Changes:
        """Return the changes of all writes so far, with the roots of child tries.

        Open transactions count as committed.
        """
        updates = self._updated(version)
        storage = {child: table.values() for child, table in self._tables.items() if table.entries}
        roots = _root_entries(updates)
        if roots:
            storage[TOP] = storage.get(TOP, {}) | roots
        nodes = {child: result.nodes for child, result in updates.items() if result.nodes}
        return Changes(storage=storage, nodes=nodes, root=updates[TOP].root)

    def _updated(self, version: int) -> dict[bytes, TrieUpdate]:
        if self._updates is None or self._updates[0] != version:
            updates = {
                child: self._update_trie(child, table.values(), version)
                for child, table in self._tables.items()
                if child != TOP and table.entries
            }
            top = self._tables[TOP].values() | _root_entries(updates)
            self._updates = version, updates | {TOP: self._update_trie(TOP, top, version)}
        return self._updates[1]

    def _update_trie(self, child: bytes, values: Mapping[bytes, bytes | None], version: int) -> TrieUpdate:
        return update(partial(self._state.node, child=child), values, version)

    def _child_root(self, child: bytes) -> bytes:
        return self._state.get(CHILD_STORAGE_PREFIX + child) or EMPTY_ROOT

    # --- entries

    def _entry(self, key: bytes, child: bytes) -> _Entry | _Untouched:
        table = self._tables.get(child)
        return _UNTOUCHED if table is None else table.entries.get(key, _UNTOUCHED)

    def _table(self, child: bytes) -> _Table:
        table = self._tables.get(child)
        if table is None:
            table = self._tables[child] = _Table()
        return table

    def _write(self, key: bytes, entry: _Entry, child: bytes) -> None:
        if child == TOP and key.startswith(CHILD_STORAGE):
            return  # reserved for the roots of child tries
        self._remember(key, child, self._entry(key, child))
        self._table(child).put(key, entry)
        self._updates = None

    def _remember(self, key: bytes, child: bytes, entry: _Entry | _Untouched) -> None:
        if self._before and (child, key) not in self._before[-1]:
            self._before[-1][child, key] = _Mark(entry) if isinstance(entry, _Sequence) else entry

    def _below(self, prefix: bytes, child: bytes) -> Iterator[bytes]:
        """Yield the keys of the state below that begin with `prefix`."""
        key: bytes | None = prefix
        if self._state.get(prefix, child) is None:
            key = self._state.next_key(prefix, child)
        while key is not None and key.startswith(prefix):
            yield key
            key = self._state.next_key(key, child)


def _as_sequence(value: bytes | None) -> _Sequence:
    try:
        count, start = decode_compact(value or b"\0", 0)
    except ScaleError:
        return _Sequence(0, b"")
    return _Sequence(count, (value or b"")[start:])


def _root_entries(updates: Mapping[bytes, TrieUpdate]) -> dict[bytes, bytes | None]:
    """Return the entries of child tries in the top one: an empty child trie has none."""
    return {
        CHILD_STORAGE_PREFIX + child: None if result.root == EMPTY_ROOT else result.root
        for child, result in updates.items()
        if child != TOP
    }
