"""Watchers of transactions, and the statuses that they receive.

It is Substrate's transaction status stream (`sc-transaction-pool-api`, `TransactionStatus`): a transaction
may become ready, be broadcast to peers, be included in a block, return when the block is retracted, be
included in another one, and ends as finalized, finalityTimeout, usurped, dropped or invalid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from cfnode.core.block import BlockRef
from cfnode.node.chain.events import EventSubscription, Publisher

FINALITY_TIMEOUT_BLOCKS = 512
"""Blocks after which the watchers of an unfinalized block end with finalityTimeout."""


class StatusKind(Enum):
    """The status of a transaction; the value is its name in JSON-RPC."""

    FUTURE = "future"
    READY = "ready"
    BROADCAST = "broadcast"
    IN_BLOCK = "inBlock"
    RETRACTED = "retracted"
    FINALITY_TIMEOUT = "finalityTimeout"
    FINALIZED = "finalized"
    USURPED = "usurped"
    DROPPED = "dropped"
    INVALID = "invalid"


_LAST = frozenset(
    {
        StatusKind.FINALITY_TIMEOUT,
        StatusKind.FINALIZED,
        StatusKind.USURPED,
        StatusKind.DROPPED,
        StatusKind.INVALID,
    }
)


@dataclass(frozen=True, slots=True)
class TxStatus:
    """One status of a transaction.

    `hash`: the block (inBlock, retracted, finalityTimeout, finalized) or the usurping transaction;
    `index`: the position in the block (inBlock, finalized); `peers`: the receivers (broadcast).
    """

    kind: StatusKind
    hash: bytes | None = None
    index: int | None = None
    peers: tuple[str, ...] = ()

    @property
    def is_last(self) -> bool:
        """Whether the stream ends with this status."""
        return self.kind in _LAST


@dataclass(frozen=True, slots=True)
class Watch:
    """A transaction under watch: its hash, and its statuses as a bounded stream that ends after the last."""

    hash: bytes
    statuses: EventSubscription[TxStatus]


@dataclass(slots=True)
class _WatchedBlock:
    number: int
    transactions: list[tuple[bytes, Publisher[TxStatus], int]]


class Watchers:
    """The watchers of each transaction, and the unfinalized blocks that include watched ones."""

    def __init__(self) -> None:
        self._watched: dict[bytes, Publisher[TxStatus]] = {}
        self._blocks: dict[bytes, _WatchedBlock] = {}

    def __contains__(self, tx_hash: bytes) -> bool:
        """Return whether the transaction has a watcher."""
        return tx_hash in self._watched

    @contextmanager
    def watch(self, tx_hash: bytes) -> Iterator[Watch]:
        """Yield the stream of statuses of a transaction that enters the pool inside the `with`.

        If the pool refuses it, the stream ends, and nothing is kept of it. An equal transaction may have been
        in a block before (the node's own transactions may repeat): its earlier watchers keep following that
        block.
        """
        before = self._watched.get(tx_hash)
        publisher = self._watched[tx_hash] = Publisher[TxStatus](None)
        watch = Watch(tx_hash, publisher.subscribe())
        try:
            yield watch
        except BaseException:
            watch.statuses.close()
            self._watched.pop(tx_hash, None)
            if before is not None:
                self._watched[tx_hash] = before
            raise

    def future(self, tx_hash: bytes) -> None:
        """Publish that a transaction waits for others."""
        self._publish(tx_hash, TxStatus(StatusKind.FUTURE))

    def ready(self, tx_hash: bytes) -> None:
        """Publish that a transaction may enter the next block."""
        self._publish(tx_hash, TxStatus(StatusKind.READY))

    def broadcast(self, tx_hash: bytes, peers: Iterable[str]) -> None:
        """Publish the peers to which a transaction was sent."""
        self._publish(tx_hash, TxStatus(StatusKind.BROADCAST, peers=tuple(peers)))

    def usurped(self, tx_hash: bytes, by: bytes) -> None:
        """Publish that another transaction has replaced a transaction."""
        self._publish(tx_hash, TxStatus(StatusKind.USURPED, by))

    def dropped(self, tx_hash: bytes) -> None:
        """Publish that a transaction has left the pool without entering a block."""
        self._publish(tx_hash, TxStatus(StatusKind.DROPPED))

    def invalid(self, tx_hash: bytes) -> None:
        """Publish that a transaction has become invalid."""
        self._publish(tx_hash, TxStatus(StatusKind.INVALID))

    def in_block(self, tx_hash: bytes, block: BlockRef, index: int) -> None:
        """Publish that a block of the best chain includes the transaction, at `index`."""
        if self._publish(tx_hash, TxStatus(StatusKind.IN_BLOCK, block.hash, index)):
            watched = self._blocks.setdefault(block.hash, _WatchedBlock(block.number, []))
            watched.transactions.append((tx_hash, self._watched[tx_hash], index))

    def retracted(self, block_hash: bytes) -> None:
        """Publish that the block has left the best chain."""
        for _, publisher, _ in self._take_block(block_hash):
            publisher.publish(TxStatus(StatusKind.RETRACTED, block_hash))

    def finalized(self, block_hash: bytes) -> None:
        """Publish that the block is final, and end the watches of its transactions."""
        for tx_hash, publisher, index in self._take_block(block_hash):
            self._end(tx_hash, publisher, TxStatus(StatusKind.FINALIZED, block_hash, index))

    def blocks(self) -> list[bytes]:
        """Return the hashes of the blocks whose finality watchers wait for."""
        return list(self._blocks)

    def give_up_before(self, best_number: int) -> None:
        """End the watch of unfinalized blocks `FINALITY_TIMEOUT_BLOCKS` or more behind `best_number`."""
        last_number = best_number - FINALITY_TIMEOUT_BLOCKS
        for block_hash in [key for key, watched in self._blocks.items() if watched.number <= last_number]:
            for tx_hash, publisher, _ in self._take_block(block_hash):
                self._end(tx_hash, publisher, TxStatus(StatusKind.FINALITY_TIMEOUT, block_hash))

    def drop_all(self) -> None:
        """End all watches: the transactions are dropped, and their blocks retracted."""
        for block_hash in self.blocks():
            for tx_hash, publisher, _ in self._take_block(block_hash):
                publisher.publish(TxStatus(StatusKind.RETRACTED, block_hash))
                self._end(tx_hash, publisher, TxStatus(StatusKind.DROPPED))
        for tx_hash in list(self._watched):
            self.dropped(tx_hash)

    def finish(self) -> None:
        """End all streams, since the node stops."""
        publishers = [
            publisher for watched in self._blocks.values() for _, publisher, _ in watched.transactions
        ]
        for publisher in (*self._watched.values(), *publishers):
            publisher.finish()
        self._watched.clear()
        self._blocks.clear()

    def _take_block(self, block_hash: bytes) -> list[tuple[bytes, Publisher[TxStatus], int]]:
        watched = self._blocks.pop(block_hash, None)
        return watched.transactions if watched else []

    def _publish(self, tx_hash: bytes, status: TxStatus) -> bool:
        """Send a status to the watchers; return whether any of them waits for more."""
        publisher = self._watched.get(tx_hash)
        if publisher is None:
            return False
        if status.is_last or not len(publisher):
            self._end(tx_hash, publisher, status)
            return False
        publisher.publish(status)
        return True

    def _end(self, tx_hash: bytes, publisher: Publisher[TxStatus], status: TxStatus) -> None:
        publisher.publish(status)
        publisher.finish()
        if self._watched.get(tx_hash) is publisher:
            del self._watched[tx_hash]
