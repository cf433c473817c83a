"""How does a chain get into the database, and what stays of it?

The store is the only writer. A block comes in unfinalized: header and body are written, its state is kept as
an overlay (or, when there are too many, on the shelf). Finality folds a run of blocks into the tables, drops
the branches that have lost, and forgets what has left the windows, all in one transaction: a process killed
at any moment leaves the state before or after the run.

Its methods block (they write to disk) and may be called from worker threads; one writes at a time.
"""

from __future__ import annotations

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
from cfnode.store.database import INITIAL_MAP, Database
from cfnode.store.errors import StoreError, UnknownBlock
from cfnode.store.finality import COLLECT_AT_ONCE, WINDOW, Finality, Finalized, Pruning
from cfnode.store.genesis import initial_state
from cfnode.store.holds import Holds
from cfnode.store.overlays import MAX_BLOCKS, MAX_BYTES, Overlay, OverlayEntry, OverlayTree
from cfnode.store.rows import row_changes
from cfnode.store.state import StateView, Tables
from cfnode.store.state_import import StateImport

if TYPE_CHECKING:
    from cfnode.store.database import Transaction


@dataclass(frozen=True, slots=True)
class StoreCopy:
    """All that a store held at a moment: its database, copied into a directory, and its overlays."""

    path: Path
    tree: OverlayTree
    kept: frozenset[bytes]


class Store:
    """The chain on disk, in the process that writes it."""

    def __init__(
        self, database: Database, pruning: Pruning, *,
        most_blocks: int = MAX_BLOCKS, most_bytes: int = MAX_BYTES,
    ) -> None:  # fmt: skip
        self.database = database
        self.pruning = pruning
        self._most_blocks = most_blocks
        self._most_bytes = most_bytes
        self._tables = Tables(database)
        self._blocks = self._tables.blocks
        self._finality = Finality(self._tables, pruning)
        self._tree = OverlayTree()
        self._holds = Holds()
        self._kept: frozenset[bytes] = frozenset()
        self._changing = threading.Lock()

    @classmethod
    def open(
        cls, path: Path, *, pruning: Pruning = WINDOW, sync: bool = True, map_size: int = INITIAL_MAP,
    ) -> Store:  # fmt: skip
        """Opens or creates the database in a directory. Without `sync` a power cut may lose it (a killed
        process does not). Raises StoreError."""
        return cls(Database(path, sync=sync, map_size=map_size), pruning)

    def close(self) -> None:
        self.database.close()

    # What is known

    @property
    def genesis_hash(self) -> bytes | None:
        """The block the store began with; None before `initialise`."""
        with self.database.read() as txn:
            return self._blocks.genesis_hash(txn)

    @property
    def chain_metadata(self) -> ChainMetadata:
        with self.database.read() as txn:
            return self._facts(txn)

    @property
    def finalized(self) -> BlockRef:
        return self.chain_metadata.finalized

    def header(self, block: bytes) -> Header | None:
        with self.database.read() as txn:
            return self._blocks.header(txn, block)

    def body(self, block: bytes) -> list[bytes] | None:
        """The extrinsics, each with its length prefix; None if it is unknown or pruned."""
        with self.database.read() as txn:
            return self._blocks.body(txn, block)

    def justifications(self, block: bytes) -> list[Justification]:
        with self.database.read() as txn:
            return self._blocks.justifications(txn, block)

    def public_justifications(self, block: bytes) -> list[Justification]:
        """Those of its justifications that other nodes keep as well, and expect to be given."""
        with self.database.read() as txn:
            return self._blocks.public_justifications(txn, block)

    def hash_at(self, number: int) -> bytes | None:
        """The hash at a number of the finalized chain."""
        with self.database.read() as txn:
            return self._blocks.hash_at(txn, number)

    @property
    def oldest_header(self) -> int:
        """The number from which on all headers are there; 0, unless a later block was adopted."""
        with self.database.read() as txn:
            return self._blocks.beginning(txn)

    def set_changes(self, after: int, most: int) -> list[BlockRef]:
        """The first finalized blocks after `after` that change the authority set; they are justified."""
        with self.database.read() as txn:
            changes = self._blocks.set_changes(txn, after)
            return [block for block, _ in zip(changes, range(most), strict=False)]

    def unfinalized(self) -> list[tuple[Header, list[bytes]]]:
        """The unfinalized blocks, parents first. After a restart those without `has_state` have to be
        executed and added again."""
        with self.database.read() as txn:
            return [
                (header, self._blocks.body(txn, block.hash) or [])
                for block, _ in self._blocks.unfinalized(txn)
                if (header := self._blocks.header(txn, block.hash)) is not None
            ]

    # States

    def state(self, block: bytes) -> AbstractContextManager[StateView]:
        """The state at a block, as a context manager that must not be held across an await or a write.

        Raises UnknownBlock for a block never seen (or not executed), StateDiscarded for one whose state has
        been pruned or whose branch has lost.
        """
        return self._tables.state(block, self._tree)

    def has_state(self, block: bytes) -> bool:
        tree = self._tree  # before the snapshot: what leaves the tree is in the next snapshot
        try:
            with self.database.read() as txn:
                self._tables.way(txn, block, tree)
        except LookupError:
            return False
        return True

    def hold(self, block: bytes) -> None:
        """Keep the state and the body of a block, as far as there is room (`holds.py`), until `release`."""
        base = 0
        if block not in self._holds:
            with self.database.read() as txn:
                numbers = self._blocks.number(txn, block), self._blocks.fork_of_kept(txn, block)
                base = min(self._facts(txn).finalized.number, *(each for each in numbers if each is not None))
        self._holds.hold(block, base)

    def release(self, block: bytes) -> None:
        """One holder less."""
        self._holds.release(block)

    def discarded_holds(self, step: Finalized) -> tuple[bytes, ...]:
        """The blocks that somebody holds although this step of finality discarded their states."""
        oldest, lost = self.chain_metadata.oldest_state, set(step.dropped) - step.kept
        return tuple(block for block, base in self._holds.now().items() if base < oldest or block in lost)

    def overlays(self) -> list[Overlay]:
        """All overlays, parents first, of lost blocks that are held too: what a new executor is given."""
        return [entry.overlay for entry in self._tree.oldest_first()]

    # Writing

    def initialise(
        self, header: Header, top: Mapping[bytes, bytes] | None,
        children: Mapping[bytes, Mapping[bytes, bytes]] | None = None, *, version: int = 1,
    ) -> None:  # fmt: skip
        """Begins the chain with a final block and its state (None: the state is not known), trie nodes by
        `version`. Raises StoreError if there is a chain already or the state has another root."""
        changes = None if top is None else initial_state(top, children or {}, version)
        if changes is not None and changes.root != header.state_root:
            raise StoreError(
                f"the state of block {header.number} has the root 0x{changes.root.hex()}, its header says 0x"
                f"{header.state_root.hex()}: the chain spec is damaged, or its state version is not {version}"
            )
        with self._changing:
            self.database.write(lambda txn: self._initialise(txn, header, changes))

    def _initialise(self, txn: Transaction, header: Header, changes: Changes | None) -> None:
        if self._blocks.facts(txn) is not None:
            raise StoreError(f"the database in {self.database.path} holds a chain already")
        oldest_state = header.number
        if changes is None:
            oldest_state += 1
        else:
            self._tables.storage.fill(txn, row_changes(changes.storage))
            self._tables.nodes.fill(txn, row_changes(changes.nodes))
        self._blocks.put_genesis(txn, header)
        ref = BlockRef(header.hash, header.number)
        self._blocks.put_facts(txn, ChainMetadata(ref, oldest_state, header.number, 0, NO_BLOCK))

    def import_state(self) -> StateImport:
        """The way in for a state that was downloaded: in place of the chain there is."""
        return StateImport(self._tables, self._forget)

    def _forget(self) -> None:
        with self._changing:
            self._tree, self._kept = OverlayTree(), frozenset()

    def add_block(
        self, header: Header, body: Sequence[bytes], changes: Changes,
        justifications: Sequence[Justification] = (),
    ) -> Overlay:  # fmt: skip
        """A new unfinalized block and what it changed. Adding a known one again changes nothing.

        Raises UnknownBlock(parent) if the state below is not here, ValueError if number or root is wrong.
        """
        if changes.root != header.state_root:
            raise ValueError(f"block {header.number} leads to another state root than its header says")
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
        shelved = tree.excess(self._most_blocks, self._most_bytes, besides=self._kept)

        def work(txn: Transaction) -> None:
            self._require_parent(txn, header)
            self._blocks.put_block(txn, header, body)
            self._blocks.put_justifications(txn, entry.hash, justifications)
            self._shelve(txn, shelved)
            self._tables.shelf.collect(txn, COLLECT_AT_ONCE)

        self.database.write(work)
        self._tree = tree.without(old.hash for old in shelved)

    def _require_parent(self, txn: Transaction, header: Header) -> None:
        parent = header.parent_hash
        is_live = self._tree.get(parent) is not None and parent not in self._kept
        if not is_live and not self._tables.holds(txn, parent):
            raise UnknownBlock(parent)
        if self._blocks.number(txn, parent) != header.number - 1:
            raise ValueError(f"block {header.number} does not follow its parent 0x{parent.hex()} by number")

    def _shelve(self, txn: Transaction, entries: Sequence[OverlayEntry]) -> None:
        for entry in entries:
            self._tables.shelf.put(txn, entry)
        if entries:
            facts = self._facts(txn)
            self._blocks.put_facts(txn, replace(facts, generation=facts.generation + 1))

    def finalize(self, block: bytes, justification: Justification | None = None) -> Finalized:
        """Makes a block and all below it final, in one transaction.

        Raises UnknownBlock if a block on the way is not known or not executed, StateDiscarded if the block
        is on a branch that has lost. Doing it again only adds the justification.
        """
        with self._changing:
            tree, held = self._tree, self._holds.now()
            done = self.database.write(
                lambda txn: self._finality.finalize(txn, self._facts(txn), tree, block, justification, held)
            )
            lost = {*done.dropped, *self._kept} - done.kept
            self._tree, self._kept = tree.without((*done.hashes, *lost)), done.kept
        return done

    def copy(self, path: Path) -> StoreCopy:
        """Copies what there is into an empty directory."""
        with self._changing:
            self.database.copy(path)
            return StoreCopy(path, self._tree, self._kept)

    def restore(self, copy: StoreCopy) -> list[Overlay]:
        """Holds what a copy does, in place of all that there is; returns the overlays, for readers."""

        def work(txn: Transaction) -> None:
            generation = self._facts(txn).generation
            self.database.replace(txn, copy.path)
            self._blocks.put_facts(txn, replace(self._facts(txn), generation=generation + 1))

        with self._changing:
            self.database.write(work)
            self._tree, self._kept = copy.tree, copy.kept
        return self.overlays()

    def _facts(self, txn: Transaction) -> ChainMetadata:
        facts = self._blocks.facts(txn)
        if facts is None:
            raise StoreError(f"the database in {self.database.path} holds no chain yet")
        return facts

    def forget_dead_readers(self) -> int:
        """To be called after a reading process has ended: a killed one would pin the pages it saw."""
        return self.database.forget_dead_readers()
