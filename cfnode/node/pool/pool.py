"""The transaction pool: submission, validation, and following the chain.

It is modeled on Substrate's (`sc-transaction-pool`): a transaction is validated at the best block, then added
to the graph of the others (`pool/contents.py`). With each new best block the pool removes the transactions
that the block included, adds those of retracted blocks again, and validates the others again. A transaction
that was invalid, dropped or included is refused for a while (`bans.py`).

The transactions of a block leave the pool at the moment in which the block becomes the best one, before any
other task can act on it. Otherwise a busy machine would offer them for the next block, and consider them
invalid there. Everything that takes time, and needs the runtime, follows in a task; a verdict counts only
while its block is on the best chain.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cfnode.core.hashing import blake2_256
from cfnode.core.validity import SOURCE_EXTERNAL
from cfnode.flow.wakeup import Wakeup
from cfnode.node.chain.events import (
    BestChanged,
    BlocksFinalized,
    ChainEvent,
    ChainReset,
    EventSubscription,
    Imported,
)
from cfnode.node.chain.view import ChainView
from cfnode.node.pool.contents import PoolContents
from cfnode.node.pool.errors import NoTagsProvided, NotJudged, PoolError, VerificationFailed
from cfnode.node.pool.revalidation import Revalidation
from cfnode.node.pool.transaction import Limit, PoolTransaction
from cfnode.node.pool.validation import TransactionValidator, check_format
from cfnode.node.pool.watchers import Watch
from cfnode.node.restarts import supervise

log = logging.getLogger("cfnode.txpool")

NONCE_ATTEMPTS = 3
"""How often the nonce of an account is read again because a block has come meanwhile."""
MIB = 1024 * 1024
READY_LIMIT = Limit(8192, 20 * MIB)


@dataclass(frozen=True, slots=True)
class PoolStatus:
    """The numbers of ready and future transactions in the pool, and their bytes."""

    ready: int
    ready_bytes: int
    future: int
    future_bytes: int


class TransactionPool:
    """The pool of one node. `run()` must be running for it to follow the chain.

    `ready_limit` bounds the ready transactions; the bound of the future ones is a tenth of it. `authoring`:
    this node makes blocks, so it accepts transactions that must not be sent to peers.
    """

    def __init__(
        self, chain: ChainView, *, ready_limit: Limit = READY_LIMIT, authoring: bool = False
    ) -> None:
        self._chain = chain
        self.validator = TransactionValidator(chain.queries, may_include=authoring)
        self._contents = PoolContents(ready_limit)
        self._graph, self._watchers = self._contents.graph, self._contents.watchers
        self._bans, self.counts = self._contents.bans, self._contents.counts
        self._revalidation = Revalidation(chain, self.validator, self._contents, ready_limit.count)
        self._processed = chain.best
        self._new_best_block = Wakeup()
        self._events = chain.subscribe(on_event=self._on_event)
        self._is_behind = False

    # Reading

    def __contains__(self, tx_hash: bytes) -> bool:
        """Return whether the pool has the transaction, ready or future."""
        return tx_hash in self._graph

    @property
    def status(self) -> PoolStatus:
        """The numbers of transactions in the pool, and their bytes."""
        graph = self._graph
        return PoolStatus(graph.ready_count, graph.ready_bytes, graph.future_count, graph.future_bytes)

    def ready(self) -> Iterator[PoolTransaction]:
        """Return the ready transactions in the order in which a block should try them."""
        return self._graph.ready()

    def futures(self) -> list[PoolTransaction]:
        """Return the future transactions, oldest first."""
        return self._graph.futures()

    def get(self, tx_hash: bytes) -> PoolTransaction | None:
        """Return a ready or future transaction; None if it is unknown."""
        return self._graph.get(tx_hash)

    def is_future(self, tx_hash: bytes) -> bool:
        """Return whether a transaction is in the pool, but not ready."""
        return tx_hash in self._graph and not self._graph.is_ready(tx_hash)

    def arrivals(self) -> EventSubscription[bytes]:
        """Return a stream of the hashes of transactions that become ready, from now on."""
        return self._contents.arrivals.subscribe()

    async def ready_nonce(self, account: bytes) -> int:
        """Return the nonce of the next transaction of `account`.

        It is the nonce in the state, plus the number of its ready transactions.
        """
        for _ in range(NONCE_ATTEMPTS):
            best = self._chain.best
            nonce = await self._chain.queries.account_nonce(best.hash, account)
            if self._chain.best == best:  # else a new block has changed the nonce
                break
        while self._graph.provides(account + nonce.to_bytes(4, "little")):
            nonce += 1
        return nonce

    async def ready_at(self, block_hash: bytes) -> None:
        """Wait until the pool has processed the block, or until another block is the best one."""
        while self._processed.hash != block_hash and self._chain.best.hash == block_hash:
            await self._new_best_block.wait()

    # Adding and removing

    async def submit(self, extrinsic: bytes, source: int = SOURCE_EXTERNAL) -> bytes:
        """Add a transaction (with its length prefix); return its hash. Raise PoolError."""
        transaction = await self._judged(extrinsic, source)
        self._enter(transaction, source)
        return transaction.hash

    async def submit_and_watch(self, extrinsic: bytes, source: int = SOURCE_EXTERNAL) -> Watch:
        """Add a transaction (with its length prefix); return a watch of its statuses. Raise PoolError.

        The statuses begin with `ready` or `future`.
        """
        transaction = await self._judged(extrinsic, source)
        with self._watchers.watch(transaction.hash) as watch:
            self._enter(transaction, source)
        return watch

    def _enter(self, transaction: PoolTransaction, source: int) -> None:
        """Insert a valid transaction. Raise PoolError, and forget a transaction that is refused."""
        try:
            self._contents.check_not_used(transaction.hash, source)
            self._contents.insert(transaction)
        except PoolError:
            if transaction.hash not in self._graph:
                self._revalidation.forget(transaction.hash)
            raise

    def is_at(self, block_hash: bytes) -> bool:
        """Return whether the ready transactions are valid on top of this block, the last processed one."""
        return self._processed.hash == block_hash

    def remove_invalid(self, hashes: Iterable[bytes]) -> list[bytes]:
        """Remove invalid transactions, and those that depend on them; return all their hashes."""
        return self._contents.remove_invalid(hashes)

    def mark_broadcast(self, tx_hash: bytes, peers: Iterable[str]) -> None:
        """Publish that the transaction has been sent to `peers`."""
        self._watchers.broadcast(tx_hash, peers)

    # Following the chain

    async def run(self) -> None:
        """Follow the chain until cancelled."""
        try:
            await supervise("transaction pool", self._run)
        finally:
            self._events.close()
            self._watchers.finish()
            self._contents.arrivals.finish()

    async def _run(self) -> None:
        while True:
            if self._is_behind:  # events were lost: this task was too slow, or has been restarted
                self._events.close()
                self._events = self._chain.subscribe(on_event=self._on_event)
                self._catch_up()
                await self._revalidation.run(self._processed)
            async for event in self._events:
                if isinstance(event, BestChanged) and event.new == self._processed:
                    await self._revalidation.run(event.new)
            self._is_behind = True

    def _on_event(self, event: ChainEvent) -> None:
        """Handle an event before the chain publishes the next one; no error may reach the chain."""
        try:
            self._follow(event)
        except Exception:
            log.exception("The pool did not follow the chain, please report it; it starts again")
            self._is_behind = True
            self._events.finish()

    def _follow(self, event: ChainEvent) -> None:
        if isinstance(event, BestChanged):
            self._new_best(event)
        elif isinstance(event, BlocksFinalized):
            for block in event.blocks:
                self._watchers.finalized(block.hash)
        elif isinstance(event, Imported):
            self._bans.forget_old()
        elif isinstance(event, ChainReset):
            self._contents.clear()
            self._revalidation.clear()

    def _catch_up(self) -> None:
        """Apply the changes of the chain since the last processed block."""
        best, processed = self._chain.best, self._processed
        if self._chain.descends_from_finalized(processed.hash):
            route = self._chain.tree_route(processed.hash, best.hash)
            retracted = tuple(block.hash for block in route.retracted)
            joined = tuple(block.hash for block in route.enacted)
        else:
            numbers = range(min(processed.number, self._chain.finalized.number) + 1, best.number + 1)
            retracted, joined = (), tuple(filter(None, map(self._chain.hash_at, numbers)))
        self._new_best(BestChanged(best, retracted, joined))
        for block_hash in self._watchers.blocks():
            block = self._chain.block_ref(block_hash)
            if block is None or not self._chain.is_canonical(block):
                self._watchers.retracted(block_hash)
            elif block.number <= self._chain.finalized.number:
                self._watchers.finalized(block_hash)
        self._is_behind = False

    def _new_best(self, event: BestChanged) -> None:
        for block_hash in event.retracted:
            self._watchers.retracted(block_hash)
            self._revalidation.queue_retracted(block_hash)
        for block_hash in event.enacted:
            self._include(block_hash)
        self._watchers.give_up_before(event.new.number)
        self._processed = event.new
        self._new_best_block.notify()

    def _include(self, block_hash: bytes) -> None:
        """Remove the transactions of a block that joined the best chain."""
        block, body = self._chain.block_ref(block_hash), self._chain.body(block_hash)
        if block is not None and body is not None:
            for tx_hash in self._contents.include(block, body):
                self._revalidation.included(tx_hash)

    # Steps

    async def _judged(self, extrinsic: bytes, source: int) -> PoolTransaction:
        """Validate a submitted transaction at the best block. Raise PoolError.

        A transaction that traps the runtime, or that provides no tag, is banned like an invalid one.
        """
        tx_hash, best = self._check_known(extrinsic, source), self._chain.best
        try:
            return await self._revalidation.validated(tx_hash, extrinsic, source, best)
        except NotJudged:
            raise
        except (VerificationFailed, NoTagsProvided):
            self._revalidation.ban(tx_hash, best)
            raise

    def _check_known(self, extrinsic: bytes, source: int) -> bytes:
        self.counts.submitted += 1
        check_format(extrinsic)
        tx_hash = blake2_256(extrinsic)
        self._contents.check_not_used(tx_hash, source)
        return tx_hash
