"""Spilled overlays: states of unfinalized blocks in the database, when there are too many for memory.

When finality stalls, the oldest overlays are *spilled*: written to tables of their own. The
finalized tables stay as they are, so they never have to be reverted, whichever fork wins in the end. A
spilled block belongs to a *branch*, a line of blocks without a fork; a row is written under

    branch (4 bytes) ‖ row key ‖ complement of the block number (4 bytes)

so the newest version at or before a block is found by one seek, however long the branch is. A read costs one
seek for each branch between a block and the finalized one: the number of forks on the way, not of blocks.
Finality moves spilled blocks into the finalized tables, or drops them with their branch.

A bucket row (keys too long for LMDB) holds what the branch has changed so far, not the changes of one block.
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
    from cfnode.store.database import Handle, LmdbDatabase, Transaction

_LAST = 0xFFFFFFFF
_BRANCH = struct.Struct(">III32s")


class Untouched(Enum):
    """The result of a branch for a key that it has not written."""

    UNTOUCHED = 0


UNTOUCHED: Final = Untouched.UNTOUCHED
LayerValue: TypeAlias = "bytes | Literal[Untouched.UNTOUCHED] | None"


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of spilled blocks, from block `first`, whose parent is `origin`, up to block `number`."""

    id: int
    number: int
    first: int
    origin: bytes


class SpillTable:
    """The spilled rows of one table."""

    def __init__(self, number: int, handle: Handle, index: RowIndex) -> None:
        self._number = bytes([number])
        self.handle = handle
        self._index = index

    def put(self, txn: Transaction, branch: Branch, rows: Mapping[bytes, RowChange]) -> None:
        """Write the changes of the branch's block `number`."""
        before = BranchView(self, txn, branch.id, branch.number - 1)
        for row, change in rows.items():
            if isinstance(change, dict):
                value = encode_bucket(dict(before.bucket(row)) | change)
            else:
                value = tagged(change)
            txn.put(_row(branch, row), value, db=self.handle)
        self._index.put(txn, self._name(branch), list(rows))

    def changes(self, txn: Transaction, branch: Branch) -> dict[bytes, RowChange]:
        """Return the changes of block `number` alone (in a bucket: of its branch up to that block)."""
        rows: dict[bytes, RowChange] = {}
        for row in self._index.rows(txn, self._name(branch)):
            data = txn.get(_row(branch, row), db=self.handle)
            assert data is not None
            rows[row] = _change(row, data)
        return rows

    def summary(self, txn: Transaction, branch: Branch) -> Iterator[tuple[bytes, RowChange]]:
        """Yield the changes of the branch up to block `number`: each row once, however often it changed."""
        view = BranchView(self, txn, branch.id, branch.number)
        row = view.first()
        while row is not None:
            data = view.data(row)
            if data is not None:
                yield row, _change(row, data)
            row = view.following(row)

    def delete(self, txn: Transaction, branch: Branch) -> None:
        """Delete the rows of block `number`."""
        for row in self._index.take(txn, self._name(branch)):
            txn.delete(_row(branch, row), db=self.handle)

    def _name(self, branch: Branch) -> bytes:
        return struct.pack(">II", branch.id, branch.number) + self._number


def _change(row: bytes, data: bytes) -> RowChange:
    return dict(decode_bucket(data)) if len(row) == ROW_LIMIT else untagged(data)


def _row(branch: Branch, row: bytes) -> bytes:
    return branch.id.to_bytes(4, "big") + row + (_LAST - branch.number).to_bytes(4, "big")


class OverlaySpill:
    """All spilled blocks."""

    def __init__(self, database: LmdbDatabase) -> None:
        self._blocks = database.table("shelf-blocks")
        self._tips = database.table("shelf-tips")
        self._garbage = database.table("shelf-garbage")
        self._meta = database.meta
        index = RowIndex(database.table("shelf-index"))
        self.storage = SpillTable(0, database.table("shelf-storage"), index)
        self.nodes = SpillTable(1, database.table("shelf-nodes"), index)

    def branch_of(self, txn: Transaction, block: bytes) -> Branch | None:
        """Return the branch up to a block; None if the block is not spilled."""
        data = txn.get(block, db=self._blocks)
        return None if data is None else Branch(*_BRANCH.unpack(data))

    def put(self, txn: Transaction, entry: OverlayEntry) -> None:
        """Spill a block whose parent is finalized or spilled."""
        branch = self._branch_for(txn, entry)
        data = _BRANCH.pack(branch.id, branch.number, branch.first, branch.origin)
        txn.put(entry.hash, data, db=self._blocks)
        txn.put(branch.id.to_bytes(4, "big"), entry.hash, db=self._tips)
        changes = entry.overlay.changes
        self.storage.put(txn, branch, row_changes(changes.storage))
        self.nodes.put(txn, branch, row_changes(changes.nodes))

    def _branch_for(self, txn: Transaction, entry: OverlayEntry) -> Branch:
        """Return the parent's branch where the parent is its tip, a new branch otherwise."""
        parent = self.branch_of(txn, entry.parent)
        if parent is not None:
            tip = txn.get(parent.id.to_bytes(4, "big"), db=self._tips)
            if tip == entry.parent:
                return Branch(parent.id, entry.number, parent.first, parent.origin)
        new = int(txn.get(b"next-branch", db=self._meta) or b"0")
        txn.put(b"next-branch", b"%d" % ((new + 1) & _LAST), db=self._meta)
        return Branch(new, entry.number, entry.number, entry.parent)

    def changes(
        self, txn: Transaction, branch: Branch
    ) -> tuple[dict[bytes, RowChange], dict[bytes, RowChange]]:
        """Return the changes of the branch's block `number`: of storage and of nodes."""
        return self.storage.changes(txn, branch), self.nodes.changes(txn, branch)

    def discard(self, txn: Transaction, block: bytes) -> None:
        """Forget a block that has become final or has lost; do nothing if it is not spilled.

        `collect_garbage` deletes its rows later. Until then they do no harm: nothing refers to the rows of a
        lost block, and the rows of a final one agree with the finalized tables.
        """
        branch = self.branch_of(txn, block)
        if branch is None:
            return
        txn.delete(block, db=self._blocks)
        name = branch.id.to_bytes(4, "big")
        if txn.get(name, db=self._tips) == block:
            txn.delete(name, db=self._tips)
        txn.put(name + branch.number.to_bytes(4, "big"), b"", db=self._garbage)

    def collect_garbage(self, txn: Transaction, max_blocks: int) -> None:
        """Delete the rows of at most `max_blocks` discarded blocks.

        Thousands of them would make one huge commit.
        """
        with txn.cursor(self._garbage) as cursor:
            has_entry = cursor.first()
            while has_entry and max_blocks > 0:
                name, number = struct.unpack(">II", cursor.key())
                branch = Branch(name, number, number, b"")
                self.storage.delete(txn, branch)
                self.nodes.delete(txn, branch)
                has_entry, max_blocks = cursor.delete() and cursor.key() != b"", max_blocks - 1


class BranchView(RowWalk):
    """The layer of one branch up to block `number`, in one snapshot; its next key may be a deleted one."""

    __slots__ = ("_at", "_branch", "_cursor")

    def __init__(self, table: SpillTable, txn: Transaction, branch: int, number: int) -> None:
        self._branch = branch.to_bytes(4, "big")
        self._at = (_LAST - number).to_bytes(4, "big")
        self._cursor = txn.cursor(table.handle)

    def get(self, child: bytes, key: bytes) -> LayerValue:
        """Return the branch's value of a key: None if removed, UNTOUCHED if the branch has not written it."""
        row = delimited(child) + delimited(key)
        if len(row) < ROW_LIMIT:
            data = self.data(row)
            return UNTOUCHED if data is None else untagged(data)
        wanted_suffix = row[ROW_LIMIT:]
        return next(
            (value for suffix, value in self.bucket(row[:ROW_LIMIT]) if suffix == wanted_suffix), UNTOUCHED
        )

    def data(self, row: bytes) -> bytes | None:
        """Return the newest data of a row up to the block; None if the branch has not written it."""
        prefix = self._branch + row
        if not self._cursor.set_range(prefix + self._at) or self._cursor.key()[:-4] != prefix:
            return None
        return self._cursor.value()

    def first(self) -> bytes | None:
        """Return the first row key of the branch; it may have changed only after block `number`."""
        return self._row_from(self._branch)

    def following(self, row: bytes) -> bytes | None:
        """Return the next row of the branch, or None."""
        return self._row_from(self._branch + row + b"\xff" * 5)

    def _row_from(self, start: bytes) -> bytes | None:
        if not self._cursor.set_range(start):
            return None
        cursor_key = self._cursor.key()
        return cursor_key[4:-4] if cursor_key.startswith(self._branch) else None
