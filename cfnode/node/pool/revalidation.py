"""The validations of a pool's transactions at each best block, after the first one.

A transaction stays valid for a number of blocks, and may become invalid before. So with each new best block
the transactions of retracted blocks are validated for their return, those whose time is over, and then all
others, the longest unvalidated first. A verdict counts only while its block is on the best chain.
"""

from __future__ import annotations

import logging
from collections import OrderedDict

from cfnode.core.block import BlockRef
from cfnode.core.hashing import blake2_256
from cfnode.core.validity import SOURCE_EXTERNAL, SOURCE_LOCAL
from cfnode.node.chain.view import ChainView
from cfnode.node.pool.contents import PoolContents
from cfnode.node.pool.errors import InvalidTransaction, NotJudged, PoolError, VerificationFailed
from cfnode.node.pool.transaction import PoolTransaction
from cfnode.node.pool.validation import TransactionValidator, is_signed

__all__ = ["Revalidation"]

log = logging.getLogger("cfnode.txpool")

REVALIDATION_BATCH = 64
"""Transactions that are validated again for one block, however soon the next block comes."""


class Revalidation:
    """The validator of a pool's transactions, which remembers where each was validated last.

    `max_retracted`: transactions of retracted blocks that wait to be validated.
    """

    def __init__(
        self, chain: ChainView, validator: TransactionValidator, contents: PoolContents, max_retracted: int
    ) -> None:
        self._chain = chain
        self._validator = validator
        self._contents = contents
        self._graph, self._watchers = contents.graph, contents.watchers
        self._bans, self._max_retracted = contents.bans, max_retracted
        self._validated_at: dict[bytes, BlockRef] = {}
        self._retracted: OrderedDict[bytes, bytes] = OrderedDict()

    async def run(self, best: BlockRef) -> None:
        """Do the slow work that a new best block requires."""
        await self._resubmit_retracted(best)
        await self._drop_stale(best)
        await self._revalidate(best)

    async def validated(self, tx_hash: bytes, extrinsic: bytes, source: int, at: BlockRef) -> PoolTransaction:
        """Return a transaction that is valid at a block. Raise PoolError; ban an invalid one."""
        try:
            transaction = await self._validator.validate(extrinsic, source, at)
        except InvalidTransaction:
            self.ban(tx_hash, at)
            raise
        self._validated_at.pop(tx_hash, None)
        self._validated_at[tx_hash] = at
        return transaction

    def ban(self, tx_hash: bytes, at: BlockRef) -> None:
        """Ban a transaction that was refused at a block, unless the chain has left that block."""
        if self._chain.is_canonical(at):
            self._bans.add(tx_hash)

    def forget(self, tx_hash: bytes) -> None:
        """Forget where a transaction was validated, since the pool has refused it."""
        self._validated_at.pop(tx_hash, None)

    def clear(self) -> None:
        """Forget all transactions."""
        self._validated_at.clear()
        self._retracted.clear()

    def queue_retracted(self, block_hash: bytes) -> None:
        """Queue the transactions of a block that left the best chain, unless the new blocks include them."""
        for extrinsic in self._chain.body(block_hash) or []:
            tx_hash = blake2_256(extrinsic)
            if is_signed(extrinsic) or tx_hash in self._watchers:
                self._bans.lift(tx_hash)
                self._retracted[tx_hash] = extrinsic
        while len(self._retracted) > self._max_retracted:
            self._watchers.dropped(self._retracted.popitem(last=False)[0])

    def included(self, tx_hash: bytes) -> None:
        """Record that a block of the best chain has a transaction."""
        self._retracted.pop(tx_hash, None)

    async def _resubmit_retracted(self, best: BlockRef) -> None:
        """Validate the transactions of retracted blocks. After a local fault, the next block tries again."""
        for tx_hash, extrinsic in list(self._retracted.items()):
            source = SOURCE_EXTERNAL if is_signed(extrinsic) else SOURCE_LOCAL
            try:
                transaction = await self.validated(tx_hash, extrinsic, source, best)
            except NotJudged:
                continue
            except PoolError as error:
                if self._chain.is_canonical(best) and self._retracted.pop(tx_hash, None) is not None:
                    log.debug("Retracted transaction 0x%s is dropped: %s", tx_hash.hex(), error)
                    self._watchers.invalid(tx_hash)
                continue
            if self._retracted.pop(tx_hash, None) is not None:  # else a new block has included it
                self._contents.counts.resubmitted += 1
                self._contents.put_back(transaction)

    async def _drop_stale(self, best: BlockRef) -> None:
        """Remove the transactions whose last validation has expired, and that are no longer valid."""
        transactions = [*self._graph.ready(), *self._graph.futures()]
        for old in [transaction for transaction in transactions if transaction.valid_till <= best.number]:
            if not self._is_known_at(old.hash, best):
                await self._revalidate_one(old, best)
            new = self._graph.get(old.hash)
            if new is not None and new.valid_till <= best.number:
                self._contents.remove_invalid([old.hash])

    async def _revalidate(self, best: BlockRef) -> None:
        """Validate all waiting transactions again, the longest unvalidated first."""
        transactions = [*self._graph.ready(), *self._graph.futures()]
        order = list(self._validated_at)
        self._validated_at = {key: self._validated_at[key] for key in order if key in self._graph}
        age = {tx_hash: index for index, tx_hash in enumerate(order)}
        transactions.sort(key=lambda transaction: age.get(transaction.hash, -1))
        for count, transaction in enumerate(transactions):
            if count >= REVALIDATION_BATCH and self._chain.best != best:
                return
            if transaction.hash in self._graph and not self._is_known_at(transaction.hash, best):
                await self._revalidate_one(transaction, best)

    def _is_known_at(self, tx_hash: bytes, best: BlockRef) -> bool:
        """Return whether the transaction was validated at this block, or at a later one.

        A transaction that was signed for a later block is not valid at an earlier one.
        """
        validated = self._validated_at.get(tx_hash)
        return validated is not None and (validated == best or validated.number > best.number)

    async def _revalidate_one(self, old: PoolTransaction, best: BlockRef) -> None:
        """Validate a transaction again at `best`, even if the chain has a newer best block by now."""
        try:
            new = await self.validated(old.hash, old.data, old.source, best)
        except VerificationFailed as error:
            log.debug("Transaction 0x%s could not be validated again: %s", old.hash.hex(), error)
            return
        except PoolError:
            if self._chain.is_canonical(best):  # else the chain has left the block that calls it invalid
                self._contents.remove_invalid([old.hash])
            return
        if old.hash not in self._graph or self._graph.refresh(new):
            return
        self._contents.move(new)
