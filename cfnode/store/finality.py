"""Finality in the database: folding of finalized blocks, dropping of lost ones, and pruning.

One transaction makes a run of blocks final: their changes are folded into the finalized tables, oldest first,
with undo rows for the states that the window still covers; blocks on other branches lose their states and
become stale; what has left the windows is deleted.

Headers and number → hash stay, and so do the newest justification and those of blocks that change the
authority set: a warp proof needs them. An archive deletes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cfnode.core.block import BlockRef
from cfnode.store.blocks import NO_BLOCK, ChainMetadata, Justification
from cfnode.store.errors import StateDiscarded, UnknownBlock
from cfnode.store.holds import MAX_HELD_BEFORE_WINDOW, MAX_HELD_LOST_BLOCKS, MAX_HELD_LOST_BYTES
from cfnode.store.overlays import OverlayEntry, OverlayTree
from cfnode.store.rows import RowChange, row_changes
from cfnode.store.state import Tables

if TYPE_CHECKING:
    from cfnode.store.database import Transaction

PRUNE_AT_ONCE = 1_024
"""Blocks that leave a window in one transaction at most, when a store that kept more is opened."""

JUSTIFICATION_PERIOD = 512
"""Blocks of which other nodes keep one justification: GRANDPA's `justification_generation_period`.

Other nodes report any further justification that they receive as unnecessary.
"""

COLLECT_AT_ONCE = 4
"""Discarded blocks whose spilled rows are deleted in one transaction."""


@dataclass(frozen=True, slots=True)
class Pruning:
    """The numbers of blocks before the finalized one that keep bodies and states; None keeps all."""

    blocks: int | None = 128
    state: int | None = 128


WINDOW = Pruning()
ARCHIVE = Pruning(None, None)


@dataclass(frozen=True, slots=True)
class FinalityStep:
    """A step of finality: blocks that became final, oldest first, and blocks that lost (`dropped`).

    `kept`: all lost blocks, of this step and of earlier ones, whose overlays stay because they are held.
    """

    hashes: tuple[bytes, ...]
    dropped: tuple[bytes, ...]
    kept: frozenset[bytes] = frozenset()


class Finality:
    """The part of the store that makes blocks final; every method works in the caller's transaction."""

    def __init__(self, tables: Tables, pruning: Pruning) -> None:
        self._tables = tables
        self._blocks = tables.blocks
        self._pruning = pruning

    def finalize(
        self, txn: Transaction, before: ChainMetadata, tree: OverlayTree, block: bytes,
        justification: Justification | None, held: Mapping[bytes, int],
    ) -> FinalityStep:  # fmt: skip
        """Make a block and all below it final.

        `held`: the held blocks, each with its base (`holds.py`). Raises UnknownBlock or StateDiscarded.
        """
        run = self._run_to(txn, block, before)
        if justification is not None:
            self._justify(txn, before, block, justification)
        target = run[-1] if run else before.finalized
        after = replace(
            before,
            finalized=target,
            oldest_state=_advanced(before.oldest_state, before, target, self._pruning.state, held),
            oldest_body=_advanced(before.oldest_body, before, target, self._pruning.blocks, held),
            generation=before.generation + 1,
            newest_justified=self._newest_justified(txn, before, [*run, before.finalized]),
        )
        self._fold(txn, before, after, tree, run)
        dropped = self._drop(txn, before, run)
        kept_blocks = self._keep(txn, after, tree, dropped, held)
        self._prune(txn, before, after)
        self._tables.spill.collect_garbage(txn, COLLECT_AT_ONCE)
        self._blocks.put_metadata(txn, after)
        return FinalityStep(tuple(ref.hash for ref in run), tuple(ref.hash for ref in dropped), kept_blocks)

    def _run_to(self, txn: Transaction, block: bytes, before: ChainMetadata) -> list[BlockRef]:
        """Return the blocks above the finalized one up to `block`, oldest first.

        The list is empty if the block is final already. Raises UnknownBlock or StateDiscarded.
        """
        run = []
        number = self._blocks.number(txn, block)
        if number is None:
            raise UnknownBlock(block)
        if self._blocks.hash_at(txn, number) == block:
            return []
        current = block
        while current != before.finalized.hash:
            if number <= before.finalized.number:
                raise StateDiscarded(block)
            run.append(BlockRef(current, number))
            parent = self._blocks.parent(txn, current)
            assert parent is not None
            current, number = parent, number - 1
        return run[::-1]

    def _justify(
        self, txn: Transaction, before: ChainMetadata, block: bytes, justification: Justification
    ) -> None:
        self._blocks.put_justifications(txn, block, [justification])
        number = self._blocks.number(txn, block)
        justified = self._blocks.number(txn, before.newest_justified)
        if number is not None and _begins_period(justified or before.finalized.number, number):
            self._blocks.mark_periodic(txn, block)
        if number is not None and number < before.oldest_body:  # no later pruning would remove it
            self._blocks.prune_justification(txn, BlockRef(block, number))

    def _newest_justified(self, txn: Transaction, before: ChainMetadata, run: Sequence[BlockRef]) -> bytes:
        justified = [ref for ref in run if self._blocks.justifications(txn, ref.hash)]
        return max(justified, key=lambda ref: ref.number).hash if justified else before.newest_justified

    def _fold(
        self,
        txn: Transaction,
        before: ChainMetadata,
        after: ChainMetadata,
        tree: OverlayTree,
        run: Sequence[BlockRef],
    ) -> None:
        """Bring the finalized tables to the end of the run.

        Blocks that leave the window at once are folded together as far as they are spilled, since a branch
        has its changes summed up.
        """
        unspilled = [ref for ref in run if ref.number <= after.oldest_state]
        folded = self._fold_spilled(txn, before, tree, unspilled)
        for ref in run[folded:]:
            storage, nodes = self._changes_of(txn, tree, ref.hash)
            keep_undo = ref.number > after.oldest_state
            self._tables.storage.apply(txn, ref.number, storage.items(), keep_undo=keep_undo)
            self._tables.nodes.apply(txn, ref.number, nodes.items(), keep_undo=keep_undo)
        for ref in run:
            self._blocks.make_final(txn, ref)
            self._tables.spill.discard(txn, ref.hash)

    def _fold_spilled(
        self, txn: Transaction, before: ChainMetadata, tree: OverlayTree, run: Sequence[BlockRef]
    ) -> int:
        """Fold the spilled blocks at the start of a run, without undo rows; return their number."""
        spilled = list(itertools.takewhile(lambda ref: tree.get(ref.hash) is None, run))
        if not spilled:
            return 0
        branches = list(self._tables.branches(txn, before, spilled[-1].hash))
        if not branches:
            raise UnknownBlock(spilled[-1].hash)
        for branch in reversed(branches):
            for table, spill in self._tables.with_spill:
                changes = spill.summary(txn, branch)
                table.apply(txn, branch.number, changes, keep_undo=False)
        return len(spilled)

    def _changes_of(
        self, txn: Transaction, tree: OverlayTree, block: bytes
    ) -> tuple[dict[bytes, RowChange], dict[bytes, RowChange]]:
        entry = tree.get(block)
        if entry is not None:
            return row_changes(entry.overlay.changes.storage), row_changes(entry.overlay.changes.nodes)
        branch = self._tables.spill.branch_of(txn, block)
        if branch is None:
            raise UnknownBlock(block)
        return self._tables.spill.changes(txn, branch)

    def _drop(self, txn: Transaction, before: ChainMetadata, run: Sequence[BlockRef]) -> list[BlockRef]:
        """Make the blocks stale that do not descend from the end of the run; return them.

        Each of them has a losing ancestor no higher than the run's end; if there is none, no block above is
        read.
        """
        dropped_blocks: list[BlockRef] = []
        if not run:
            return dropped_blocks
        lost_hashes = {before.finalized.hash, *(ref.hash for ref in run[:-1])}
        for block, parent in self._blocks.unfinalized(txn):
            if block.number > run[-1].number and not dropped_blocks:
                break
            if parent in lost_hashes:
                lost_hashes.add(block.hash)
                dropped_blocks.append(block)
        for block in dropped_blocks:
            self._blocks.make_stale(txn, block, run[-1].number)
            self._tables.spill.discard(txn, block.hash)
        return dropped_blocks

    def _keep(
        self, txn: Transaction, after: ChainMetadata, tree: OverlayTree, dropped: Sequence[BlockRef],
        held: Mapping[bytes, int],
    ) -> frozenset[bytes]:  # fmt: skip
        """Keep the overlays of held blocks that have lost, and of the lost blocks below them.

        Return the hashes of all these blocks. Blocks kept before come first, then the blocks that were held
        for longest.
        """
        before = self._blocks.kept(txn)
        lost_hashes = before.keys() | {ref.hash for ref in dropped}
        kept_forks: dict[bytes, int] = {}
        size = 0
        for block in sorted(filter(lost_hashes.__contains__, held), key=lambda block: block not in before):
            branch, fork = self._lost_branch(txn, tree, block, lost_hashes)
            branch_sizes = {entry.hash: entry.size for entry in branch if entry.hash not in kept_forks}
            has_room = (
                len(kept_forks) + len(branch_sizes) <= MAX_HELD_LOST_BLOCKS
                and size + sum(branch_sizes.values()) <= MAX_HELD_LOST_BYTES
            )
            if fork >= after.oldest_state and has_room:
                kept_forks |= dict.fromkeys(branch_sizes, fork)
                size += sum(branch_sizes.values())
        if before or kept_forks:
            self._blocks.keep(txn, kept_forks)
        return frozenset(kept_forks)

    def _lost_branch(
        self, txn: Transaction, tree: OverlayTree, block: bytes, lost: Set[bytes]
    ) -> tuple[list[OverlayEntry], int]:
        """Return the overlays from a lost block down, and the number of the final block below them.

        The number is -1 if one of the overlays is not in memory.
        """
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
    """Return whether a block that becomes final after block `before` is the first of its period.

    As in Substrate, the first after genesis counts too.
    """
    if number <= before:
        return False
    return before == 0 or before // JUSTIFICATION_PERIOD != number // JUSTIFICATION_PERIOD


def _advanced(
    oldest: int, before: ChainMetadata, target: BlockRef, window: int | None, held: Mapping[bytes, int]
) -> int:
    """Return the first block of a window once `target` is final.

    Held blocks keep it back, up to `MAX_HELD_BEFORE_WINDOW`.
    """
    wanted_oldest = _without_holds(oldest, before, target, window)
    kept_back = max(min(held.values(), default=wanted_oldest), wanted_oldest - MAX_HELD_BEFORE_WINDOW)
    return max(oldest, min(wanted_oldest, kept_back))


def _without_holds(oldest: int, before: ChainMetadata, target: BlockRef, window: int | None) -> int:
    """Return the first block of the window as if no block was held."""
    if window is None or target.number - window <= oldest:
        return oldest
    if before.finalized.number - oldest > max(window, PRUNE_AT_ONCE):
        return min(target.number - window, oldest + PRUNE_AT_ONCE)
    return target.number - window
