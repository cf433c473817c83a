"""Data of the pool that changes together: the transaction graph, its watchers, and the bans.

There is no chain, no runtime and no waiting: each method leaves graph, watchers and bans consistent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cfnode.core.block import BlockRef
from cfnode.core.hashing import blake2_256
from cfnode.core.validity import SOURCE_LOCAL
from cfnode.node.chain.events import Publisher
from cfnode.node.pool.bans import Bans
from cfnode.node.pool.errors import AlreadyImported, ImmediatelyDropped, PoolError, TemporarilyBanned
from cfnode.node.pool.graph import Import, TransactionGraph
from cfnode.node.pool.transaction import Limit, PoolTransaction
from cfnode.node.pool.watchers import Watchers

__all__ = ["PoolContents", "PoolCounts"]


@dataclass(slots=True)
class PoolCounts:
    """Counts of transactions since the start.

    `submitted`; `invalid`: removed as such; `pruned`: removed since a block includes them; `resubmitted`:
    added again since their block was retracted.
    """

    submitted: int = 0
    invalid: int = 0
    pruned: int = 0
    resubmitted: int = 0


class PoolContents:
    """The transactions of the pool, their watchers and bans.

    `ready` bounds the ready transactions; the bound of the future ones is a tenth of it.
    """

    def __init__(self, ready: Limit) -> None:
        self.graph = TransactionGraph()
        self.watchers = Watchers()
        self.bans = Bans()
        self.counts = PoolCounts()
        self.arrivals: Publisher[bytes] = Publisher(None)
        self._ready = ready
        self._future = Limit(ready.count // 10, ready.total_bytes // 10)

    def check_not_used(self, tx_hash: bytes, source: int) -> None:
        """Check that a transaction is neither banned nor in the pool.

        Raise TemporarilyBanned or AlreadyImported. Call it before and after the validation: a block, or
        another sender, may have been faster.
        """
        is_own = source == SOURCE_LOCAL  # the node's own transactions may repeat
        if not is_own and tx_hash in self.bans:
            raise TemporarilyBanned
        if tx_hash in self.graph:
            raise AlreadyImported(tx_hash)

    def include(self, block: BlockRef, body: Sequence[bytes]) -> Iterable[bytes]:
        """Remove the transactions of a new block of the best chain; return its extrinsics' hashes."""
        self.counts.pruned += len(body)
        places = {blake2_256(extrinsic): index for index, extrinsic in enumerate(body)}
        pooled = [transaction for tx_hash in places if (transaction := self.graph.get(tx_hash))]
        outcome = self.graph.prune([tag for transaction in pooled for tag in transaction.provides])
        self.graph.remove(places)
        for tx_hash, index in places.items():
            self.bans.add(tx_hash)
            self.watchers.in_block(tx_hash, block, index)
        for rival in outcome.pruned:
            if rival.hash not in places:  # another transaction with its tags was included
                self.bans.add(rival.hash)
                self.watchers.invalid(rival.hash)
        self._publish_ready(outcome.promoted)
        for tx_hash in outcome.failed:
            self.watchers.invalid(tx_hash)
        return places

    def remove_invalid(self, hashes: Iterable[bytes]) -> list[bytes]:
        """Remove invalid transactions, and those that depend on them; return all their hashes."""
        removed = [transaction.hash for transaction in self.graph.remove(list(hashes))]
        self.counts.invalid += len(removed)
        for tx_hash in removed:
            self.bans.add(tx_hash)
            self.watchers.invalid(tx_hash)
        return removed

    def clear(self) -> None:
        """Remove all transactions, watched blocks and bans."""
        self.graph.clear()
        self.bans.clear()
        self.watchers.drop_all()

    def move(self, transaction: PoolTransaction) -> None:
        """Insert a transaction again whose tags or priority have changed, and those that depended on it."""
        moved = [
            dependent
            for dependent in self.graph.remove([transaction.hash])
            if dependent.hash != transaction.hash
        ]
        for entry in (transaction, *moved):
            self.put_back(entry)

    def put_back(self, transaction: PoolTransaction) -> None:
        """Insert a transaction that was in the pool or in a block before.

        If it is refused, its watchers receive `invalid`.
        """
        try:
            self.insert(transaction)
        except AlreadyImported:  # it was submitted again meanwhile
            return
        except PoolError:
            self.watchers.invalid(transaction.hash)

    def insert(self, transaction: PoolTransaction) -> None:
        """Insert a valid transaction. Raise PoolError."""
        outcome = self.graph.insert(transaction)
        self._publish_outcome(outcome)
        dropped = self.graph.enforce_limits(self._ready, self._future)
        for tx_hash in dropped:
            self.bans.add(tx_hash)
            self.watchers.dropped(tx_hash)
        if transaction.hash in dropped:
            raise ImmediatelyDropped

    def _publish_outcome(self, outcome: Import) -> None:
        if outcome.future:
            self.watchers.future(outcome.hash)
            return
        self._publish_ready([outcome.hash])
        for tx_hash in outcome.failed:
            self.watchers.invalid(tx_hash)
        for tx_hash in outcome.removed:
            self.watchers.usurped(tx_hash, outcome.hash)
        self._publish_ready(outcome.promoted)

    def _publish_ready(self, hashes: Iterable[bytes]) -> None:
        for tx_hash in hashes:
            self.watchers.ready(tx_hash)
            self.arrivals.publish(tx_hash)
