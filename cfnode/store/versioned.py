"""Versioned tables, which can be read at the finalized block and at each block of the window before it.

A *versioned table* is two LMDB tables. `current` maps row keys to the values at the finalized block. `undo`
keeps, for each block that changed a row, the value from before, under row key ‖ block number (4 bytes, big
endian). The value at an older block is the first undo row of that row after the block, else the current one:

    row R:   current = D      undo R‖7 = A   undo R‖12 = B   undo R‖30 = C
             blocks …6 → A    7…11 → B       12…29 → C       30… → D

`next_key` at an older block walks both tables at once, since a row deleted since is only in `undo`, and skips
rows that did not exist then. An index of the rows that each block changed lets pruning delete a block's undo
rows without reading any other row. Storage and trie nodes are two such tables with a common index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cfnode.store.rows import (
    ROW_LIMIT,
    RowChange,
    RowWalk,
    decode_bucket,
    delimited,
    merged,
    overlaid,
    tagged,
    untagged,
)

if TYPE_CHECKING:
    from cfnode.store.database import Handle, Transaction

CHUNK = 1_800
"""Bytes of row keys in one index row: it fits in an LMDB page, so its space is reused without gaps."""

_PAST_ALL_BLOCKS = b"\xff" * 5


def block_suffix(block: int) -> bytes:
    """Return a block number as the four bytes at the end of a row's key, in order."""
    return block.to_bytes(4, "big")


class RowIndex:
    """Lists of row keys by name (bytes of a fixed length); each name is written once."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def put(self, txn: Transaction, name: bytes, rows: list[bytes]) -> None:
        """Store a list of rows under a name, in chunks."""
        chunk = bytearray()
        count = 0
        for row in rows:
            if len(chunk) + len(row) + 2 > CHUNK:
                txn.put(name + count.to_bytes(4, "big"), bytes(chunk), db=self._handle)
                count += 1
                chunk.clear()
            chunk += len(row).to_bytes(2, "big") + row
        if chunk:
            txn.put(name + count.to_bytes(4, "big"), bytes(chunk), db=self._handle)

    def rows(self, txn: Transaction, name: bytes) -> list[bytes]:
        """Return the rows that are stored under a name."""
        rows: list[bytes] = []
        with txn.cursor(self._handle) as cursor:
            has_entry = cursor.set_range(name)
            while has_entry and cursor.key().startswith(name):
                rows += _split(cursor.value())
                has_entry = cursor.next()
        return rows

    def take(self, txn: Transaction, name: bytes) -> list[bytes]:
        """Remove the name and return its rows."""
        rows: list[bytes] = []
        with txn.cursor(self._handle) as cursor:
            has_entry = cursor.set_range(name)
            while has_entry and cursor.key().startswith(name):
                rows += _split(cursor.value())
                has_entry = cursor.delete() and cursor.key() != b""
        return rows


def _split(chunk: bytes) -> list[bytes]:
    rows, offset = [], 0
    while offset < len(chunk):
        start = offset + 2
        offset = start + int.from_bytes(chunk[offset:start], "big")
        rows.append(chunk[start:offset])
    return rows


class VersionedTable:
    """A versioned table as it is written: `apply` a block, `prune` a block.

    `number` identifies the table in the index.
    """

    def __init__(self, number: int, current: Handle, undo: Handle, index: RowIndex) -> None:
        self._number = bytes([number])
        self.current = current
        self.undo = undo
        self._index = index

    def fill(self, txn: Transaction, rows: Mapping[bytes, RowChange]) -> None:
        """Write the rows of the first state, without undo rows."""
        for row, change in rows.items():
            value = merged(None, change)
            if value is not None:
                txn.put(row, value, db=self.current)

    def merge(self, txn: Transaction, rows: Iterable[tuple[bytes, RowChange]]) -> None:
        """Write rows of a state that is being imported, without undo rows."""
        for row, change in rows:
            old = txn.get(row, db=self.current) if isinstance(change, dict) else None
            value = merged(old, change)
            if value is None:
                txn.delete(row, db=self.current)
            else:
                txn.put(row, value, db=self.current)

    def put_sorted(self, txn: Transaction, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Write whole rows of a state that is being imported, sorted by key; the last of equals counts."""
        with txn.cursor(self.current) as cursor:
            cursor.putmulti(rows)

    def rows(self, txn: Transaction) -> Iterator[bytes]:
        """Yield all whole row keys of `current`, in order."""
        with txn.cursor(self.current) as cursor:
            for row in cursor.iternext(values=False):
                if len(row) < ROW_LIMIT:
                    yield row
                else:
                    yield from (row + suffix for suffix, _ in decode_bucket(txn.get(row, db=self.current)))

    def apply(
        self, txn: Transaction, block: int, rows: Iterable[tuple[bytes, RowChange]], *, keep_undo: bool
    ) -> None:
        """Bring `current` to `block`, whose changes these are.

        With undo rows the state before it can still be read.
        """
        suffix = block_suffix(block)
        changed_rows = []
        for row, change in rows:
            old = txn.get(row, db=self.current)
            new = merged(old, change)
            if new == old:
                continue
            if keep_undo:
                txn.put(row + suffix, tagged(old), db=self.undo)
                changed_rows.append(row)
            if new is None:
                txn.delete(row, db=self.current)
            else:
                txn.put(row, new, db=self.current)
        self._index.put(txn, suffix + self._number, changed_rows)

    def prune(self, txn: Transaction, block: int) -> None:
        """Delete the undo rows of `block`: the states before it can no longer be read."""
        suffix = block_suffix(block)
        for row in self._index.take(txn, suffix + self._number):
            txn.delete(row + suffix, db=self.undo)


class TableView(RowWalk):
    """A versioned table as it is read in one snapshot: at block `at`, or as it is now (None)."""

    __slots__ = ("_after", "_current", "_rows", "_txn", "_undo", "_undo_table")

    def __init__(self, table: VersionedTable, txn: Transaction, at: int | None) -> None:
        self._txn = txn
        self._current = table.current
        self._undo_table = table.undo
        self._after = None if at is None else block_suffix(at + 1)
        self._rows = txn.cursor(table.current)
        self._undo = txn.cursor(table.undo)

    def get(self, child: bytes, key: bytes) -> bytes | None:
        """Return the value of a key at the view's block, or None."""
        row = delimited(child) + delimited(key)
        if len(row) < ROW_LIMIT:
            return self.data(row)
        wanted_suffix = row[ROW_LIMIT:]
        return next(
            (value for suffix, value in self.bucket(row[:ROW_LIMIT]) if suffix == wanted_suffix), None
        )

    def items_after(self, child: bytes, key: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys strictly after `key`, in order, with their values."""
        child_row = delimited(child)
        whole = child_row + delimited(key)
        begin, prefix, first = len(child_row), child_row[:ROW_LIMIT], whole[:ROW_LIMIT]
        for row, data in self._rows_from(first):
            if not row.startswith(prefix):
                return
            if len(row) < ROW_LIMIT:
                if row != first:
                    yield row[begin:-2].replace(b"\0\xff", b"\0"), data
                continue
            for suffix, value in decode_bucket(data):
                long_row = row + suffix
                if long_row > whole and long_row.startswith(child_row) and value is not None:
                    yield long_row[begin:-2].replace(b"\0\xff", b"\0"), value

    def _rows_from(self, row: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows from a row key on, in order, with their values."""
        current = self._txn.cursor(self._current)
        rows: Iterator[tuple[bytes, bytes]] = current.iternext() if current.set_range(row) else iter(())
        return rows if self._after is None else overlaid(rows, self._undone_from(row, self._after))

    def _undone_from(self, row: bytes, after: bytes) -> Iterator[tuple[bytes, bytes | None]]:
        """Yield the rows from a row key on that have changed since, with their values before."""
        undo = self._txn.cursor(self._undo_table)
        has_row = undo.set_range(row)
        while has_row:
            row = undo.key()[:-4]
            if undo.set_range(row + after) and undo.key()[:-4] == row:
                yield row, untagged(undo.value())
            has_row = undo.set_range(row + _PAST_ALL_BLOCKS)

    def data(self, row: bytes) -> bytes | None:
        """Return the data of a row at the view's block, or None."""
        if self._after is not None and self._undo.set_range(row + self._after):
            undo_key = self._undo.key()
            if undo_key[:-4] == row:
                return untagged(self._undo.value())
        return self._txn.get(row, db=self._current)

    def following(self, row: bytes) -> bytes | None:
        """Return the next row of `current` or of `undo`.

        No row key is a prefix of another, so a seek to the row key with any suffix skips the row, and one
        past all block numbers skips its undo rows.
        """
        now = self._rows.key() if self._rows.set_range(row + b"\0") else None
        if self._after is None or not self._undo.set_range(row + _PAST_ALL_BLOCKS):
            return now
        undo_row = self._undo.key()[:-4]
        return undo_row if now is None else min(now, undo_row)
