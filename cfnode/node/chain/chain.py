"""The chain: import of blocks, fork choice, and finality.

A block is added only when its parent is known, its slot is later than the parent's and not in the future,
its seal is by the author of the slot (Aura), and executing it on the parent's state gives its state root
(Polkadot spec, "Block execution"). The longest chain is the best. A GRANDPA justification by the present
authorities makes a block and its ancestors final, but never in one step past a block that changes the
authorities.

Only a verdict of the runtime makes a block bad. After a local fault (the executor died, the disk is full) the
block is not added, and may be imported again (`local_faults.py`).

One lock orders all changes; reading needs none (`chain/view.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import trio

from cfnode.core.aura import AuraError, verify_seal
from cfnode.core.block import BlockRef
from cfnode.core.grandpa import ENGINE, AuthoritySet, CommitMessage, EncodedJustification
from cfnode.core.header import Header
from cfnode.core.state import Changes
from cfnode.node.chain import errors as refused
from cfnode.node.chain.authority_changes import AuthorityChanges
from cfnode.node.chain.events import BestChanged, BlocksFinalized, ChainReset, Imported
from cfnode.node.chain.execution_ahead import ExecutionAhead, NextBlock
from cfnode.node.chain.justifications import verified, verify_path
from cfnode.node.chain.local_faults import retry_import, stored
from cfnode.node.chain.slots import check_digest, check_time
from cfnode.node.chain.states import RemoteState
from cfnode.node.chain.tree import BlockTree
from cfnode.node.chain.view import ChainView
from cfnode.runtime.calls import LocalFault, Verdict
from cfnode.runtime.executor import Executor
from cfnode.store import StateImport, Store, StoreCopy

log = logging.getLogger("cfnode.sync")


@dataclass(frozen=True, slots=True)
class ChainCopy:
    """A copy of the whole chain at one moment; it can be used for one `NodeChain.restore`."""

    store: StoreCopy
    tree: BlockTree
    changes: AuthorityChanges


class NodeChain(ChainView):
    """The chain of one node, with the operations that change it. Open it with `NodeChain.open`.

    `slot_now` returns the present slot; the block of another node may be one slot later.
    """

    def __init__(self, store: Store, executor: Executor, slot_now: Callable[[], int]) -> None:
        super().__init__(store, executor)
        self.slot_now = slot_now
        self._executor = executor
        self._ahead = ExecutionAhead(executor, self.queries)
        self._changing = trio.Lock()
        self._expected: frozenset[bytes] = frozenset()

    @classmethod
    async def open(cls, store: Store, executor: Executor, slot_now: Callable[[], int]) -> NodeChain:
        """Return the chain in the store; execute blocks again that were not final yet and have no state."""
        chain = cls(store, executor, slot_now)
        for header, body in store.unfinalized():
            await chain._restore(header, body)
        return chain

    async def import_block(
        self, header: Header, body: Sequence[bytes], then: NextBlock | None = None
    ) -> bool:
        """Verify, execute and add a block of another node; return False if it was known.

        `then`: a child to be imported next; it is executed while this block is written. Raise ImportRefused,
        and LocalFault if this node could not verify the block.
        """
        async with self._changing:
            if header.hash in self._tree:
                return False
            with self.faults.judging(BlockRef(header.hash, header.number)):
                started = perf_counter()
                await self._check(header)
                changes = await self._execute(header, list(body))
                await self._add(header, list(body), changes, then)
                self.on_import_time(perf_counter() - started)
        return True

    async def import_built(self, header: Header, body: Sequence[bytes], changes: Changes) -> None:
        """Add a block that this node has just built and sealed. `changes`: the changes of building it.

        Raise ImportRefused and LocalFault.
        """
        async with self._changing:
            if header.hash not in self._tree:
                self._check_parent(header)
                await self._add(header, list(body), changes)

    async def expect(self, path: Sequence[Header], justification: bytes) -> None:
        """Finalize the blocks of a path as they are imported: the last one is justified.

        `path`: consecutive headers, the first of them above our tree or in it. Does nothing for a final path.
        Raise FinalityRefused and LocalFault.
        """
        async with self._changing:
            if path[-1].number <= self.finalized.number:
                return
            if not any(header.parent_hash in self._tree for header in path):
                raise refused.NotInTree(path[0].hash)
            await trio.to_thread.run_sync(
                verify_path, path, justification, await self.voters(), abandon_on_cancel=True
            )
            self._expected = frozenset(header.hash for header in path)

    def is_expected(self, block_hash: bytes) -> bool:
        """Return whether the block can be finalized at its import without a justification of its own."""
        return block_hash in self._expected

    async def finalize(self, block_hash: bytes, justification: bytes | EncodedJustification | None) -> None:
        """Make a block and its ancestors final. Raise FinalityRefused and LocalFault.

        Does nothing if the block is the last final one. Only a block that `is_expected` needs no
        justification.
        """
        async with self._changing:
            if block_hash != self.finalized.hash:
                await self._finalize(block_hash, justification)

    async def set_anchor(self, remote: RemoteState, justification: bytes | None) -> None:
        """Continue from a proven block whose state is still remote; publish it as best and final."""
        async with self._changing:
            self.states.remote = remote
            self._reset_to(remote.block, justification)

    async def import_state(
        self,
        state_import: StateImport,
        header: Header,
        body: Sequence[bytes],
        justifications: Sequence[tuple[bytes, bytes]],
    ) -> None:
        """Continue from a proven block whose state was downloaded; publish it as best and final.

        It is not published again if `set_anchor` has published it.
        """
        async with self._changing:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(state_import.finish, header, body, justifications)
            self.states.remote = None
            self._reset_to(BlockRef(header.hash, header.number), dict(justifications).get(ENGINE))

    async def copy(self, path: Path) -> ChainCopy:
        """Copy the chain; its database is copied into an empty directory."""
        async with self._changing:
            with trio.CancelScope(shield=True), stored():
                store = await trio.to_thread.run_sync(self._store.copy, path)
            return ChainCopy(store, self._tree.copy(), deepcopy(self.changes))

    async def restore(self, copy: ChainCopy) -> None:
        """Revert to a copy, even behind final blocks; publish `ChainReset`, then the present heads."""
        async with self._changing:
            with trio.CancelScope(shield=True), stored():
                for overlay in await trio.to_thread.run_sync(self._store.restore, copy.store):
                    await self._executor.overlay_added(overlay)
            self._tree, self.changes, self._voters = copy.tree, copy.changes, None
            self._expected = frozenset()
            self._events.publish(ChainReset())
            self._events.publish(BestChanged(self.best, (), ()))
            self._events.publish(BlocksFinalized((self.finalized,), (), None))

    def _reset_to(self, block: BlockRef, justification: bytes | None) -> None:
        if self.finalized == block:
            return
        self._tree = BlockTree(block)
        self._expected = frozenset()
        self.changes.clear()
        self._voters = None
        self._events.publish(BestChanged(block, (), (block.hash,)))
        self._events.publish(BlocksFinalized((block,), (), justification))

    # Steps of an import

    def _check_parent(self, header: Header) -> BlockRef:
        if header.parent_hash not in self._tree:
            raise refused.UnknownParent(header.parent_hash)
        parent = self._tree.block(header.parent_hash)
        if header.number != parent.number + 1:
            raise refused.WrongNumber(f"block #{header.number} names block #{parent.number} as its parent")
        return parent

    async def _check(self, header: Header) -> None:
        parent = self._check_parent(header)
        check_digest(header, self.slot_of(parent.hash))
        await self._check_seal(header, parent.hash)
        check_time(header, self.slot_now())

    async def _check_seal(self, header: Header, parent: bytes) -> None:
        with suppress(AuraError):
            verify_seal(header, await self.queries.aura_authorities(parent))
            return
        try:
            verify_seal(header, await self.queries.aura_authorities(parent, inherited=False))
        except AuraError as error:
            raise refused.BadSeal(str(error)) from error

    async def _execute(self, header: Header, body: list[bytes]) -> Changes:
        try:
            return await self._ahead.execute(header, body)
        except Verdict as error:
            raise refused.ExecutionFailed(f"block #{header.number}: {error}") from error

    async def _restore(self, header: Header, body: list[bytes]) -> None:
        """Add an unfinalized block of the last run; execute it again if its state was not stored."""
        if header.parent_hash not in self._tree:
            return
        try:
            if self._store.has_state(header.hash):
                self._add_to_tree(header)
            else:
                await retry_import(
                    BlockRef(header.hash, header.number), lambda: self._execute_again(header, body)
                )
        except (refused.ImportRefused, LocalFault) as error:
            log.warning("Block #%d of the last run is dropped: %s", header.number, error)

    async def _execute_again(self, header: Header, body: list[bytes]) -> bool:
        await self._add(header, body, await self._execute(header, body))
        return True

    async def _add(
        self, header: Header, body: list[bytes], changes: Changes, then: NextBlock | None = None
    ) -> None:
        # Store, executor and tree change together or not at all.
        with trio.CancelScope(shield=True), stored():
            if then is not None:
                await self._ahead.begin(header, changes, then, self.slot_now())
            overlay = await trio.to_thread.run_sync(self._store.add_block, header, body, changes)
            await self._ahead.written(overlay)
        self._add_to_tree(header)

    def _add_to_tree(self, header: Header) -> None:
        """Add a block that has its state to the tree, and publish it."""
        block = BlockRef(header.hash, header.number)
        self._tree.add(block, header.parent_hash)
        self._runtimes.inherit(header, block.hash)
        self.queries.inherit_authorities(header)
        self.changes.add(header, block)
        is_best = self._tree.longer(block)
        self._events.publish(Imported(block, header, is_best))
        if is_best:
            self._move_best(block)

    def _move_best(self, block: BlockRef) -> None:
        route = self._tree.set_best(block)
        retracted = tuple(ref.hash for ref in route.retracted)
        self._events.publish(BestChanged(block, retracted, tuple(ref.hash for ref in route.enacted)))

    # Steps of finality

    async def _finalize(self, block_hash: bytes, justification: bytes | EncodedJustification | None) -> None:
        if block_hash not in self._tree or block_hash == self.finalized.hash:
            raise refused.NotInTree(block_hash)
        block = self._tree.block(block_hash)
        change = self._change_up_to(block)
        voters = await self.voters()
        proof = await self._proof(justification, voters, block)
        # Read before anything is changed: a local fault then changes nothing.
        next_voters = voters if change is None else await self.queries.grandpa_authorities(block_hash)
        with trio.CancelScope(shield=True), stored():
            votes = None if proof is None else (ENGINE, proof.data)
            done = await trio.to_thread.run_sync(self._store.finalize, block_hash, votes)
        if not self._tree.is_ancestor(block_hash, self.best.hash):
            self._move_best(self._tree.longest_above(block_hash))
        cut = self._tree.finalize(block_hash)
        self.changes.finalized(cut.finalized, self._tree.hashes())
        self.faults.final_at(block.number)
        self._voters = next_voters
        dropped = tuple(ref.hash for ref in cut.dropped)
        discarded = self._store.discarded_holds(done)
        data, commit = None, None
        if proof is not None:
            data, commit = proof.data, CommitMessage(proof.value.round, voters.set_id, proof.value.commit)
        self._events.publish(BlocksFinalized(cut.finalized, dropped, data, discarded, commit, next_voters))

    async def _proof(
        self, justification: bytes | EncodedJustification | None, voters: AuthoritySet, block: BlockRef
    ) -> EncodedJustification | None:
        """Return the justification, verified; None for an expected block without one.

        Raise BadJustification.
        """
        if justification is not None:
            return await trio.to_thread.run_sync(
                verified, justification, voters, block, abandon_on_cancel=True
            )
        if block.hash not in self._expected:
            raise refused.BadJustification(f"block #{block.number} has no justification")
        return None

    def _change_up_to(self, block: BlockRef) -> BlockRef | None:
        """Return the block itself if other authorities begin with it, else None.

        Raise FinalityRefused if they begin before it.
        """
        path = self.path(block.hash)
        forced = self.changes.forced(path)
        if forced is not None:
            raise refused.PastForcedChange(forced)
        change = self.changes.first(path)
        if change is not None and change != block:
            raise refused.PastSetChange(change.number)
        return change
