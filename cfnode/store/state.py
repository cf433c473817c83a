"""What is the state at a block, in one snapshot?

From the block down: overlays in memory, then branches on the shelf, then the finalized tables, which answer
for the finalized block and for the window before it. All that is read comes from one read transaction; the
overlays laid over it are those above what *this snapshot* holds, so it does not matter what the writer does
meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from cfnode.core.block import BlockRef
from cfnode.core.state import TOP
from cfnode.store.blocks import Blocks, ChainMetadata
from cfnode.store.errors import StateDiscarded, UnknownBlock
from cfnode.store.overlays import OverlayEntry, OverlayTable, OverlayTree, layers
from cfnode.store.spill import UNTOUCHED, Branch, OverlaySpill, SegmentView, SpillTable
from cfnode.store.versioned import RowIndex, TableView, VersionedTable

if TYPE_CHECKING:
    from cfnode.store.database import Database, Transaction


class Walkable(Protocol):
    """Keys in order."""

    def next_key(self, child: bytes, key: bytes) -> bytes | None: ...


class Layered:
    """One table at a block: overlays, then shelved branches, the newest first, over the finalized table."""

    __slots__ = ("_base", "_branches", "_overlays", "_touched")

    def __init__(
        self, overlays: Sequence[OverlayTable], branches: Sequence[SegmentView], base: TableView
    ) -> None:
        self._overlays = overlays
        self._branches = branches
        self._base = base
        self._touched: dict[bytes, list[Mapping[bytes, bytes | None]]] = {}

    def get(self, child: bytes, key: bytes) -> bytes | None:
        for table in self._touched_in(child):
            if key in table:
                return table[key]
        for branch in self._branches:
            value = branch.get(child, key)
            if value is not UNTOUCHED:
                return value
        return self._base.get(child, key)

    def _touched_in(self, child: bytes) -> list[Mapping[bytes, bytes | None]]:
        """What the overlays changed in a child, without those that leave it as it is."""
        found = self._touched.get(child)
        if found is None:
            tables = (overlay.touched(child) for overlay in self._overlays)
            found = self._touched[child] = [table for table in tables if table]
        return found

    def next_key(self, child: bytes, key: bytes) -> bytes | None:
        if not self._overlays and not self._branches:
            return self._base.next_key(child, key)
        layers: list[Walkable] = [*self._overlays, *self._branches, self._base]
        while True:
            found = [layer.next_key(child, key) for layer in layers]
            candidates = [candidate for candidate in found if candidate is not None]
            if not candidates:
                return None
            key = min(candidates)
            if self.get(child, key) is not None:
                return key


class _Ended(Layered):
    """What a view has when its `with` is over."""

    __slots__ = ()

    def get(self, child: bytes, key: bytes) -> bytes | None:
        raise RuntimeError("the state is read after its snapshot has ended")

    def next_key(self, child: bytes, key: bytes) -> bytes | None:
        raise RuntimeError("the state is read after its snapshot has ended")


_ENDED = _Ended((), (), cast("TableView", None))


class StateView:
    """The state at one block: `cfnode.core.state.State`. It ends with the snapshot it was made in."""

    __slots__ = ("_nodes", "_storage", "number", "root")

    def __init__(self, number: int, root: bytes, storage: Layered, nodes: Layered) -> None:
        self.number = number
        self.root = root
        self._storage = storage
        self._nodes = nodes

    def get(self, key: bytes, child: bytes = TOP) -> bytes | None:
        return self._storage.get(child, key)

    def next_key(self, key: bytes, child: bytes = TOP) -> bytes | None:
        return self._storage.next_key(child, key)

    def node(self, path: bytes, child: bytes = TOP) -> bytes | None:
        return self._nodes.get(child, path)

    def end(self) -> None:
        """Let go of the snapshot: as long as anybody could read on in it, its place among the readers of the
        database would stay taken."""
        self._storage = self._nodes = _ENDED


@dataclass(frozen=True, slots=True)
class LayerStack:
    """What lies between a block and the tables: overlays and branches, the newest first; `at` is the block of
    the tables below them, None for the finalized one."""

    overlays: list[OverlayEntry]
    places: list[Branch]
    at: int | None


class Tables:
    """All tables that a state is read from, of a writer or a reader."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.blocks = Blocks(database)
        self.shelf = OverlaySpill(database)
        index = RowIndex(database.table("undo-index"))
        self.storage = VersionedTable(0, database.table("storage"), database.table("storage-undo"), index)
        self.nodes = VersionedTable(1, database.table("nodes"), database.table("nodes-undo"), index)

    @property
    def with_shelves(self) -> Sequence[tuple[VersionedTable, SpillTable]]:
        return (self.storage, self.shelf.storage), (self.nodes, self.shelf.nodes)

    @contextmanager
    def state(self, block: bytes, overlays: OverlayTree) -> Iterator[StateView]:
        """The state at a block; raises UnknownBlock or StateDiscarded."""
        with self.database.read() as txn:
            view = self.view(txn, block, overlays)
            try:
                yield view
            finally:
                view.end()

    def view(self, txn: Transaction, block: bytes, overlays: OverlayTree) -> StateView:
        way = self.way(txn, block, overlays)
        known = self.blocks.number_and_root(txn, block)
        if known is None:
            raise UnknownBlock(block)
        laid = layers(way.overlays)

        def layered(laid: list[OverlayTable], shelf: SpillTable, table: VersionedTable) -> Layered:
            branches = [SegmentView(shelf, txn, place.branch, place.number) for place in way.places]
            return Layered(laid, branches, TableView(table, txn, way.at))

        return StateView(
            *known,
            layered([storage for storage, _ in laid], self.shelf.storage, self.storage),
            layered([nodes for _, nodes in laid], self.shelf.nodes, self.nodes),
        )

    def present(self, txn: Transaction, root: bytes) -> StateView:
        """What the tables hold, whatever block it belongs to; it should have the root."""
        storage, nodes = (
            Layered([], [], TableView(table, txn, None)) for table in (self.storage, self.nodes)
        )
        return StateView(0, root, storage, nodes)

    def way(self, txn: Transaction, block: bytes, overlays: OverlayTree) -> LayerStack:
        facts = self.blocks.facts(txn)
        if facts is None:
            raise UnknownBlock(block)
        try:
            return self._way(txn, facts, block, overlays)
        except StateDiscarded:
            kept = self._kept_way(txn, facts, block, overlays)
            if kept is None:
                raise
            return kept

    def _way(self, txn: Transaction, facts: ChainMetadata, block: bytes, overlays: OverlayTree) -> LayerStack:
        laid = list(_overlays_above(facts, block, overlays))
        below = laid[-1].parent if laid else block
        if below == facts.finalized.hash:
            if facts.oldest_state > facts.finalized.number:
                raise StateDiscarded(block)
            return LayerStack(laid, [], None)
        places = list(self.places(txn, facts, below))
        if places:
            return LayerStack(laid, places, None)
        if laid:
            raise StateDiscarded(block)
        return LayerStack([], [], self._past(txn, facts, block))

    def _kept_way(
        self, txn: Transaction, facts: ChainMetadata, block: bytes, overlays: OverlayTree
    ) -> LayerStack | None:
        """To a block that has lost and is held: its branch lies over the final state that it grew from."""
        fork = self.blocks.fork_of_kept(txn, block)
        if fork is None or fork < facts.oldest_state:
            return None
        laid: list[OverlayEntry] = []
        while self.blocks.fork_of_kept(txn, block) is not None:
            entry = overlays.get(block)
            if entry is None:
                return None
            laid.append(entry)
            block = entry.parent
        return LayerStack(laid, [], fork)

    def places(self, txn: Transaction, facts: ChainMetadata, block: bytes) -> Iterator[Branch]:
        """The branches from a shelved block down to the finalized one, each up to where it is left."""
        while (place := self.shelf.place(txn, block)) is not None:
            yield place
            if place.first <= facts.finalized.number + 1:
                return
            block = place.origin

    def _past(self, txn: Transaction, facts: ChainMetadata, block: bytes) -> int:
        """The number of a finalized block within the window."""
        number = self.blocks.number(txn, block)
        if number is None:
            raise UnknownBlock(block)
        if self.blocks.hash_at(txn, number) == block and number >= facts.oldest_state:
            return number
        if self.blocks.is_unfinalized(txn, BlockRef(block, number)):
            raise UnknownBlock(block)  # known by its header, but not executed (again) yet
        raise StateDiscarded(block)

    def holds(self, txn: Transaction, block: bytes) -> bool:
        """Whether the snapshot itself has the state of a block: it is the finalized one or on the shelf."""
        facts = self.blocks.facts(txn)
        if facts is not None and facts.finalized.hash == block:
            return facts.oldest_state <= facts.finalized.number
        return self.shelf.place(txn, block) is not None


def _overlays_above(facts: ChainMetadata, block: bytes, overlays: OverlayTree) -> Iterator[OverlayEntry]:
    while block != facts.finalized.hash:
        entry = overlays.get(block)
        if entry is None or entry.number <= facts.finalized.number:
            return
        yield entry
        block = entry.parent
