"""A read-only view of the chain: heads, blocks, states, runtimes and events.

Reading needs no lock and never sees half a change: imports and finality (`chain.py`) change tree and states
in one step of the event loop.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from cfnode.core.aura import slot_of
from cfnode.core.block import BlockRef
from cfnode.core.grandpa import AuthoritySet
from cfnode.core.header import Header
from cfnode.core.state import BlockState
from cfnode.node.chain.authority_changes import AuthorityChanges
from cfnode.node.chain.block_events import BlockEvents, OrderedEvents
from cfnode.node.chain.events import QUEUE_CAPACITY, ChainEvent, EventSubscription, Lagged, Publisher
from cfnode.node.chain.local_faults import LocalFaults
from cfnode.node.chain.queries import RuntimeQueries
from cfnode.node.chain.runtime_info import RuntimeCache, RuntimeInfo
from cfnode.node.chain.states import States
from cfnode.node.chain.tree import BlockTree, Route
from cfnode.runtime.executor import Executor
from cfnode.store import Store

__all__ = ["ChainView"]


class ChainView:
    """The chain of one node, read-only: its block tree over its store and its executor."""

    def __init__(self, store: Store, executor: Executor) -> None:
        self.states = States(store, executor)
        self.queries = RuntimeQueries(self.states, executor)
        self.faults = LocalFaults()
        self.changes = AuthorityChanges()
        self._store = store
        self._runtimes = RuntimeCache(self.states, self.queries)
        self._block_events = BlockEvents(store, self._runtimes)
        self._tree = BlockTree(store.finalized)
        self._voters: AuthoritySet | None = None
        self._events: Publisher[ChainEvent] = Publisher(Lagged())
        self.on_import_time: Callable[[float], None] = lambda seconds: None
        """A function that receives the time that each import of another node's block took, in seconds."""
        genesis_hash = store.genesis_hash
        assert genesis_hash is not None
        self.genesis_hash = genesis_hash

    @property
    def best(self) -> BlockRef:
        """The head of the longest chain."""
        return self._tree.best

    @property
    def finalized(self) -> BlockRef:
        """The last final block."""
        return self._tree.finalized

    @property
    def revision(self) -> int:
        """A number that increases with each change of the chain: with each event of `subscribe`."""
        return self._events.published

    @property
    def leaves(self) -> int:
        """The number of unfinalized chains: blocks without a child."""
        return self._tree.leaves

    def header(self, block_hash: bytes) -> Header | None:
        """Return the header of a block; None if the block is unknown."""
        remote = self.states.remote_for(block_hash)
        return self._store.header(block_hash) if remote is None else remote.header

    def body(self, block_hash: bytes) -> list[bytes] | None:
        """Return the extrinsics with their length prefixes; None for an unknown or pruned block."""
        remote = self.states.remote_for(block_hash)
        return self._store.body(block_hash) if remote is None else remote.body

    def justifications(self, block_hash: bytes) -> list[tuple[bytes, bytes]]:
        """Return the (consensus engine, justification) pairs kept with the block."""
        return list(self._store.justifications(block_hash))

    def public_justifications(self, block_hash: bytes) -> list[tuple[bytes, bytes]]:
        """Return the justifications that every node keeps: clients and peers get only these."""
        return list(self._store.public_justifications(block_hash))

    def hash_at(self, number: int) -> bytes | None:
        """Return the hash of the best chain's block at `number`; None if it is unknown."""
        if number >= self.finalized.number:
            return self._tree.hash_at(number)
        return self._store.hash_at(number)

    def block_ref(self, block_hash: bytes) -> BlockRef | None:
        """Return hash and number of a known block; None for any other."""
        if block_hash in self._tree:
            return self._tree.block(block_hash)
        header = self.header(block_hash)
        return None if header is None else BlockRef(block_hash, header.number)

    def state(self, block_hash: bytes) -> contextlib.AbstractContextManager[BlockState]:
        """Return the storage of a block, for the length of a `with`. Raise UnknownBlock or StateDiscarded."""
        return self.states.at(block_hash)

    async def runtime_at(self, block_hash: bytes) -> RuntimeInfo:
        """Return version and metadata of the block's runtime.

        Raise UnknownBlock, StateDiscarded or RuntimeCallError.
        """
        return await self._runtimes.at(block_hash)

    async def runtime_executing(self, block_hash: bytes) -> RuntimeInfo:
        """Return the runtime that executed the block, which is not the block's own if it sets new code."""
        return await self._runtimes.executing(block_hash, self.header(block_hash))

    async def events(self, block_hash: bytes) -> OrderedEvents:
        """Return the events of the block. Raise UnknownBlock, StateDiscarded, or ScaleError."""
        return await self._block_events.at(block_hash)

    def is_canonical(self, block: BlockRef) -> bool:
        """Return whether the block is on the best chain."""
        return self.hash_at(block.number) == block.hash

    def is_ancestor(self, base: bytes, block_hash: bytes) -> bool:
        """Return whether `base` is an ancestor of `block_hash`, or the same block."""
        low, high = self.block_ref(base), self.block_ref(block_hash)
        if low is None or high is None or low.number > high.number:
            return False
        if base in self._tree and block_hash in self._tree:
            return self._tree.is_ancestor(base, block_hash)
        return low.number <= self.finalized.number and self.is_canonical(low)

    def descends_from_finalized(self, block_hash: bytes) -> bool:
        """Return whether a block is the finalized block, or descends from it."""
        return block_hash in self._tree

    def tree_route(self, start: bytes, end: bytes) -> Route:
        """Return the route between two blocks of the tree. Raise KeyError for any other."""
        return self._tree.route(start, end)

    def path(self, block_hash: bytes) -> tuple[BlockRef, ...]:
        """Return the unfinalized blocks up to and including `block_hash`, oldest first.

        Raise KeyError for a block that is not in the tree.
        """
        return self._tree.path(block_hash)

    def parent(self, block_hash: bytes) -> bytes | None:
        """Return the parent's hash of an unfinalized block; None for any other."""
        is_unfinalized = block_hash in self._tree and block_hash != self.finalized.hash
        return self._tree.parent(block_hash) if is_unfinalized else None

    def unfinalized(self) -> list[tuple[BlockRef, bytes]]:
        """Return the blocks above the finalized one, each with its parent's hash; parents first."""
        return self._tree.blocks()

    def next_set_change(self, block_hash: bytes) -> BlockRef | None:
        """Return the first unfinalized block up to `block_hash` with which other authorities begin."""
        return self.changes.first(self.path(block_hash)) if self.changes.any else None

    async def voters(self) -> AuthoritySet:
        """Return the authorities that finalize the next block.

        Raise LocalFault, and StateDiscarded if the state is remote and no peer helps.
        """
        while (voters := self._voters) is None:
            finalized = self.finalized
            authorities = await self.queries.grandpa_authorities(finalized.hash)
            if self.finalized == finalized:  # else finality has moved on meanwhile
                self._voters = authorities
        return voters

    def slot_of(self, block_hash: bytes) -> int | None:
        """Return the block's slot; None for an unknown block, and for genesis, which has no slot."""
        header = self.header(block_hash)
        return None if header is None or header.number == 0 else slot_of(header)

    def subscribe(
        self, capacity: int = QUEUE_CAPACITY, only: type | tuple[type, ...] = object,
        on_event: Callable[[ChainEvent], None] | None = None,
    ) -> EventSubscription[ChainEvent]:  # fmt: skip
        """Return a subscription to events of these kinds; `on_event` is called at once with each event.

        A listener with `capacity` waiting events receives Lagged and is cut off.
        """
        return self._events.subscribe(capacity, only, on_event)
