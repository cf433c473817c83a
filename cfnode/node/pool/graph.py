"""The transaction graph: ready and future transactions, their order, and replacement by priority.

It follows Substrate's `sc-transaction-pool` ("base pool"), as pure data: a transaction *requires* tags and
*provides* tags.

It is *ready* when what it requires is provided by ready transactions or by recent blocks, else it waits among
the *future* ones.

Two ready transactions never provide the same tag: the newcomer replaces the old ones only with a higher
priority than theirs together.

Ready transactions are offered by priority, then by the earlier end of validity, then by age, and never before
the transactions that they require.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cfnode.node.pool.errors import AlreadyImported, CycleDetected, PoolError, TooLowPriority
from cfnode.node.pool.transaction import Limit, PoolTransaction

RECENT_BLOCKS = 2
"""The number of prunings for which a tag that a block provided still counts as provided."""
MIN_NOTES = 64
"""Outdated notes of ranks that are always allowed."""


@dataclass(slots=True)
class Import:
    """The result of an import: the transaction itself is `future` or ready; the other fields are hashes."""

    hash: bytes
    future: bool = False
    promoted: list[bytes] = field(default_factory=list)
    failed: list[bytes] = field(default_factory=list)
    removed: list[bytes] = field(default_factory=list)
    """Transactions that the newcomer replaced, and those that depend on a replaced one."""


@dataclass(slots=True)
class Pruned:
    """The effect of a block on the graph.

    `pruned`: transactions that provided a tag of the block; the other fields are hashes.
    """

    pruned: list[PoolTransaction] = field(default_factory=list)
    promoted: list[bytes] = field(default_factory=list)
    failed: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class _Ready:
    transaction: PoolTransaction
    order: int
    needs: set[bytes]
    """Required tags that a ready transaction provided when this one was added, except those pruned since."""


@dataclass(slots=True)
class _Future:
    transaction: PoolTransaction
    missing: set[bytes]


class TransactionGraph:
    """Ready and future transactions; every method is synchronous and leaves it consistent."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all transactions, and what recent blocks provided."""
        self._ready: dict[bytes, _Ready] = {}
        self._future: dict[bytes, _Future] = {}
        self._provided: dict[bytes, bytes] = {}  # tag -> hash of the ready provider
        self._required: dict[bytes, set[bytes]] = {}  # tag -> ready transactions that require it
        self._wanted: dict[bytes, set[bytes]] = {}  # tag -> future transactions that miss it
        self._recent: deque[frozenset[bytes]] = deque(maxlen=RECENT_BLOCKS)
        self._worst_first: list[tuple[int, int, bytes]] = []  # heap of priority, -order, hash; some are gone
        self._order = 0
        self.ready_bytes = 0
        self.future_bytes = 0

    def __contains__(self, tx_hash: bytes) -> bool:
        """Return whether the transaction is ready or future."""
        return tx_hash in self._ready or tx_hash in self._future

    @property
    def ready_count(self) -> int:
        """The number of transactions that may enter the next block."""
        return len(self._ready)

    @property
    def future_count(self) -> int:
        """The number of transactions that wait for others."""
        return len(self._future)

    def get(self, tx_hash: bytes) -> PoolTransaction | None:
        """Return the transaction, ready or future; None if it is unknown."""
        entry = self._ready.get(tx_hash) or self._future.get(tx_hash)
        return entry.transaction if entry else None

    def is_ready(self, tx_hash: bytes) -> bool:
        """Return whether a transaction may enter the next block."""
        return tx_hash in self._ready

    def provides(self, tag: bytes) -> bool:
        """Return whether a ready transaction provides `tag`."""
        return tag in self._provided

    def refresh(self, transaction: PoolTransaction) -> bool:
        """Replace a transaction by its later validation; return False if its position has changed."""
        entry = self._ready.get(transaction.hash) or self._future.get(transaction.hash)
        if entry is None or entry.transaction.position != transaction.position:
            return False
        entry.transaction = transaction
        return True

    def futures(self) -> list[PoolTransaction]:
        """Return the transactions that wait for others, oldest first."""
        return [entry.transaction for entry in self._future.values()]

    def ready(self) -> Iterator[PoolTransaction]:
        """Yield the ready transactions in the order in which a block should try them."""
        missing = {tx_hash: len(entry.needs) for tx_hash, entry in self._ready.items()}
        heap = [self._rank(self._ready[tx_hash]) for tx_hash, count in missing.items() if not count]
        heapq.heapify(heap)
        while heap:
            entry = self._ready.get(heapq.heappop(heap)[-1])
            if entry is None:
                continue  # removed while the caller was iterating
            yield entry.transaction
            for unlocked in self._unlocks(entry.transaction):
                if unlocked in missing:
                    missing[unlocked] -= 1
                    if not missing[unlocked]:
                        heapq.heappush(heap, self._rank(self._ready[unlocked]))

    def insert(self, transaction: PoolTransaction) -> Import:
        """Add a transaction. Raise AlreadyImported, TooLowPriority or CycleDetected."""
        if transaction.hash in self:
            raise AlreadyImported(transaction.hash)
        if set(transaction.requires) & set(transaction.provides):
            raise CycleDetected
        missing = self._missing(transaction)
        if missing:
            self._insert_future(transaction, missing)
            return Import(transaction.hash, future=True)
        return self._insert_ready(transaction)

    def remove(self, hashes: Iterable[bytes]) -> list[PoolTransaction]:
        """Remove the given transactions and the ready ones that depend on them; return all of them."""
        removed = self._remove_ready([tx_hash for tx_hash in hashes if tx_hash in self._ready])
        for tx_hash in hashes:
            if tx_hash in self._future:
                removed.append(self._remove_future(tx_hash))
        return removed

    def prune(self, tags: Iterable[bytes]) -> Pruned:
        """Remove the transactions that provide `tags`, since a block provided them.

        Transactions that waited for these tags are promoted.
        """
        outcome = Pruned()
        tags = tuple(tags)
        self._recent.append(frozenset(tags))
        promotable: list[PoolTransaction] = []
        for tag in tags:
            promotable += self._satisfy(tag)
            outcome.pruned += self._prune_ready(tag)
        for transaction in promotable:
            try:
                imported = self._insert_ready(transaction)
            except PoolError:
                outcome.failed.append(transaction.hash)
                continue
            outcome.promoted += [transaction.hash, *imported.promoted]
            outcome.failed += [*imported.failed, *imported.removed]
        return outcome

    def enforce_limits(self, ready: Limit, future: Limit) -> list[bytes]:
        """Remove the transactions beyond the limits; return their hashes.

        These are the worst ready transactions (lowest priority, then newest), with those that depend on them,
        and the oldest future ones.
        """
        removed: list[bytes] = []
        while ready.exceeded(len(self._ready), self.ready_bytes):
            removed += [evicted.hash for evicted in self._remove_ready([self._worst()])]
        while future.exceeded(len(self._future), self.future_bytes):
            removed.append(self._remove_future(next(iter(self._future))).hash)
        return removed

    # Ready

    @staticmethod
    def _rank(entry: _Ready) -> tuple[int, int, int, bytes]:
        transaction = entry.transaction
        return -transaction.priority, transaction.valid_till, entry.order, transaction.hash

    def _unlocks(self, transaction: PoolTransaction) -> list[bytes]:
        """Return the ready transactions that need a tag of this one: once for each tag."""
        return [dependent for tag in transaction.provides for dependent in self._needing(tag)]

    def _needing(self, tag: bytes) -> list[bytes]:
        return [dependent for dependent in self._required.get(tag, ()) if tag in self._ready[dependent].needs]

    def _missing(self, transaction: PoolTransaction) -> set[bytes]:
        return {tag for tag in transaction.requires if not self._is_provided(tag)}

    def _is_provided(self, tag: bytes) -> bool:
        """Return whether a ready transaction provides the tag, or a recent block has provided it."""
        return tag in self._provided or any(tag in tags for tags in self._recent)

    def _insert_ready(self, transaction: PoolTransaction) -> Import:
        """Insert the newcomer, then the transactions that it unlocks, and so on."""
        outcome = Import(transaction.hash)
        pending = [transaction]
        while pending:
            current = pending.pop(0)
            try:
                outcome.removed += self._link(current)
            except PoolError:
                if current is transaction:
                    raise
                outcome.failed.append(current.hash)
                continue
            if current is not transaction:
                outcome.promoted.append(current.hash)
            for tag in current.provides:
                pending += self._satisfy(tag)
        if transaction.hash in outcome.removed:  # something it unlocked has replaced it
            self._remove_ready([tx_hash for tx_hash in outcome.promoted if tx_hash in self._ready])
            raise CycleDetected
        return outcome

    def _link(self, transaction: PoolTransaction) -> list[bytes]:
        replaced = self._replace(transaction)
        self._order += 1
        needs = {tag for tag in transaction.requires if tag in self._provided}
        self._ready[transaction.hash] = _Ready(transaction, self._order, needs)
        for tag in transaction.provides:
            self._provided[tag] = transaction.hash
        for tag in transaction.requires:
            self._required.setdefault(tag, set()).add(transaction.hash)
        self.ready_bytes += len(transaction.data)
        self._note_rank(transaction)
        return replaced

    def _note_rank(self, transaction: PoolTransaction) -> None:
        """Note the newest transaction among those that may be evicted; drop notes when most are outdated."""
        heapq.heappush(self._worst_first, (transaction.priority, -self._order, transaction.hash))
        if len(self._worst_first) > 2 * len(self._ready) + MIN_NOTES:
            self._worst_first = [note for note in self._worst_first if self._is_current(note)]
            heapq.heapify(self._worst_first)

    def _is_current(self, note: tuple[int, int, bytes]) -> bool:
        entry = self._ready.get(note[2])
        return entry is not None and entry.order == -note[1]

    def _worst(self) -> bytes:
        """Return the hash of the ready transaction with the lowest priority, the newest one of these."""
        while not self._is_current(note := heapq.heappop(self._worst_first)):
            pass
        return note[2]

    def _replace(self, transaction: PoolTransaction) -> list[bytes]:
        rivals = {self._provided[tag] for tag in transaction.provides if tag in self._provided}
        if not rivals:
            return []
        old = sum(self._ready[rival].transaction.priority for rival in rivals)
        if old >= transaction.priority:
            raise TooLowPriority(old, transaction.priority)
        kept_tags = frozenset(transaction.provides)
        return [replaced.hash for replaced in self._remove_ready(rivals, kept_tags)]

    def _remove_ready(
        self, hashes: Iterable[bytes], kept_tags: frozenset[bytes] = frozenset()
    ) -> list[PoolTransaction]:
        """Remove `hashes` and the transactions that depend on them; return all of them.

        A dependency on `kept_tags` does not count, since a replacement provides them.
        """
        removed: list[PoolTransaction] = []
        pending = list(hashes)
        while pending:
            entry = self._ready.pop(pending.pop(0), None)
            if entry is None:
                continue
            removed.append(entry.transaction)
            self._unlink(entry.transaction)
            lost_tags = [tag for tag in entry.transaction.provides if tag not in kept_tags]
            pending += [dependent for tag in lost_tags for dependent in self._needing(tag)]
        return removed

    def _unlink(self, transaction: PoolTransaction) -> None:
        self.ready_bytes -= len(transaction.data)
        for tag in transaction.provides:
            if self._provided.get(tag) == transaction.hash:
                del self._provided[tag]
        for tag in set(transaction.requires):
            self._required[tag].discard(transaction.hash)
            if not self._required[tag]:
                del self._required[tag]

    def _prune_ready(self, tag: bytes) -> list[PoolTransaction]:
        """Remove the provider of `tag`, and the providers of the tags that it required; return them."""
        pruned: list[PoolTransaction] = []
        pending = [tag]
        while pending:
            tx_hash = self._provided.get(pending.pop())
            if tx_hash is None:
                continue
            transaction = self._ready.pop(tx_hash).transaction
            pending += transaction.requires
            self._unlink(transaction)
            for provided in transaction.provides:
                for dependent in self._needing(provided):
                    self._ready[dependent].needs.discard(provided)
            pruned.append(transaction)
        return pruned

    # Future

    def _insert_future(self, transaction: PoolTransaction, missing: set[bytes]) -> None:
        self._future[transaction.hash] = _Future(transaction, missing)
        self.future_bytes += len(transaction.data)
        for tag in missing:
            self._wanted.setdefault(tag, set()).add(transaction.hash)

    def _remove_future(self, tx_hash: bytes) -> PoolTransaction:
        entry = self._future.pop(tx_hash)
        self.future_bytes -= len(entry.transaction.data)
        for tag in entry.missing:
            self._wanted[tag].discard(tx_hash)
            if not self._wanted[tag]:
                del self._wanted[tag]
        return entry.transaction

    def _satisfy(self, tag: bytes) -> list[PoolTransaction]:
        """Remove and return the future transactions that waited only for `tag`, now provided."""
        freed: list[PoolTransaction] = []
        for tx_hash in sorted(self._wanted.pop(tag, ())):
            entry = self._future[tx_hash]
            entry.missing.discard(tag)
            if not entry.missing:
                freed.append(self._remove_future(tx_hash))
        return freed
