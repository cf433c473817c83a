"""Import of a downloaded state as the state of the finalized block.

A store can import the state of a block whose finality has been proven: a store with only its first block, or
one so far behind that no peer has the blocks in between.

1. `clear` deletes all but the first block's header, so that the tables are empty.
2. `write` takes rows in batches, in any order; the caller has verified each of them.
3. `walk` follows the trie from the state root over all rows (`cfnode.core.trie.Healing`) and reports what is
   missing, which the caller fetches and writes.
4. `delete_leftovers` deletes rows that the trie does not contain: parts of the state may have been downloaded
   at older blocks.
5. `finish` makes the block the finalized one, in one transaction.

Until then the store has no state; if the process is killed before, the import begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cfnode.core.block import BlockRef
from cfnode.core.header import Header
from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP
from cfnode.core.trie import Healing, WalkFindings, is_child_root, trie_rows
from cfnode.store.blocks import NO_BLOCK, ChainMetadata, Justification
from cfnode.store.errors import StoreError
from cfnode.store.rows import RowChange, batch_rows, delimited, row_deletions
from cfnode.store.state import Tables

if TYPE_CHECKING:
    from cfnode.store.database import Transaction
    from cfnode.store.versioned import VersionedTable

__all__ = ["Row", "StateImport"]

ROWS_AT_ONCE = 50_000
"""Rows after which pages in memory are released."""

Row = tuple[bytes, bytes, bytes]
"""A child trie (empty: the top trie), a key or path, and a value or encoded node."""

Batch = tuple[list[tuple[bytes, bytes]], dict[bytes, RowChange]]
"""Rows of a table sorted by their keys, and changes of its buckets."""


class StateImport:
    """One import into a store, which `Store.import_state` begins. `on_cleared` empties what is in memory."""

    def __init__(self, tables: Tables, on_cleared: Callable[[], None]) -> None:
        self._tables = tables
        self._database = tables.database
        self._on_cleared = on_cleared

    def clear(self) -> None:
        """Delete the present chain but for its first header."""
        self._database.write(self._clear)
        self._on_cleared()

    def _clear(self, txn: Transaction) -> None:
        blocks = self._tables.blocks
        metadata = blocks.metadata(txn)
        if metadata is None:
            raise StoreError(f"the database in {self._database.path} holds no chain yet")
        genesis_hash = blocks.genesis_hash(txn)
        genesis = None if genesis_hash is None else blocks.header(txn, genesis_hash)
        assert genesis is not None
        self._database.empty(txn)
        blocks.put_genesis(txn, genesis)
        blocks.put_oldest_header(txn, genesis.number)
        genesis_ref = BlockRef(genesis.hash, genesis.number)
        blocks.put_metadata(
            txn,
            ChainMetadata(
                genesis_ref, genesis_ref.number + 1, genesis_ref.number, metadata.generation + 1, NO_BLOCK
            ),
        )

    def write(self, storage: Sequence[Row], nodes: Sequence[Row]) -> None:
        """Write a batch in one transaction; existing rows are replaced."""
        self._database.write(partial(self._put, batch_rows(storage), batch_rows(nodes)))

    def walk(self, healing: Healing, max_nodes: int, max_missing: int) -> WalkFindings:
        """Continue the walk over the rows, in one snapshot. Raises TrieError.

        It stops at `max_nodes` visited or `max_missing` missing nodes.
        """
        with self._database.read() as txn:
            walked = healing.walk(self._tables.current(txn, NO_BLOCK), max_nodes, max_missing)
        self._database.release_pages()
        return walked

    def delete_leftovers(self, healing: Healing, root: bytes) -> int:
        """Delete the rows that are not part of the state, after a complete walk; return their number.

        Raises StoreError if the state is incomplete.
        """
        with self._database.read() as txn:
            rows = tuple(sum(1 for _ in self._rows(txn, table)) for table in self._both)
            if rows == (healing.keys, healing.nodes):
                return 0
            storage, nodes = self._leftovers(txn, root)
        kept_rows = rows[0] - len(storage), rows[1] - len(nodes)
        if kept_rows != (healing.keys, healing.nodes):
            raise StoreError(
                f"the imported state is incomplete: {kept_rows} keys and nodes "
                f"of {(healing.keys, healing.nodes)}"
            )
        self._database.write(partial(self._merge, row_deletions(storage), row_deletions(nodes)))
        return len(storage) + len(nodes)

    @property
    def _both(self) -> tuple[VersionedTable, VersionedTable]:
        return self._tables.storage, self._tables.nodes

    def _rows(self, txn: Transaction, table: VersionedTable) -> Iterator[bytes]:
        """Yield all rows of a table; pages in memory are released on the way."""
        for count, row in enumerate(table.rows(txn), 1):
            yield row
            if count % ROWS_AT_ONCE == 0:
                self._database.release_pages()

    def _leftovers(self, txn: Transaction, root: bytes) -> tuple[list[bytes], list[bytes]]:
        """Return the rows of storage and of nodes that the trie does not contain."""
        state = self._tables.current(txn, root)
        storage, nodes = (_Leftovers(self._rows(txn, table)) for table in self._both)
        tries = [(TOP, root)]
        for child, child_root in tries:  # grows while the top trie is walked, in the order of the rows
            prefix = delimited(child)
            for path, key, value in trie_rows(state, child, child_root):
                if path is not None:
                    nodes.skip(prefix + delimited(path))
                if key is not None and value is not None:
                    storage.skip(prefix + delimited(key))
                    if child == TOP and is_child_root(key, value):
                        tries.append((key.removeprefix(CHILD_STORAGE_PREFIX), value))
        return storage.all(), nodes.all()

    def _put(self, storage: Batch, nodes: Batch, txn: Transaction) -> None:
        for table, (rows, buckets) in zip(self._both, (storage, nodes), strict=True):
            table.put_sorted(txn, rows)
            table.merge(txn, buckets.items())

    def _merge(
        self, storage: Mapping[bytes, RowChange], nodes: Mapping[bytes, RowChange], txn: Transaction
    ) -> None:
        self._tables.storage.merge(txn, storage.items())
        self._tables.nodes.merge(txn, nodes.items())

    def finish(self, header: Header, body: Sequence[bytes], justifications: Sequence[Justification]) -> None:
        """Make the block the finalized one, with this state. Call `delete_leftovers` first."""
        ref = BlockRef(header.hash, header.number)

        def work(txn: Transaction) -> None:
            blocks = self._tables.blocks
            metadata = blocks.metadata(txn)
            assert metadata is not None
            blocks.put_block(txn, header, body)
            blocks.put_justifications(txn, ref.hash, justifications)
            blocks.mark_periodic(txn, ref.hash)
            blocks.make_final(txn, ref)
            blocks.put_oldest_header(txn, ref.number)
            newest = ref.hash if justifications else NO_BLOCK
            generation = metadata.generation + 1
            blocks.put_metadata(txn, ChainMetadata(ref, ref.number, ref.number, generation, newest))

        self._database.write(work)


class _Leftovers:
    """The rows of a table, in order, that are not part of the state."""

    def __init__(self, rows: Iterator[bytes]) -> None:
        self._rows = rows
        self._at = next(rows, None)
        self._found: list[bytes] = []

    def skip(self, row: bytes) -> None:
        """Skip the next row of the state; the rows before it that were not skipped are leftovers."""
        while self._at is not None and self._at < row:
            self._found.append(self._at)
            self._at = next(self._rows, None)
        if self._at == row:
            self._at = next(self._rows, None)

    def all(self) -> list[bytes]:
        """Return all leftovers, once every row of the state has been skipped."""
        remaining_rows = [] if self._at is None else [self._at, *self._rows]
        return self._found + remaining_rows
