"""How does the executor process read states, when the process beside it writes?

It opens the same database read only and has a copy of the overlays. Every call reads in a snapshot of its
own; an overlay is dropped once a snapshot has shown that the database holds its state, or that its branch has
lost and is not kept. That is looked for with every state and every new overlay.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cfnode.core.block import BlockRef
from cfnode.core.header import Header
from cfnode.store.blocks import ChainMetadata
from cfnode.store.database import Database
from cfnode.store.errors import StoreError
from cfnode.store.overlays import Overlay, OverlayEntry, OverlayTree
from cfnode.store.state import StateView, Tables

if TYPE_CHECKING:
    from cfnode.store.database import Transaction


class StoreReader:
    """The chain on disk, in a process that only reads it; one thread, one state at a time."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._tables = Tables(database)
        self._tree = OverlayTree()
        self._generation = -1

    @classmethod
    def open(cls, path: Path) -> StoreReader:
        """Opens a database that the writer has created. Raises StoreError."""
        return cls(Database(path, readonly=True))

    def close(self) -> None:
        self.database.close()

    def add_overlay(self, overlay: Overlay) -> None:
        """Hold it if it is needed, and drop what is not: it may be long until a state is read."""
        entry = OverlayEntry(overlay)
        with self.database.read() as txn:
            self._drop_needless(txn)
            facts = self._tables.blocks.facts(txn)
            parent = self._tree.get(entry.parent)
            descends_from_finalized = (
                {parent.hash} if parent is not None and not self._is_kept(txn, parent) else set()
            )
            if (
                facts is None
                or self._is_kept(txn, entry)
                or self._can_win(txn, facts, entry, descends_from_finalized)
            ):
                self._tree = self._tree.adding(entry)

    @property
    def overlays(self) -> list[Overlay]:
        """The overlays still held, parents first."""
        return [entry.overlay for entry in self._tree.oldest_first()]

    @property
    def finalized(self) -> BlockRef:
        """The last final block. Raises StoreError where no chain was begun."""
        with self.database.read() as txn:
            facts = self._tables.blocks.facts(txn)
        if facts is None:
            raise StoreError(f"the database in {self.database.path} holds no chain yet")
        return facts.finalized

    def header(self, block: bytes) -> Header | None:
        """The header of a block; None where it is not known."""
        with self.database.read() as txn:
            return self._tables.blocks.header(txn, block)

    @contextmanager
    def state(self, block: bytes) -> Iterator[StateView]:
        """The state at a block: as `Store.state`."""
        with self.database.read() as txn:
            view = self._tables.view(txn, block, self._tree)
            self._drop_needless(txn)
            try:
                yield view
            finally:
                view.end()

    def _drop_needless(self, txn: Transaction) -> None:
        facts = self._tables.blocks.facts(txn)
        if facts is None or facts.generation == self._generation:
            return
        self._generation = facts.generation
        needed: list[OverlayEntry] = []
        descends_from_finalized: set[bytes] = set()
        for entry in self._tree.oldest_first():
            if self._is_kept(txn, entry):
                needed.append(entry)
            elif self._can_win(txn, facts, entry, descends_from_finalized):
                needed.append(entry)
                descends_from_finalized.add(entry.hash)
        self._tree = OverlayTree(needed)

    def _is_kept(self, txn: Transaction, entry: OverlayEntry) -> bool:
        """Whether the block has lost, and its overlay stays because it is held."""
        return self._tables.blocks.fork_of_kept(txn, entry.hash) is not None

    def _can_win(
        self, txn: Transaction, facts: ChainMetadata, entry: OverlayEntry, others: set[bytes]
    ) -> bool:
        """Whether the block is still unfinalized, not on the shelf, and grows from what is either: from
        `others` that can win, or from what the database holds."""
        shelf = self._tables.shelf
        if entry.number <= facts.finalized.number or shelf.place(txn, entry.hash) is not None:
            return False
        grows_from = entry.parent in others or entry.parent == facts.finalized.hash
        return grows_from or shelf.place(txn, entry.parent) is not None
