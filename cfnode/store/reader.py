"""States of the store as the executor process reads them, while the node's process writes.

The executor process opens the same database read only and has a copy of the overlays. Every call reads in a
snapshot of its own. The reader drops an overlay once a snapshot shows that the database holds its state, or
that its branch has lost and is not kept. It checks this with every state and every new overlay.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cfnode.core.block import BlockRef
from cfnode.core.header import Header
from cfnode.store.blocks import ChainMetadata
from cfnode.store.database import LmdbDatabase
from cfnode.store.errors import StoreError
from cfnode.store.overlays import Overlay, OverlayEntry, OverlayTree
from cfnode.store.state import StateView, Tables

if TYPE_CHECKING:
    from cfnode.store.database import Transaction


@dataclass(frozen=True, slots=True)
class ChainEnds:
    """The hash of the first block, the best block and the last final one."""

    genesis_hash: bytes
    best: BlockRef
    finalized: BlockRef


class StoreReader:
    """The chain on disk, in a process that only reads it; one thread, one state at a time."""

    def __init__(self, database: LmdbDatabase) -> None:
        self.database = database
        self._tables = Tables(database)
        self._tree = OverlayTree()
        self._generation = -1

    @classmethod
    def open(cls, path: Path) -> StoreReader:
        """Open a database that the writer has created. Raises StoreError."""
        return cls(LmdbDatabase(path, readonly=True))

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def add_overlay(self, overlay: Overlay) -> None:
        """Keep an overlay if it is needed, and drop the others: no state may be read for long."""
        entry = OverlayEntry(overlay)
        with self.database.read() as txn:
            self._drop_needless(txn)
            metadata = self._tables.blocks.metadata(txn)
            parent = self._tree.get(entry.parent)
            live = {parent.hash} if parent is not None and not self._is_kept(txn, parent) else set()
            if (
                metadata is None
                or self._is_kept(txn, entry)
                or self._descends_from_finalized(txn, metadata, entry, live)
            ):
                self._tree = self._tree.adding(entry)

    @property
    def overlays(self) -> list[Overlay]:
        """The overlays that have not been dropped, parents first."""
        return [entry.overlay for entry in self._tree.oldest_first()]

    @property
    def finalized(self) -> BlockRef:
        """The last final block. Raises StoreError if the database has not been initialised."""
        with self.database.read() as txn:
            metadata = self._tables.blocks.metadata(txn)
        if metadata is None:
            raise StoreError(f"the database in {self.database.path} holds no chain yet")
        return metadata.finalized

    @property
    def ends(self) -> ChainEnds:
        """The first, the best and the last final block.

        Raises StoreError if the database has not been initialised.
        """
        with self.database.read() as txn:
            metadata, genesis = self._tables.blocks.metadata(txn), self._tables.blocks.genesis_hash(txn)
            unfinalized = [block for block, _ in self._tables.blocks.unfinalized(txn)]
        if metadata is None or genesis is None:
            raise StoreError(f"the database in {self.database.path} holds no chain yet")
        best = max([metadata.finalized, *unfinalized], key=lambda block: block.number)
        return ChainEnds(genesis, best, metadata.finalized)

    def header(self, block: bytes) -> Header | None:
        """Return the header of a block; None if the block is unknown."""
        with self.database.read() as txn:
            return self._tables.blocks.header(txn, block)

    @contextmanager
    def state(self, block: bytes) -> Iterator[StateView]:
        """Open the state at a block for the block of `with`.

        Raises UnknownBlock for a block that is unknown (or not executed), StateDiscarded for one whose state
        has been pruned or whose branch has lost.
        """
        with self.database.read() as txn:
            view = self._tables.view(txn, block, self._tree)
            self._drop_needless(txn)
            try:
                yield view
            finally:
                view.end()

    def _drop_needless(self, txn: Transaction) -> None:
        metadata = self._tables.blocks.metadata(txn)
        if metadata is None or metadata.generation == self._generation:
            return
        self._generation = metadata.generation
        needed: list[OverlayEntry] = []
        live: set[bytes] = set()
        for entry in self._tree.oldest_first():
            if self._is_kept(txn, entry):
                needed.append(entry)
            elif self._descends_from_finalized(txn, metadata, entry, live):
                needed.append(entry)
                live.add(entry.hash)
        self._tree = OverlayTree(needed)

    def _is_kept(self, txn: Transaction, entry: OverlayEntry) -> bool:
        """Return whether the block has lost, and its overlay stays because it is held."""
        return self._tables.blocks.fork_of_kept(txn, entry.hash) is not None

    def _descends_from_finalized(
        self, txn: Transaction, metadata: ChainMetadata, entry: OverlayEntry, live: set[bytes]
    ) -> bool:
        """Return whether the block descends from the finalized one and its state is not in the database yet.

        Its parent is then one of the `live` overlays, the finalized block or a spilled one.
        """
        spill = self._tables.spill
        if entry.number <= metadata.finalized.number or spill.branch_of(txn, entry.hash) is not None:
            return False
        descends = entry.parent in live or entry.parent == metadata.finalized.hash
        return descends or spill.branch_of(txn, entry.parent) is not None
