"""The state at a block in one snapshot, from its layers: overlays, spilled branches, finalized tables.

From the block down: overlays in memory, then spilled branches, then the finalized tables, which hold the
state of the finalized block and undo rows for the window before it. All of it is read in one read
transaction; the overlays laid over it are those above what *this snapshot* holds, so it does not matter what
the writer does meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from cfnode.core.block import BlockRef
from cfnode.core.state import TOP
from cfnode.store.blocks import BlockTables, ChainMetadata
from cfnode.store.errors import StateDiscarded, UnknownBlock
from cfnode.store.overlays import OverlayEntry, OverlayTable, OverlayTree, layers
from cfnode.store.rows import overlaid
from cfnode.store.spill import UNTOUCHED, Branch, BranchView, OverlaySpill, SpillTable
from cfnode.store.versioned import RowIndex, TableView, VersionedTable

if TYPE_CHECKING:
    from cfnode.store.database import LmdbDatabase, Transaction


class Walkable(Protocol):
    """A layer whose keys can be walked in order."""

    def next_key(self, child: bytes, key: bytes) -> bytes | None:
        """Return the next key of the layer in byte order, or None."""


class Layered:
    """One table at a block: overlays, then spilled branches, the newest first, over the finalized table."""

    __slots__ = ("_base", "_branches", "_overlays", "_written")

    def __init__(
        self, overlays: Sequence[OverlayTable], branches: Sequence[BranchView], base: TableView
    ) -> None:
        self._overlays = overlays
        self._branches = branches
        self._base = base
        self._written: dict[bytes, list[Mapping[bytes, bytes | None]]] = {}

    def get(self, child: bytes, key: bytes) -> bytes | None:
        """Return the value of the newest layer that has written the key, or None."""
        for table in self._written_in(child):
            if key in table:
                return table[key]
        for branch in self._branches:
            value = branch.get(child, key)
            if value is not UNTOUCHED:
                return value
        return self._base.get(child, key)

    def _written_in(self, child: bytes) -> list[Mapping[bytes, bytes | None]]:
        """Return the changes of a child trie in the overlays, without those overlays that have none."""
        written = self._written.get(child)
        if written is None:
            tables = (overlay.written(child) for overlay in self._overlays)
            written = self._written[child] = [table for table in tables if table]
        return written

    def next_key(self, child: bytes, key: bytes) -> bytes | None:
        """Return the next key that has a value, over all layers, or None."""
        if not self._overlays and not self._branches:
            return self._base.next_key(child, key)
        layers: list[Walkable] = [*self._overlays, *self._branches, self._base]
        while True:
            next_keys = [layer.next_key(child, key) for layer in layers]
            candidates = [candidate for candidate in next_keys if candidate is not None]
            if not candidates:
                return None
            key = min(candidates)
            if self.get(child, key) is not None:
                return key

    def items_after(self, child: bytes, key: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys strictly after `key`, in order, with their values."""
        rows = self._base.items_after(child, key)
        if not self._overlays and not self._branches:
            return rows
        return overlaid(rows, self._changes_after(child, key))

    def _changes_after(self, child: bytes, key: bytes) -> Iterator[tuple[bytes, bytes | None]]:
        """Yield the keys strictly after `key` that a layer above the finalized table may have changed."""
        layers: list[Walkable] = [*self._overlays, *self._branches]
        while True:
            next_keys = (layer.next_key(child, key) for layer in layers)
            candidates = [candidate for candidate in next_keys if candidate is not None]
            if not candidates:
                return
            key = min(candidates)
            yield key, self.get(child, key)


class _Ended(Layered):
    """The layers of a view whose `with` block is over: each read raises RuntimeError."""

    __slots__ = ()

    def get(self, child: bytes, key: bytes) -> bytes | None:
        raise RuntimeError("the state is read after its snapshot has ended")

    def next_key(self, child: bytes, key: bytes) -> bytes | None:
        raise RuntimeError("the state is read after its snapshot has ended")

    def items_after(self, child: bytes, key: bytes) -> Iterator[tuple[bytes, bytes]]:
        raise RuntimeError("the state is read after its snapshot has ended")


_ENDED = _Ended((), (), cast("TableView", None))


class StateView:
    """The state at one block: `cfnode.core.state.BlockState`. It ends with the snapshot that it reads."""

    __slots__ = ("_nodes", "_storage", "number", "root")

    def __init__(self, number: int, root: bytes, storage: Layered, nodes: Layered) -> None:
        self.number = number
        self.root = root
        self._storage = storage
        self._nodes = nodes

    def get(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the value of a key, or None."""
        return self._storage.get(child, key)

    def next_key(self, key: bytes, child: bytes = TOP) -> bytes | None:
        """Return the next key in byte order, or None."""
        return self._storage.next_key(child, key)

    def node(self, path: bytes, child: bytes = TOP) -> bytes | None:
        """Return the encoded trie node at a path, or None."""
        return self._nodes.get(child, path)

    def pairs_after(self, key: bytes, child: bytes = TOP) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys strictly after `key`, in order, with their values."""
        return self._storage.items_after(child, key)

    def nodes_after(self, path: bytes, child: bytes = TOP) -> Iterator[tuple[bytes, bytes]]:
        """Yield the paths strictly after `path` at which nodes have rows, in order, with these nodes."""
        return self._nodes.items_after(child, path)

    def end(self) -> None:
        """Release the snapshot: its cursors would keep a reader slot of the database taken."""
        self._storage = self._nodes = _ENDED


@dataclass(frozen=True, slots=True)
class LayerStack:
    """The layers of a block's state above the finalized tables, the newest first.

    `at`: the block at which the tables below are read; None for the finalized one.
    """

    overlays: list[OverlayEntry]
    branches: list[Branch]
    at: int | None


class Tables:
    """All tables that a state is read from, in the writing process or a reading one."""

    def __init__(self, database: LmdbDatabase) -> None:
        self.database = database
        self.blocks = BlockTables(database)
        self.spill = OverlaySpill(database)
        index = RowIndex(database.table("undo-index"))
        self.storage = VersionedTable(0, database.table("storage"), database.table("storage-undo"), index)
        self.nodes = VersionedTable(1, database.table("nodes"), database.table("nodes-undo"), index)

    @property
    def with_spill(self) -> Sequence[tuple[VersionedTable, SpillTable]]:
        """The tables of storage and of nodes, each with its spill table."""
        return (self.storage, self.spill.storage), (self.nodes, self.spill.nodes)

    @contextmanager
    def state(self, block: bytes, overlays: OverlayTree) -> Iterator[StateView]:
        """Open the state at a block for the block of `with`. Raises UnknownBlock or StateDiscarded."""
        with self.database.read() as txn:
            view = self.view(txn, block, overlays)
            try:
                yield view
            finally:
                view.end()

    def view(self, txn: Transaction, block: bytes, overlays: OverlayTree) -> StateView:
        """Return the state at a block, in the caller's snapshot. Raises UnknownBlock or StateDiscarded."""
        stack = self.layer_stack(txn, block, overlays)
        entry = overlays.get(block)  # in the executor process, its block may not have been written yet
        number_and_root = entry.number_and_root if entry else self.blocks.number_and_root(txn, block)
        if number_and_root is None:
            raise UnknownBlock(block)
        overlay_layers = layers(stack.overlays)

        def layered(laid: list[OverlayTable], spill: SpillTable, table: VersionedTable) -> Layered:
            branches = [BranchView(spill, txn, branch.id, branch.number) for branch in stack.branches]
            return Layered(laid, branches, TableView(table, txn, stack.at))

        return StateView(
            *number_and_root,
            layered([storage for storage, _ in overlay_layers], self.spill.storage, self.storage),
            layered([nodes for _, nodes in overlay_layers], self.spill.nodes, self.nodes),
        )

    def current(self, txn: Transaction, root: bytes) -> StateView:
        """Return the finalized tables as they are, whatever block they belong to; `root` is not checked."""
        storage, nodes = (
            Layered([], [], TableView(table, txn, None)) for table in (self.storage, self.nodes)
        )
        return StateView(0, root, storage, nodes)

    def layer_stack(self, txn: Transaction, block: bytes, overlays: OverlayTree) -> LayerStack:
        """Return the layers of the state at a block. Raises UnknownBlock or StateDiscarded."""
        metadata = self.blocks.metadata(txn)
        if metadata is None:
            raise UnknownBlock(block)
        try:
            return self._live_stack(txn, metadata, block, overlays)
        except StateDiscarded:
            kept_stack = self._kept_stack(txn, metadata, block, overlays)
            if kept_stack is None:
                raise
            return kept_stack

    def _live_stack(
        self, txn: Transaction, metadata: ChainMetadata, block: bytes, overlays: OverlayTree
    ) -> LayerStack:
        """Return the layers of a block that is final or descends from the finalized one."""
        overlay_entries = list(_overlays_above(metadata, block, overlays))
        lowest_parent = overlay_entries[-1].parent if overlay_entries else block
        if lowest_parent == metadata.finalized.hash:
            if metadata.oldest_state > metadata.finalized.number:
                raise StateDiscarded(block)
            return LayerStack(overlay_entries, [], None)
        branches = list(self.branches(txn, metadata, lowest_parent))
        if branches:
            return LayerStack(overlay_entries, branches, None)
        if overlay_entries:
            raise StateDiscarded(block)
        return LayerStack([], [], self._number_in_window(txn, metadata, block))

    def _kept_stack(
        self, txn: Transaction, metadata: ChainMetadata, block: bytes, overlays: OverlayTree
    ) -> LayerStack | None:
        """Return the layers of a held block that has lost; None if they are not all there.

        Its branch lies over the final state that it forked from.
        """
        fork = self.blocks.fork_of_kept(txn, block)
        if fork is None or fork < metadata.oldest_state:
            return None
        overlay_entries: list[OverlayEntry] = []
        while self.blocks.fork_of_kept(txn, block) is not None:
            entry = overlays.get(block)
            if entry is None:
                return None
            overlay_entries.append(entry)
            block = entry.parent
        return LayerStack(overlay_entries, [], fork)

    def branches(self, txn: Transaction, metadata: ChainMetadata, block: bytes) -> Iterator[Branch]:
        """Yield the branches from a spilled block down to the finalized one.

        Each is the branch up to the block where the next one forks.
        """
        while (branch := self.spill.branch_of(txn, block)) is not None:
            yield branch
            if branch.first <= metadata.finalized.number + 1:
                return
            block = branch.origin

    def _number_in_window(self, txn: Transaction, metadata: ChainMetadata, block: bytes) -> int:
        """Return the number of a finalized block within the window. Raises UnknownBlock or StateDiscarded."""
        number = self.blocks.number(txn, block)
        if number is None:
            raise UnknownBlock(block)
        if self.blocks.hash_at(txn, number) == block and number >= metadata.oldest_state:
            return number
        if self.blocks.is_unfinalized(txn, BlockRef(block, number)):
            raise UnknownBlock(block)  # its header is known, but it has not been executed (again) yet
        raise StateDiscarded(block)

    def has_state(self, txn: Transaction, block: bytes) -> bool:
        """Return whether the snapshot itself holds the state of a block.

        It does for the finalized block and for spilled ones.
        """
        metadata = self.blocks.metadata(txn)
        if metadata is not None and metadata.finalized.hash == block:
            return metadata.oldest_state <= metadata.finalized.number
        return self.spill.branch_of(txn, block) is not None


def _overlays_above(metadata: ChainMetadata, block: bytes, overlays: OverlayTree) -> Iterator[OverlayEntry]:
    """Yield the overlays from a block down to the finalized one, as far as they are in the tree."""
    while block != metadata.finalized.hash:
        entry = overlays.get(block)
        if entry is None or entry.number <= metadata.finalized.number:
            return
        yield entry
        block = entry.parent
