"""How does a state that was downloaded, not executed, become the state of the finalized block?

A store that knows only its first block can adopt a later one whose finality has been proven. What it held of
the first block's state is thrown away at the beginning, so that the tables are empty; then rows come in
batches, in any order, each one verified by whoever brings them; at the end every row is read once, in order,
and compared with the state root: only then does one transaction make the block the finalized one. Until that
transaction the store answers as one without a state, and a process killed before it begins anew.

The last check walks the trie from its root, compares each node and value with the hash that names it, and
counts: a row that the trie does not name is as wrong as one that is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cfnode.core.header import Header
from cfnode.core.trie import MissingNode, TrieError, check_state
from cfnode.store.blocks import NO_BLOCK, BlockRef, Facts, Justification
from cfnode.store.errors import StoreError
from cfnode.store.rows import row_changes
from cfnode.store.state import Tables

if TYPE_CHECKING:
    from cfnode.store.database import Transaction

__all__ = ["Adoption", "Row"]

Row = tuple[bytes, bytes, bytes]
"""Child trie (empty: the top one), key or path, value or encoded node."""


class Adoption:
    """The state of one block on its way into a store. `Store.adopt` makes it."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._database = tables.database

    def clear(self) -> None:
        """Throws away the state there is; the tables are empty then."""
        self._database.write(self._clear)

    def _clear(self, txn: Transaction) -> None:
        blocks = self._tables.blocks
        facts = blocks.facts(txn)
        if facts is None:
            raise StoreError(f"the database in {self._database.path} holds no chain yet")
        if next(blocks.unfinalized(txn), None) or facts.finalized.hash != blocks.genesis_hash(txn):
            raise StoreError(
                f"the database in {self._database.path} has grown beyond its first block: a downloaded state "
                "has no place in it (purge it, or use --sync=full)"
            )
        blocks.put_facts(txn, replace(facts, oldest_state=facts.finalized.number + 1))
        for table in (self._tables.storage, self._tables.nodes):
            txn.drop(table.current, delete=False)

    def write(self, storage: Sequence[Row], nodes: Sequence[Row]) -> None:
        """Writes a batch, sorted; a row that is there already is replaced. One transaction."""
        sorted_storage, sorted_nodes = row_changes(_tables(storage)), row_changes(_tables(nodes))

        def work(txn: Transaction) -> None:
            self._tables.storage.merge(txn, sorted_storage.items())
            self._tables.nodes.merge(txn, sorted_nodes.items())

        self._database.write(work)

    def verify(self, root: bytes) -> int:
        """Reads every row and compares it with the state root; the number of keys. Raises StoreError."""
        with self._database.read() as txn:
            try:
                keys, nodes = check_state(self._tables.present(txn, root))
            except (MissingNode, TrieError) as error:
                raise StoreError(f"the downloaded state has not the root 0x{root.hex()}: {error}") from error
            rows = self._tables.storage.count(txn), self._tables.nodes.count(txn)
        if rows != (keys, nodes):
            raise StoreError(f"the downloaded state has {rows} rows, its trie {(keys, nodes)} keys and nodes")
        return keys

    def finish(self, header: Header, body: Sequence[bytes], justifications: Sequence[Justification]) -> None:
        """Makes the block the finalized one, with this state. Call `verify` before."""
        ref = BlockRef(header.number, header.hash)

        def work(txn: Transaction) -> None:
            blocks = self._tables.blocks
            facts = blocks.facts(txn)
            assert facts is not None
            blocks.put_block(txn, header, body)
            blocks.put_justifications(txn, ref.hash, justifications)
            blocks.make_final(txn, ref)
            blocks.put_beginning(txn, ref.number)
            newest = ref.hash if justifications else NO_BLOCK
            blocks.put_facts(txn, Facts(ref, ref.number, ref.number, facts.generation + 1, newest))

        self._database.write(work)


def _tables(rows: Iterable[Row]) -> dict[bytes, dict[bytes, bytes | None]]:
    tables: dict[bytes, dict[bytes, bytes | None]] = {}
    for child, key, value in rows:
        tables.setdefault(child, {})[key] = value
    return tables
