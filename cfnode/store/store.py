"""The store: blocks, states and finality of the chain, written by the node's process alone.

The store is the only writer. A block is added unfinalized: its header and body are written, its state is kept
as an overlay (or spilled, when there are too many overlays). Finality folds a run of blocks into the tables,
drops the branches that have lost, and deletes what has left the windows, all in one transaction: a process
killed at any moment leaves the state before or after the run.

The methods block (they write to disk) and may be called from worker threads; one thread writes at a time.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cfnode.core.block import BlockRef
from cfnode.core.header import Header
from cfnode.core.state import Changes
from cfnode.store.blocks import NO_BLOCK, ChainMetadata, Justification
from cfnode.store.database import LmdbDatabase
from cfnode.store.errors import StoreError, UnknownBlock
from cfnode.store.finality import COLLECT_AT_ONCE, WINDOW, Finality, FinalityStep, Pruning
from cfnode.store.genesis import initial_state
from cfnode.store.holds import Holds
from cfnode.store.overlays import MAX_OVERLAY_BLOCKS, MAX_OVERLAY_BYTES, Overlay, OverlayEntry, OverlayTree
from cfnode.store.rows import row_changes
from cfnode.store.state import StateView, Tables
from cfnode.store.state_import import StateImport

if TYPE_CHECKING:
    from cfnode.store.database import Transaction


@dataclass(frozen=True, slots=True)
class StoreCopy:
    """A copy of a store: its database, in a directory, and its overlays."""

    path: Path
    tree: OverlayTree
    kept: frozenset[bytes]


class Store:
    """The chain on disk, in the process that writes it.

    `max_blocks`, `max_bytes`: of overlays in memory.
    """

    def __init__(
        self, database: LmdbDatabase, pruning: Pruning, *,
        max_blocks: int = MAX_OVERLAY_BLOCKS, max_bytes: int = MAX_OVERLAY_BYTES,
    ) -> None:  # fmt: skip
        self.database = database
        self.pruning = pruning
        self._max_blocks = max_blocks
        self._max_bytes = max_bytes
        self._tables = Tables(database)
        self._blocks = self._tables.blocks
        self._finality = Finality(self._tables, pruning)
        self._tree = OverlayTree()
        self._holds = Holds()
        self._kept: frozenset[bytes] = frozenset()
        self._changing = threading.Lock()

    @classmethod
    def open(
        cls, path: Path, *, pruning: Pruning = WINDOW, sync: bool = True, map_size: int | None = None,
    ) -> Store:  # fmt: skip
        """Open or create the database in a directory. Raises StoreError.

        Without `sync` it survives a killed process, but perhaps no power cut.
        """
        return cls(LmdbDatabase(path, sync=sync, map_size=map_size), pruning)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    # Blocks

    @property
    def genesis_hash(self) -> bytes | None:
        """The hash of the store's first block; None before `initialise`."""
        with self.database.read() as txn:
            return self._blocks.genesis_hash(txn)

    @property
    def chain_metadata(self) -> ChainMetadata:
        """The finalized block and how far back states and bodies reach.

        Raises StoreError before `initialise`.
        """
        with self.database.read() as txn:
            return self._metadata(txn)

    @property
    def finalized(self) -> BlockRef:
        """The last final block."""
        return self.chain_metadata.finalized

    def header(self, block: bytes) -> Header | None:
        """Return the header of a block, or None."""
        with self.database.read() as txn:
            return self._blocks.header(txn, block)

    def body(self, block: bytes) -> list[bytes] | None:
        """Return the extrinsics, each with its length prefix; None if the body is unknown or pruned."""
        with self.database.read() as txn:
            return self._blocks.body(txn, block)

    def justifications(self, block: bytes) -> list[Justification]:
        """Return the justifications of a block."""
        with self.database.read() as txn:
            return self._blocks.justifications(txn, block)

    def public_justifications(self, block: bytes) -> list[Justification]:
        """Return the justifications that other nodes keep too, and expect in answers."""
        with self.database.read() as txn:
            return self._blocks.public_justifications(txn, block)

    def hash_at(self, number: int) -> bytes | None:
        """Return the hash at a number of the finalized chain."""
        with self.database.read() as txn:
            return self._blocks.hash_at(txn, number)

    @property
    def oldest_header(self) -> int:
        """The number from which on all headers are stored; 0, unless a later block's state was imported."""
        with self.database.read() as txn:
            return self._blocks.oldest_header(txn)

    def set_changes(self, after: int, limit: int) -> list[BlockRef]:
        """Return the first finalized blocks after number `after` that change the authority set.

        At most `limit` of them; all have justifications.
        """
        with self.database.read() as txn:
            return list(itertools.islice(self._blocks.set_changes(txn, after), limit))

    def unfinalized(self) -> list[tuple[Header, list[bytes]]]:
        """Return the unfinalized blocks, parents first.

        After a restart, those without `has_state` have to be executed and added again.
        """
        with self.database.read() as txn:
            return [
                (header, self._blocks.body(txn, block.hash) or [])
                for block, _ in self._blocks.unfinalized(txn)
                if (header := self._blocks.header(txn, block.hash)) is not None
            ]

    # States

    def state(self, block: bytes) -> AbstractContextManager[StateView]:
        """Return a context manager with the state at a block.

        It must not be held across an await or a write. Raises UnknownBlock for a block that is unknown (or
        not executed), StateDiscarded for one whose state has been pruned or whose branch has lost.
        """
        return self._tables.state(block, self._tree)

    def has_state(self, block: bytes) -> bool:
        """Return whether the state of a block can be read."""
        tree = self._tree  # before the snapshot: an overlay that leaves the tree is in the next snapshot
        try:
            with self.database.read() as txn:
                self._tables.layer_stack(txn, block, tree)
        except LookupError:
            return False
        return True

    def hold(self, block: bytes) -> None:
        """Keep the state and the body of a block until `release`, within the bounds of `holds.py`."""
        base = 0
        if block not in self._holds:
            with self.database.read() as txn:
                numbers = self._blocks.number(txn, block), self._blocks.fork_of_kept(txn, block)
                finalized = self._metadata(txn).finalized.number
                base = min(finalized, *(number for number in numbers if number is not None))
        self._holds.hold(block, base)

    def release(self, block: bytes) -> None:
        """End one `hold`."""
        self._holds.release(block)

    def discarded_holds(self, step: FinalityStep) -> tuple[bytes, ...]:
        """Return the held blocks whose states this step of finality discarded."""
        oldest, lost_blocks = self.chain_metadata.oldest_state, set(step.dropped) - step.kept
        return tuple(
            block for block, base in self._holds.now().items() if base < oldest or block in lost_blocks
        )

    def overlays(self) -> list[Overlay]:
        """Return all overlays, parents first, for a new executor.

        Those of lost blocks that are held are included.
        """
        return [entry.overlay for entry in self._tree.oldest_first()]

    # Writing

    def initialise(
        self, header: Header, top: Mapping[bytes, bytes] | None,
        children: Mapping[bytes, Mapping[bytes, bytes]] | None = None, *, version: int = 1,
    ) -> None:  # fmt: skip
        """Begin the chain with a final block and its state.

        `top` and `children`: the state; None if it is unknown. `version`: the state version of its trie.
        Raises StoreError if the store has a chain already or the state has another root.
        """
        changes = None if top is None else initial_state(top, children or {}, version)
        if changes is not None and changes.root != header.state_root:
            raise StoreError(
                f"the state of block {header.number} has the root 0x{changes.root.hex()}, but its header has "
                f"0x{header.state_root.hex()}: get the chain spec again; it is damaged, or its state version "
                f"is not {version}"
            )
        with self._changing:
            self.database.write(lambda txn: self._initialise(txn, header, changes))

    def _initialise(self, txn: Transaction, header: Header, changes: Changes | None) -> None:
        if self._blocks.metadata(txn) is not None:
            raise StoreError(f"the database in {self.database.path} holds a chain already")
        oldest_state = header.number
        if changes is None:
            oldest_state += 1
        else:
            self._tables.storage.fill(txn, row_changes(changes.storage))
            self._tables.nodes.fill(txn, row_changes(changes.nodes))
        self._blocks.put_genesis(txn, header)
        ref = BlockRef(header.hash, header.number)
        self._blocks.put_metadata(txn, ChainMetadata(ref, oldest_state, header.number, 0, NO_BLOCK))

    def import_state(self) -> StateImport:
        """Begin to replace the present chain with a downloaded state."""
        return StateImport(self._tables, self._clear_memory)

    def _clear_memory(self) -> None:
        with self._changing:
            self._tree, self._kept = OverlayTree(), frozenset()

    def add_block(
        self, header: Header, body: Sequence[bytes], changes: Changes,
        justifications: Sequence[Justification] = (),
    ) -> Overlay:  # fmt: skip
        """Add an unfinalized block with its changes; do nothing if its state is stored already.

        Raises UnknownBlock(parent) if the parent's state is missing, ValueError for a wrong number or root.
        """
        if changes.root != header.state_root:
            raise ValueError(f"block {header.number} results in another state root than its header names")
        block = header.hash
        entry = OverlayEntry(Overlay(block, header.parent_hash, header.number, changes))
        with self._changing:
            if not self.has_state(block):
                self._add(header, body, entry, justifications)
        return entry.overlay

    def _add(
        self, header: Header, body: Sequence[bytes], entry: OverlayEntry,
        justifications: Sequence[Justification],
    ) -> None:  # fmt: skip
        tree = self._tree.adding(entry)
        spilled = tree.excess(self._max_blocks, self._max_bytes, exempt=self._kept)

        def work(txn: Transaction) -> None:
            self._require_parent(txn, header)
            self._blocks.put_block(txn, header, body)
            self._blocks.put_justifications(txn, entry.hash, justifications)
            self._spill(txn, spilled)
            self._tables.spill.collect_garbage(txn, COLLECT_AT_ONCE)

        self.database.write(work)
        self._tree = tree.without(old.hash for old in spilled)

    def _require_parent(self, txn: Transaction, header: Header) -> None:
        parent = header.parent_hash
        is_live = self._tree.get(parent) is not None and parent not in self._kept
        if not is_live and not self._tables.has_state(txn, parent):
            raise UnknownBlock(parent)
        if self._blocks.number(txn, parent) != header.number - 1:
            raise ValueError(f"block {header.number} does not follow its parent 0x{parent.hex()} by number")

    def _spill(self, txn: Transaction, entries: Sequence[OverlayEntry]) -> None:
        for entry in entries:
            self._tables.spill.put(txn, entry)
        if entries:
            metadata = self._metadata(txn)
            self._blocks.put_metadata(txn, replace(metadata, generation=metadata.generation + 1))

    def finalize(self, block: bytes, justification: Justification | None = None) -> FinalityStep:
        """Make a block and all below it final, in one transaction.

        For a final block only the justification is added. Raises UnknownBlock if one of the blocks is unknown
        or not executed, StateDiscarded if the branch has lost.
        """
        with self._changing:
            tree, holds = self._tree, self._holds.now()
            step = self.database.write(
                lambda txn: self._finality.finalize(
                    txn, self._metadata(txn), tree, block, justification, holds
                )
            )
            lost_blocks = {*step.dropped, *self._kept} - step.kept
            self._tree, self._kept = tree.without((*step.hashes, *lost_blocks)), step.kept
        return step

    def copy(self, path: Path) -> StoreCopy:
        """Copy the store into an empty directory."""
        with self._changing:
            self.database.copy(path)
            return StoreCopy(path, self._tree, self._kept)

    def restore(self, copy: StoreCopy) -> list[Overlay]:
        """Replace all content with that of a copy; return the overlays, for readers."""

        def work(txn: Transaction) -> None:
            generation = self._metadata(txn).generation
            self.database.replace(txn, copy.path)
            self._blocks.put_metadata(txn, replace(self._metadata(txn), generation=generation + 1))

        with self._changing:
            self.database.write(work)
            self._tree, self._kept = copy.tree, copy.kept
        return self.overlays()

    def _metadata(self, txn: Transaction) -> ChainMetadata:
        metadata = self._blocks.metadata(txn)
        if metadata is None:
            raise StoreError(f"the database in {self.database.path} holds no chain yet")
        return metadata

    def forget_dead_readers(self) -> int:
        """Free what a killed reading process keeps in use; call it after a reading process has ended.

        Return the number of freed reader slots.
        """
        return self.database.forget_dead_readers()
