"""Where do states go that are too many for memory and not yet final?

When finality stalls, the oldest overlays are written to the *shelf*: tables of their own, so that the
finalized ones never have to be turned back, whichever fork wins in the end. A shelved block belongs to a
*branch*, a line of blocks without a fork; a row is written under

    branch (4 bytes) ‖ row key ‖ complement of the block number (4 bytes)

so the newest version at or before a block is found by one seek, however long the branch is. A read costs one
seek for each branch between a block and the finalized one: the number of forks on the way, not of blocks.
Finality takes blocks off the shelf into the finalized tables, or drops them with their branch.

In a bucket row (keys too long for LMDB) stands what the branch has changed so far, not the block alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from cfnode.store.overlays import OverlayEntry
from cfnode.store.rows import (
    ROW_LIMIT,
    RowChange,
    RowWalk,
    decode_bucket,
    delimited,
    encode_bucket,
    row_changes,
    tagged,
    untagged,
)
from cfnode.store.versioned import RowIndex

if TYPE_CHECKING:
    from cfnode.store.database import Database, Handle, Transaction

_LAST = 0xFFFFFFFF
_PLACE = struct.Struct(">III32s")


class Untouched(Enum):
    """The answer of a branch that has not written a key."""

    UNTOUCHED = 0


UNTOUCHED: Final = Untouched.UNTOUCHED
LayerValue: TypeAlias = "bytes | Literal[Untouched.UNTOUCHED] | None"


@dataclass(frozen=True, slots=True)
class Branch:
    """Where a block stands on the shelf: its branch, which begins at block `first` on top of `origin`."""

    branch: int
    number: int
    first: int
    origin: bytes


class SpillTable:
    """The shelf's rows of one table."""

    def __init__(self, number: int, handle: Handle, index: RowIndex) -> None:
        self._number = bytes([number])
        self.handle = handle
        self._index = index

    def put(self, txn: Transaction, place: Branch, rows: Mapping[bytes, RowChange]) -> None:
        before = SegmentView(self, txn, place.branch, place.number - 1)
        for row, change in rows.items():
            if isinstance(change, dict):
                value = encode_bucket(dict(before.bucket(row)) | change)
            else:
                value = tagged(change)
            txn.put(_row(place, row), value, db=self.handle)
        self._index.put(txn, self._name(place), list(rows))

    def changes(self, txn: Transaction, place: Branch) -> dict[bytes, RowChange]:
        """What one block changed (in a bucket: what its branch did up to it)."""
        rows: dict[bytes, RowChange] = {}
        for row in self._index.rows(txn, self._name(place)):
            data = txn.get(_row(place, row), db=self.handle)
            assert data is not None
            rows[row] = _change(row, data)
        return rows

    def summary(self, txn: Transaction, place: Branch) -> Iterator[tuple[bytes, RowChange]]:
        """What the branch changed up to a block, each row once, however often it changed."""
        segment = SegmentView(self, txn, place.branch, place.number)
        row = segment.first()
        while row is not None:
            data = segment.data(row)
            if data is not None:
                yield row, _change(row, data)
            row = segment.following(row)

    def delete(self, txn: Transaction, place: Branch) -> None:
        for row in self._index.take(txn, self._name(place)):
            txn.delete(_row(place, row), db=self.handle)

    def _name(self, place: Branch) -> bytes:
        return struct.pack(">II", place.branch, place.number) + self._number


def _change(row: bytes, data: bytes) -> RowChange:
    return dict(decode_bucket(data)) if len(row) == ROW_LIMIT else untagged(data)


def _row(place: Branch, row: bytes) -> bytes:
    return place.branch.to_bytes(4, "big") + row + (_LAST - place.number).to_bytes(4, "big")


class OverlaySpill:
    """All shelved blocks."""

    def __init__(self, database: Database) -> None:
        self._blocks = database.table("shelf-blocks")
        self._tips = database.table("shelf-tips")
        self._garbage = database.table("shelf-garbage")
        self._meta = database.meta
        index = RowIndex(database.table("shelf-index"))
        self.storage = SpillTable(0, database.table("shelf-storage"), index)
        self.nodes = SpillTable(1, database.table("shelf-nodes"), index)

    def place(self, txn: Transaction, block: bytes) -> Branch | None:
        data = txn.get(block, db=self._blocks)
        return None if data is None else Branch(*_PLACE.unpack(data))

    def put(self, txn: Transaction, entry: OverlayEntry) -> None:
        """Shelves a block whose parent is finalized or on the shelf."""
        place = self._new_place(txn, entry)
        data = _PLACE.pack(place.branch, place.number, place.first, place.origin)
        txn.put(entry.hash, data, db=self._blocks)
        txn.put(place.branch.to_bytes(4, "big"), entry.hash, db=self._tips)
        changes = entry.overlay.changes
        self.storage.put(txn, place, row_changes(changes.storage))
        self.nodes.put(txn, place, row_changes(changes.nodes))

    def _new_place(self, txn: Transaction, entry: OverlayEntry) -> Branch:
        parent = self.place(txn, entry.parent)
        if parent is not None:
            tip = txn.get(parent.branch.to_bytes(4, "big"), db=self._tips)
            if tip == entry.parent:
                return Branch(parent.branch, entry.number, parent.first, parent.origin)
        branch = int(txn.get(b"next-branch", db=self._meta) or b"0")
        txn.put(b"next-branch", b"%d" % ((branch + 1) & _LAST), db=self._meta)
        return Branch(branch, entry.number, entry.number, entry.parent)

    def changes(
        self, txn: Transaction, place: Branch
    ) -> tuple[dict[bytes, RowChange], dict[bytes, RowChange]]:
        """A block's changes of storage and nodes."""
        return self.storage.changes(txn, place), self.nodes.changes(txn, place)

    def discard(self, txn: Transaction, block: bytes) -> None:
        """Takes a block off the shelf, if it is there: it has become final or has lost. Its rows go later,
        with `collect`. Until then they do no harm: nothing leads to those of a lost block, and those of a
        final one say of their branch what the tables say too."""
        place = self.place(txn, block)
        if place is None:
            return
        txn.delete(block, db=self._blocks)
        branch = place.branch.to_bytes(4, "big")
        if txn.get(branch, db=self._tips) == block:
            txn.delete(branch, db=self._tips)
        txn.put(branch + place.number.to_bytes(4, "big"), b"", db=self._garbage)

    def collect(self, txn: Transaction, most: int) -> None:
        """Deletes the rows of a few discarded blocks; so thousands of them do not make one huge commit."""
        with txn.cursor(self._garbage) as cursor:
            found = cursor.first()
            while found and most > 0:
                branch, number = struct.unpack(">II", cursor.key())
                place = Branch(branch, number, number, b"")
                self.storage.delete(txn, place)
                self.nodes.delete(txn, place)
                found, most = cursor.delete() and cursor.key() != b"", most - 1


class SegmentView(RowWalk):
    """The layer of one branch up to block `number`, in one snapshot; its next key may be a deleted one."""

    __slots__ = ("_at", "_branch", "_cursor")

    def __init__(self, table: SpillTable, txn: Transaction, branch: int, number: int) -> None:
        self._branch = branch.to_bytes(4, "big")
        self._at = (_LAST - number).to_bytes(4, "big")
        self._cursor = txn.cursor(table.handle)

    def get(self, child: bytes, key: bytes) -> LayerValue:
        row = delimited(child) + delimited(key)
        if len(row) < ROW_LIMIT:
            data = self.data(row)
            return UNTOUCHED if data is None else untagged(data)
        wanted = row[ROW_LIMIT:]
        return next((value for rest, value in self.bucket(row[:ROW_LIMIT]) if rest == wanted), UNTOUCHED)

    def data(self, row: bytes) -> bytes | None:
        wanted = self._branch + row
        if not self._cursor.set_range(wanted + self._at) or self._cursor.key()[:-4] != wanted:
            return None
        return self._cursor.value()

    def first(self) -> bytes | None:
        return self._row_from(self._branch)

    def following(self, row: bytes) -> bytes | None:
        return self._row_from(self._branch + row + b"\xff" * 5)

    def _row_from(self, place: bytes) -> bytes | None:
        if not self._cursor.set_range(place):
            return None
        found = self._cursor.key()
        return found[4:-4] if found.startswith(self._branch) else None
