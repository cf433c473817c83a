"""Which transactions wait for a block, and what is told to those who sent them?

Substrate's transaction pool (`sc-transaction-pool`): a transaction is validated at the best block, then
takes its place among the others (`pool_contents.py`). With each new best block the pool forgets what the
block included, takes back what retracted blocks held, and validates the rest again. What was found invalid,
dropped or included is refused for a while (`bans.py`).

What a block includes leaves the pool in the moment in which the block becomes the best one, before anybody
else can act on it. Otherwise a busy machine would offer it for the next block, and take it for invalid
there. All that takes time, and needs the runtime, follows in a task; a verdict counts only while its block
is on the best chain.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import trio

from cfnode.core.block import BlockRef
from cfnode.core.hashing import blake2_256
from cfnode.core.validity import SOURCE_EXTERNAL, SOURCE_LOCAL
from cfnode.node.chain_view import ChainView
from cfnode.node.events import (
    BestChanged,
    ChainEvent,
    Finalized,
    Imported,
    Reverted,
    Subscription,
)
from cfnode.node.graph import Limit, PoolTransaction
from cfnode.node.pool_contents import PoolContents
from cfnode.node.pool_errors import (
    InvalidTransaction,
    NotJudged,
    PoolError,
    VerificationFailed,
)
from cfnode.node.upkeep import kept_up
from cfnode.node.validation import Validator, check_format, is_signed
from cfnode.node.watchers import Watch

log = logging.getLogger("cfnode.txpool")

REVALIDATION_BATCH = 64
"""How many transactions are validated again for one block, however soon the next one comes."""
NONCE_ATTEMPTS = 3
"""Times that the nonce of an account is asked for while blocks come in between."""
MIB = 1024 * 1024
READY_LIMIT = Limit(8192, 20 * MIB)


@dataclass(frozen=True, slots=True)
class PoolStatus:
    """How full the pool is: transactions, and bytes of them."""

    ready: int
    ready_bytes: int
    future: int
    future_bytes: int


class TransactionPool:
    """The pool of one node. `run()` must be running for it to follow the chain.

    `ready_limit` bounds the ready transactions, the future ones have a tenth of it; `authoring`: this node
    makes blocks, so it takes transactions that must not be told to peers.
    """

    def __init__(
        self, chain: ChainView, *, ready_limit: Limit = READY_LIMIT, authoring: bool = False
    ) -> None:
        self._chain = chain
        self._ready_limit = ready_limit
        self._validator = Validator(chain.queries, may_include=authoring)
        self._contents = PoolContents(ready_limit)
        self._graph = self._contents.graph
        self._watchers = self._contents.watchers
        self._bans = self._contents.bans
        self._validated_at: dict[bytes, BlockRef] = {}
        self._returning: OrderedDict[bytes, bytes] = OrderedDict()
        self._processed = chain.best
        self._moved = trio.Event()
        self._events = chain.subscribe(on_event=self._heard)
        self._is_behind = False

    # Asking

    def __contains__(self, tx_hash: bytes) -> bool:
        return tx_hash in self._graph

    @property
    def status(self) -> PoolStatus:
        """How full it is."""
        graph = self._graph
        return PoolStatus(graph.ready_count, graph.ready_bytes, graph.future_count, graph.future_bytes)

    def ready(self) -> Iterator[PoolTransaction]:
        """The ready transactions in the order in which a block should try them."""
        return self._graph.ready()

    def futures(self) -> list[PoolTransaction]:
        """Those that wait for others."""
        return self._graph.futures()

    def get(self, tx_hash: bytes) -> PoolTransaction | None:
        """A ready or future transaction."""
        return self._graph.get(tx_hash)

    def is_future(self, tx_hash: bytes) -> bool:
        """Whether a transaction waits for one that is not here."""
        return tx_hash in self._graph and not self._graph.is_ready(tx_hash)

    def arrivals(self) -> Subscription[bytes]:
        """The hashes of transactions that become ready, from now on."""
        return self._contents.arrivals.subscribe()

    async def ready_nonce(self, account: bytes) -> int:
        """The nonce of the next transaction of `account`: that of the state, past those ready in the pool."""
        for _ in range(NONCE_ATTEMPTS):
            best = self._chain.best
            nonce = await self._chain.queries.account_nonce(best.hash, account)
            if self._chain.best == best:  # else a block has taken from the pool what the nonce leaves out
                break
        while self._graph.provides(account + nonce.to_bytes(4, "little")):
            nonce += 1
        return nonce

    async def ready_at(self, block_hash: bytes) -> None:
        """Wait until the pool knows what `block_hash` included, or until another block is the best one."""
        while self._processed.hash != block_hash and self._chain.best.hash == block_hash:
            await self._moved.wait()

    # Giving and taking

    async def submit(self, extrinsic: bytes, source: int = SOURCE_EXTERNAL) -> bytes:
        """Take a transaction (with its length prefix); returns its hash, raises PoolError."""
        tx_hash = self._check_known(extrinsic, source)
        transaction = await self._validated(tx_hash, extrinsic, source, self._chain.best)
        self._contents.check_not_used(tx_hash, source)
        self._contents.insert(transaction)
        return tx_hash

    async def submit_and_watch(self, extrinsic: bytes, source: int = SOURCE_EXTERNAL) -> Watch:
        """Like `submit`; the statuses begin with `ready` or `future`."""
        tx_hash = self._check_known(extrinsic, source)
        transaction = await self._validated(tx_hash, extrinsic, source, self._chain.best)
        self._contents.check_not_used(tx_hash, source)
        watch = self._watchers.watch(tx_hash)
        try:
            self._contents.insert(transaction)
        except PoolError:
            watch.statuses.close()
            raise
        return watch

    def is_at(self, block_hash: bytes) -> bool:
        """Is what is ready here ready for a block on this one?"""
        return self._processed.hash == block_hash

    def remove_invalid(self, hashes: Iterable[bytes]) -> list[bytes]:
        """Throw out transactions found invalid, and those that depend on them; returns all their hashes."""
        return self._contents.remove_invalid(hashes)

    def told_peers(self, tx_hash: bytes, peers: Iterable[str]) -> None:
        """The network has told `peers` about a transaction."""
        self._watchers.broadcast(tx_hash, peers)

    # Following the chain

    async def run(self) -> None:
        """Follow the chain until cancelled."""
        try:
            await kept_up("transaction pool", self._run)
        finally:
            self._events.close()
            self._watchers.finish()
            self._contents.arrivals.finish()

    async def _run(self) -> None:
        while True:
            if self._is_behind:  # events were lost: we were too slow, or begin anew
                self._events.close()
                self._events = self._chain.subscribe(on_event=self._heard)
                self._catch_up()
                await self._tend(self._processed)
            async for event in self._events:
                if isinstance(event, BestChanged) and event.new == self._processed:
                    await self._tend(event.new)
            self._is_behind = True

    def _heard(self, event: ChainEvent) -> None:
        """What the chain says takes effect before it says anything else; nothing here may fail the chain."""
        try:
            self._follow(event)
        except Exception:
            log.exception("The pool did not follow the chain, please report it; it begins anew")
            self._is_behind = True
            self._events.finish()

    def _follow(self, event: ChainEvent) -> None:
        if isinstance(event, BestChanged):
            self._new_best(event)
        elif isinstance(event, Finalized):
            for block in event.blocks:
                self._watchers.finalized(block.hash)
        elif isinstance(event, Imported):
            self._bans.forget_old()
        elif isinstance(event, Reverted):
            self._contents.clear()
            self._validated_at.clear()
            self._returning.clear()

    def _catch_up(self) -> None:
        """See what has become of the chain since the last event that was heard."""
        best, seen = self._chain.best, self._processed
        if self._chain.descends_from_finalized(seen.hash):
            route = self._chain.tree_route(seen.hash, best.hash)
            left = tuple(block.hash for block in route.retracted)
            joined = tuple(block.hash for block in route.enacted)
        else:
            numbers = range(min(seen.number, self._chain.finalized.number) + 1, best.number + 1)
            left, joined = (), tuple(filter(None, map(self._chain.hash_at, numbers)))
        self._new_best(BestChanged(best, left, joined))
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
            self._take_back(block_hash)
        for block_hash in event.enacted:
            self._include(block_hash)
        self._watchers.give_up_before(event.new.number)
        self._processed = event.new
        self._moved.set()
        self._moved = trio.Event()

    async def _tend(self, best: BlockRef) -> None:
        """What a new best block makes necessary and takes time."""
        await self._return_to(best)
        await self._drop_stale(best)
        await self._revalidate(best)

    def _include(self, block_hash: bytes) -> None:
        """A block joined the best chain: forget what it holds."""
        block, body = self._chain.block_ref(block_hash), self._chain.body(block_hash)
        if block is not None and body is not None:
            for tx_hash in self._contents.include(block, body):
                self._returning.pop(tx_hash, None)

    def _take_back(self, block_hash: bytes) -> None:
        """A block left the best chain: what it held waits again, unless the new blocks hold it too."""
        for extrinsic in self._chain.body(block_hash) or []:
            tx_hash = blake2_256(extrinsic)
            if is_signed(extrinsic) or tx_hash in self._watchers:
                self._bans.lift(tx_hash)
                self._returning[tx_hash] = extrinsic
        while len(self._returning) > self._ready_limit.count:
            self._watchers.dropped(self._returning.popitem(last=False)[0])

    async def _return_to(self, best: BlockRef) -> None:
        """Validate what retracted blocks held; what nobody could judge is asked about with the next block."""
        for tx_hash, extrinsic in list(self._returning.items()):
            source = SOURCE_EXTERNAL if is_signed(extrinsic) else SOURCE_LOCAL
            try:
                transaction = await self._validated(tx_hash, extrinsic, source, best)
            except NotJudged:
                continue
            except PoolError as error:
                if self._chain.is_canonical(best) and self._returning.pop(tx_hash, None) is not None:
                    log.debug("Retracted transaction 0x%s does not return: %s", tx_hash.hex(), error)
                    self._watchers.invalid(tx_hash)
                continue
            if self._returning.pop(tx_hash, None) is not None:  # else a block has come that holds it
                self._contents.put_back(transaction)

    async def _drop_stale(self, best: BlockRef) -> None:
        """What has outlived the validity that it had when it was last asked about, and has none any more."""
        waiting = [*self._graph.ready(), *self._graph.futures()]
        for old in [each for each in waiting if each.valid_till <= best.number]:
            if not self._is_known_at(old.hash, best):
                await self._revalidate_one(old, best)
            new = self._graph.get(old.hash)
            if new is not None and new.valid_till <= best.number:
                self.remove_invalid([old.hash])

    async def _revalidate(self, best: BlockRef) -> None:
        """Ask the runtime again about all that wait, the longest unasked first."""
        waiting = [*self._graph.ready(), *self._graph.futures()]
        order = list(self._validated_at)
        self._validated_at = {key: self._validated_at[key] for key in order if key in self._graph}
        age = {tx_hash: index for index, tx_hash in enumerate(order)}
        waiting.sort(key=lambda transaction: age.get(transaction.hash, -1))
        for done, transaction in enumerate(waiting):
            if done >= REVALIDATION_BATCH and self._chain.best != best:
                return
            if transaction.hash in self._graph and not self._is_known_at(transaction.hash, best):
                await self._revalidate_one(transaction, best)

    def _is_known_at(self, tx_hash: bytes, best: BlockRef) -> bool:
        """Whether it was found valid at this block, or came in when the chain was further already: what was
        signed for a later block is not valid at an earlier one."""
        seen = self._validated_at.get(tx_hash)
        return seen is not None and (seen == best or seen.number > best.number)

    async def _revalidate_one(self, old: PoolTransaction, best: BlockRef) -> None:
        """At the block that the task works for: the next one may be there already."""
        try:
            new = await self._validated(old.hash, old.data, old.source, best)
        except VerificationFailed as error:
            log.debug("Transaction 0x%s could not be validated again: %s", old.hash.hex(), error)
            return
        except PoolError:
            if self._chain.is_canonical(best):  # else the chain has left the block that calls it invalid
                self.remove_invalid([old.hash])
            return
        if old.hash not in self._graph or self._graph.refresh(new):
            return
        self._contents.move(new)

    # Steps

    def _check_known(self, extrinsic: bytes, source: int) -> bytes:
        check_format(extrinsic)
        tx_hash = blake2_256(extrinsic)
        self._contents.check_not_used(tx_hash, source)
        return tx_hash

    async def _validated(
        self, tx_hash: bytes, extrinsic: bytes, source: int, at: BlockRef
    ) -> PoolTransaction:
        try:
            transaction = await self._validator.validate(extrinsic, source, at)
        except InvalidTransaction:
            if self._chain.is_canonical(at):
                self._bans.add(tx_hash)
            raise
        self._validated_at.pop(tx_hash, None)
        self._validated_at[tx_hash] = at
        return transaction
