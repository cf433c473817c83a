"""What does finality do to the database, and what is forgotten then?

One transaction for a run of blocks: their changes are folded into the tables, oldest first, with undo rows
for those that the window of states will still reach; blocks beside the run lose their states and become
stale; what has left the windows is deleted.

Headers and number → hash stay, and of the justifications those of blocks that change the authority set and
the newest: a warp proof needs them. An archive forgets nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cfnode.core.block import BlockRef
from cfnode.store.blocks import NO_BLOCK, ChainMetadata, Justification
from cfnode.store.errors import StateDiscarded, UnknownBlock
from cfnode.store.holds import MAX_BEHIND, MAX_KEPT, MAX_KEPT_BYTES
from cfnode.store.overlays import OverlayEntry, OverlayTree
from cfnode.store.rows import RowChange, row_changes
from cfnode.store.state import Tables

if TYPE_CHECKING:
    from cfnode.store.database import Transaction

PRUNE_AT_ONCE = 1_024
"""Blocks whose past is deleted in one transaction, when a store that kept more is opened with a window."""

JUSTIFICATION_PERIOD = 512
"""Blocks of which other nodes keep one justification: GRANDPA's `justification_generation_period` of the
official node. They call others that they are sent unnecessary."""

COLLECT_AT_ONCE = 4
"""Discarded blocks of the shelf whose rows are deleted in one transaction."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """How many finalized blocks before the finalized one keep their bodies and states; None keeps all."""

    blocks: int | None = 128
    state: int | None = 128


WINDOW = Pruning()
ARCHIVE = Pruning(None, None)


@dataclass(frozen=True, slots=True)
class Finalized:
    """What a finality step did: blocks that became final, oldest first, and blocks that can be so no more.

    `kept`: all lost blocks, of this step and of earlier ones, whose overlays stay because they are held.
    """

    hashes: tuple[bytes, ...]
    dropped: tuple[bytes, ...]
    kept: frozenset[bytes] = frozenset()


class Finality:
    """The part of the writer that makes blocks final; every method works in the caller's transaction."""

    def __init__(self, tables: Tables, pruning: Pruning) -> None:
        self._tables = tables
        self._blocks = tables.blocks
        self._pruning = pruning

    def finalize(
        self, txn: Transaction, facts: ChainMetadata, tree: OverlayTree, block: bytes,
        justification: Justification | None, held: Mapping[bytes, int],
    ) -> Finalized:  # fmt: skip
        """`held`: the blocks that are held, each with its base (`holds.py`)."""
        run = self._run_to(txn, block, facts)
        if justification is not None:
            self._justify(txn, facts, block, justification)
        target = run[-1] if run else facts.finalized
        after = replace(
            facts,
            finalized=target,
            oldest_state=_advanced(facts.oldest_state, facts, target, self._pruning.state, held),
            oldest_body=_advanced(facts.oldest_body, facts, target, self._pruning.blocks, held),
            generation=facts.generation + 1,
            newest_justified=self._newest_justified(txn, facts, [*run, facts.finalized]),
        )
        self._fold(txn, facts, after, tree, run)
        dropped = self._drop(txn, facts, run)
        kept = self._keep(txn, after, tree, dropped, held)
        self._prune(txn, facts, after)
        self._tables.shelf.collect(txn, COLLECT_AT_ONCE)
        self._blocks.put_facts(txn, after)
        return Finalized(tuple(ref.hash for ref in run), tuple(ref.hash for ref in dropped), kept)

    def _run_to(self, txn: Transaction, block: bytes, facts: ChainMetadata) -> list[BlockRef]:
        """The blocks from the finalized one (exclusive) to `block`, oldest first; none if it is final."""
        run = []
        number = self._blocks.number(txn, block)
        if number is None:
            raise UnknownBlock(block)
        if self._blocks.hash_at(txn, number) == block:
            return []
        current = block
        while current != facts.finalized.hash:
            if number <= facts.finalized.number:
                raise StateDiscarded(block)
            run.append(BlockRef(current, number))
            parent = self._blocks.parent(txn, current)
            assert parent is not None
            current, number = parent, number - 1
        return run[::-1]

    def _justify(
        self, txn: Transaction, facts: ChainMetadata, block: bytes, justification: Justification
    ) -> None:
        self._blocks.put_justifications(txn, block, [justification])
        number = self._blocks.number(txn, block)
        before = self._blocks.number(txn, facts.newest_justified)
        if number is not None and _begins_period(before or facts.finalized.number, number):
            self._blocks.mark_periodic(txn, block)
        if number is not None and number < facts.oldest_body:  # pruning has passed it and will not come again
            self._blocks.prune_justification(txn, BlockRef(block, number))

    def _newest_justified(self, txn: Transaction, facts: ChainMetadata, run: Sequence[BlockRef]) -> bytes:
        justified = [ref for ref in run if self._blocks.justifications(txn, ref.hash)]
        return max(justified, key=lambda ref: ref.number).hash if justified else facts.newest_justified

    def _fold(
        self,
        txn: Transaction,
        before: ChainMetadata,
        after: ChainMetadata,
        tree: OverlayTree,
        run: Sequence[BlockRef],
    ) -> None:
        """Makes the tables those of the end of the run. Blocks that no state will be read of any more are
        folded together as far as they are on the shelf: it knows what each branch has come to."""
        unread = [ref for ref in run if ref.number <= after.oldest_state]
        together = self._fold_shelved(txn, before, tree, unread)
        for ref in run[together:]:
            storage, nodes = self._changes_of(txn, tree, ref.hash)
            keep_undo = ref.number > after.oldest_state
            self._tables.storage.apply(txn, ref.number, storage.items(), keep_undo=keep_undo)
            self._tables.nodes.apply(txn, ref.number, nodes.items(), keep_undo=keep_undo)
        for ref in run:
            self._blocks.make_final(txn, ref)
            self._tables.shelf.discard(txn, ref.hash)

    def _fold_shelved(
        self, txn: Transaction, before: ChainMetadata, tree: OverlayTree, run: Sequence[BlockRef]
    ) -> int:
        """Folds the part of a run that is on the shelf, without undo rows; the number of its blocks."""
        shelved = list(itertools.takewhile(lambda ref: tree.get(ref.hash) is None, run))
        if not shelved:
            return 0
        places = list(self._tables.places(txn, before, shelved[-1].hash))
        if not places:
            raise UnknownBlock(shelved[-1].hash)
        for place in reversed(places):
            for table, shelf in self._tables.with_shelves:
                changes = shelf.summary(txn, place)
                table.apply(txn, place.number, changes, keep_undo=False)
        return len(shelved)

    def _changes_of(
        self, txn: Transaction, tree: OverlayTree, block: bytes
    ) -> tuple[dict[bytes, RowChange], dict[bytes, RowChange]]:
        entry = tree.get(block)
        if entry is not None:
            return row_changes(entry.overlay.changes.storage), row_changes(entry.overlay.changes.nodes)
        place = self._tables.shelf.place(txn, block)
        if place is None:
            raise UnknownBlock(block)
        return self._tables.shelf.changes(txn, place)

    def _drop(self, txn: Transaction, facts: ChainMetadata, run: Sequence[BlockRef]) -> list[BlockRef]:
        """Makes stale what does not descend from the end of the run.

        Whatever loses has a losing ancestor beside the run; where there is none, nothing above is looked at.
        """
        dropped: list[BlockRef] = []
        if not run:
            return dropped
        lost = {facts.finalized.hash, *(ref.hash for ref in run[:-1])}
        for block, parent in self._blocks.unfinalized(txn):
            if block.number > run[-1].number and not dropped:
                break
            if parent in lost:
                lost.add(block.hash)
                dropped.append(block)
        for block in dropped:
            self._blocks.make_stale(txn, block, run[-1].number)
            self._tables.shelf.discard(txn, block.hash)
        return dropped

    def _keep(
        self, txn: Transaction, after: ChainMetadata, tree: OverlayTree, dropped: Sequence[BlockRef],
        held: Mapping[bytes, int],
    ) -> frozenset[bytes]:  # fmt: skip
        """Keeps the overlays of lost blocks that are held, and of those below them that have lost too; what
        was kept before comes first, then what is held for longest."""
        before = self._blocks.kept(txn)
        lost = before.keys() | {ref.hash for ref in dropped}
        kept: dict[bytes, int] = {}
        size = 0
        for block in sorted(filter(lost.__contains__, held), key=lambda block: block not in before):
            branch, fork = self._lost_branch(txn, tree, block, lost)
            added = {entry.hash: entry.size for entry in branch if entry.hash not in kept}
            has_room = len(kept) + len(added) <= MAX_KEPT and size + sum(added.values()) <= MAX_KEPT_BYTES
            if fork >= after.oldest_state and has_room:
                kept |= dict.fromkeys(added, fork)
                size += sum(added.values())
        if before or kept:
            self._blocks.keep(txn, kept)
        return frozenset(kept)

    def _lost_branch(
        self, txn: Transaction, tree: OverlayTree, block: bytes, lost: Set[bytes]
    ) -> tuple[list[OverlayEntry], int]:
        """The overlays from a lost block down, and the number of the final block that they grew from; -1 if
        one of them is not in memory."""
        branch: list[OverlayEntry] = []
        while block in lost:
            entry = tree.get(block)
            if entry is None:
                return [], -1
            branch.append(entry)
            block = entry.parent
        number = self._blocks.number(txn, block)
        return branch, -1 if number is None else number

    def _prune(self, txn: Transaction, before: ChainMetadata, after: ChainMetadata) -> None:
        for number in range(before.oldest_state + 1, min(after.oldest_state, before.finalized.number) + 1):
            self._tables.storage.prune(txn, number)
            self._tables.nodes.prune(txn, number)
        for number in range(before.oldest_body, after.oldest_body):
            self._blocks.prune(txn, number, after.newest_justified)
        self._forget_older_justification(txn, before, after)

    def _forget_older_justification(
        self, txn: Transaction, before: ChainMetadata, after: ChainMetadata
    ) -> None:
        if before.newest_justified in (after.newest_justified, NO_BLOCK):
            return
        number = self._blocks.number(txn, before.newest_justified)
        if number is not None and number < after.oldest_body:
            self._blocks.prune_justification(txn, BlockRef(before.newest_justified, number))


def _begins_period(before: int, number: int) -> bool:
    """Whether a block that becomes final after block `before` is the first of its period; Substrate also
    takes the first after genesis.
    """
    if number <= before:
        return False
    return before == 0 or before // JUSTIFICATION_PERIOD != number // JUSTIFICATION_PERIOD


def _advanced(
    oldest: int, before: ChainMetadata, target: BlockRef, window: int | None, held: Mapping[bytes, int]
) -> int:
    """Where a window begins after finality has come to `target`, and what is held has kept it back."""
    wanted = _wanted(oldest, before, target, window)
    kept_back = max(min(held.values(), default=wanted), wanted - MAX_BEHIND)
    return max(oldest, min(wanted, kept_back))


def _wanted(oldest: int, before: ChainMetadata, target: BlockRef, window: int | None) -> int:
    """Where it would begin if nothing was held."""
    if window is None or target.number - window <= oldest:
        return oldest
    if before.finalized.number - oldest > max(window, PRUNE_AT_ONCE):
        return min(target.number - window, oldest + PRUNE_AT_ONCE)
    return target.number - window
