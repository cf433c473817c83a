"""How does a state that was downloaded, not executed, become the state of the finalized block?

A store can adopt a block whose finality has been proven: one that knows only its first block, or one that has
fallen so far behind that nobody has the blocks in between. At the beginning all but the first block's header
is thrown away, so that the tables are empty; then rows come in batches, in any order, each one verified by
whoever brings them. At the end the trie is walked from the state root over all of them
(`cfnode.core.trie.Healing`); what turns out to be missing is brought, and what the trie does not name is
deleted: leftovers of older states, from which a part of the rows may have come. Only then does one
transaction make the block the finalized one. Until that transaction the store answers as one without a state,
and a process killed before it begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cfnode.core.block import BlockRef
from cfnode.core.header import Header
from cfnode.core.state import CHILD_STORAGE_PREFIX, TOP
from cfnode.core.trie import Found, Healing, is_child_root, trie_rows
from cfnode.store.blocks import NO_BLOCK, ChainMetadata, Justification
from cfnode.store.errors import StoreError
from cfnode.store.rows import RowChange, delimited, row_changes, row_deletions
from cfnode.store.state import Tables

if TYPE_CHECKING:
    from cfnode.store.database import Transaction
    from cfnode.store.versioned import VersionedTable

__all__ = ["Row", "StateImport"]

ROWS_AT_ONCE = 50_000
"""Rows after which pages are given back."""

Row = tuple[bytes, bytes, bytes]
"""Child trie (empty: the top one), key or path, value or encoded node."""


class StateImport:
    """The state of one block on its way into a store. `Store.import_state` makes it; `forget`: what is in memory
    goes, too.
    """

    def __init__(self, tables: Tables, forget: Callable[[], None]) -> None:
        self._tables = tables
        self._database = tables.database
        self._forget = forget

    def clear(self) -> None:
        """Throws away the chain there is, but for its first header; the tables are empty then."""
        self._database.write(self._clear)
        self._forget()

    def _clear(self, txn: Transaction) -> None:
        blocks = self._tables.blocks
        facts = blocks.facts(txn)
        if facts is None:
            raise StoreError(f"the database in {self._database.path} holds no chain yet")
        genesis_hash = blocks.genesis_hash(txn)
        genesis = None if genesis_hash is None else blocks.header(txn, genesis_hash)
        assert genesis is not None
        self._database.empty(txn)
        blocks.put_genesis(txn, genesis)
        blocks.put_beginning(txn, genesis.number)
        first = BlockRef(genesis.hash, genesis.number)
        blocks.put_facts(
            txn, ChainMetadata(first, first.number + 1, first.number, facts.generation + 1, NO_BLOCK)
        )

    def write(self, storage: Sequence[Row], nodes: Sequence[Row]) -> None:
        """Writes a batch, sorted; a row that is there already is replaced. One transaction."""
        changes = row_changes(_tables(storage)), row_changes(_tables(nodes))
        self._database.write(partial(self._merge, *changes))

    def walk(self, mend: Healing, most_nodes: int, most_holes: int) -> Found:
        """Walks on over the rows, in one snapshot. Raises TrieError."""
        with self._database.read() as txn:
            found = mend.walk(self._tables.present(txn, NO_BLOCK), most_nodes, most_holes)
        self._database.release_pages()
        return found

    def delete_leftovers(self, mend: Healing, root: bytes) -> int:
        """After a walk that has met the whole state: deletes what does not belong to it; how many rows."""
        with self._database.read() as txn:
            rows = tuple(sum(1 for _ in self._rows(txn, table)) for table in self._both)
            if rows == (mend.keys, mend.nodes):
                return 0
            storage, nodes = self._beside(txn, root)
        kept = rows[0] - len(storage), rows[1] - len(nodes)
        if kept != (mend.keys, mend.nodes):
            raise StoreError(f"the state is not whole: {kept} keys and nodes of {(mend.keys, mend.nodes)}")
        self._database.write(partial(self._merge, row_deletions(storage), row_deletions(nodes)))
        return len(storage) + len(nodes)

    @property
    def _both(self) -> tuple[VersionedTable, VersionedTable]:
        return self._tables.storage, self._tables.nodes

    def _rows(self, txn: Transaction, table: VersionedTable) -> Iterator[bytes]:
        """All rows of a table; what has been read is let go of on the way."""
        for count, row in enumerate(table.rows(txn), 1):
            yield row
            if count % ROWS_AT_ONCE == 0:
                self._database.release_pages()

    def _beside(self, txn: Transaction, root: bytes) -> tuple[list[bytes], list[bytes]]:
        """The rows of storage and of nodes that the trie does not name."""
        state = self._tables.present(txn, root)
        storage, nodes = (_Beside(self._rows(txn, table)) for table in self._both)
        tries = [(TOP, root)]
        for child, child_root in tries:  # grows while the top trie is walked, in the order of the rows
            prefix = delimited(child)
            for path, key, value in trie_rows(state, child, child_root):
                if path is not None:
                    nodes.pass_by(prefix + delimited(path))
                if key is not None and value is not None:
                    storage.pass_by(prefix + delimited(key))
                    if child == TOP and is_child_root(key, value):
                        tries.append((key.removeprefix(CHILD_STORAGE_PREFIX), value))
        return storage.all(), nodes.all()

    def _merge(
        self, storage: Mapping[bytes, RowChange], nodes: Mapping[bytes, RowChange], txn: Transaction
    ) -> None:
        self._tables.storage.merge(txn, storage.items())
        self._tables.nodes.merge(txn, nodes.items())

    def finish(self, header: Header, body: Sequence[bytes], justifications: Sequence[Justification]) -> None:
        """Makes the block the finalized one, with this state. Call `delete_leftovers` before."""
        ref = BlockRef(header.hash, header.number)

        def work(txn: Transaction) -> None:
            blocks = self._tables.blocks
            facts = blocks.facts(txn)
            assert facts is not None
            blocks.put_block(txn, header, body)
            blocks.put_justifications(txn, ref.hash, justifications)
            blocks.mark_periodic(txn, ref.hash)
            blocks.make_final(txn, ref)
            blocks.put_beginning(txn, ref.number)
            newest = ref.hash if justifications else NO_BLOCK
            blocks.put_facts(txn, ChainMetadata(ref, ref.number, ref.number, facts.generation + 1, newest))

        self._database.write(work)


class _Beside:
    """Rows in order, and among them those that nobody named."""

    def __init__(self, rows: Iterator[bytes]) -> None:
        self._rows = rows
        self._at = next(rows, None)
        self._found: list[bytes] = []

    def pass_by(self, named: bytes) -> None:
        """A row that belongs there; all before it have been named already, or never will be."""
        while self._at is not None and self._at < named:
            self._found.append(self._at)
            self._at = next(self._rows, None)
        if self._at == named:
            self._at = next(self._rows, None)

    def all(self) -> list[bytes]:
        """Those that nobody named, once all that belong there have been."""
        rest = [] if self._at is None else [self._at, *self._rows]
        return self._found + rest


def _tables(rows: Iterable[Row]) -> dict[bytes, dict[bytes, bytes | None]]:
    tables: dict[bytes, dict[bytes, bytes | None]] = {}
    for child, key, value in rows:
        tables.setdefault(child, {})[key] = value
    return tables
