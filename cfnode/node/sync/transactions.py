"""Exchange of transactions with peers.

A ready transaction is sent to every peer that is not known to have it: at its arrival, together with those
that arrive within `ARRIVAL_INTERVAL_S`, and with all others to each new peer. A transaction that is in no
block a minute later is sent again, since a pool may have lost it in a restart or at a fork. Transactions of
peers are validated like any others, some at a time; an invalid one is charged to its sender. While the node
syncs, they are read and dropped: unread ones would be outdated afterwards, and a peer that cannot send them
ends the connection. Substrate, network transactions.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator

import trio

from cfnode.core.bounded import BoundedDict
from cfnode.core.hashing import blake2_256
from cfnode.core.wire import WireError
from cfnode.core.wire.transactions import SUFFIX, decode_transactions, encode_transactions
from cfnode.network.interface import (
    Closed,
    NotificationLimits,
    NotificationProtocol,
    PeerNetwork,
    ProtocolOpened,
    Received,
)
from cfnode.node.asking import reputation
from cfnode.node.asking.progress import SyncProgress
from cfnode.node.pool.errors import InvalidTransaction, PoolError
from cfnode.node.pool.pool import TransactionPool
from cfnode.node.pool.transaction import PoolTransaction
from cfnode.runtime.calls import RuntimeCallError
from cfnode.store import StateDiscarded, UnknownBlock

__all__ = ["TransactionGossip"]

log = logging.getLogger("cfnode.txpool")

DISTRIBUTION_INTERVAL_S = 2.9
"""Seconds between two looks at the whole pool."""
ARRIVAL_INTERVAL_S = 0.05
"""Seconds between two notifications with arrivals: under load each carries several transactions, so that a
peer's queue does not fill with short ones. The first arrival after a pause is sent at once."""
TRANSACTION_RESEND_S = 60.0
"""Seconds after which a transaction that is in no block is sent to a peer again: ten blocks."""
MAX_VALIDATIONS = 8
"""Transactions of peers that are validated at a time: as many as the executor takes ahead."""
MAX_NOTIFICATION_BYTES = 1 << 20
"""Bytes of transactions in one notification; the first transaction may be larger."""
MAX_KNOWN_TRANSACTIONS = 10_240
"""Transactions that each peer is known to have, as in Substrate."""
TRANSACTION_NOTIFICATION_LIMITS = NotificationLimits(
    message=16 << 20, per_second=1_000, burst=8_192, usual=8 << 10
)
"""Limits of the protocol. A Substrate node sends each transaction in a notification of its own, and to a new
peer all that its pool has: 8,192 at most."""


class TransactionGossip:
    """The transactions protocol of one node. Create it before the network runs."""

    def __init__(self, network: PeerNetwork, pool: TransactionPool, progress: SyncProgress) -> None:
        self._network = network
        self._pool = pool
        self._progress = progress
        self._protocol: NotificationProtocol = network.notifications(
            SUFFIX, lambda: b"\x01", TRANSACTION_NOTIFICATION_LIMITS
        )
        self._known: dict[str, BoundedDict[bytes, float]] = {}
        self._validations = trio.Semaphore(MAX_VALIDATIONS)
        self.propagated = 0
        """Transactions sent to at least one peer so far; a transaction that is sent again counts again."""

    async def run(self) -> None:
        """Exchange transactions until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._listen, nursery)
            nursery.start_soon(self._propagate_arrivals)
            while True:
                self._propagate(self._known)
                await trio.sleep(DISTRIBUTION_INTERVAL_S)

    async def _propagate_arrivals(self) -> None:
        while True:
            with self._pool.arrivals() as arrivals:
                async for tx_hash in arrivals:
                    hashes = [tx_hash]
                    while (tx_hash_after := arrivals.receive_nowait()) is not None:
                        hashes.append(tx_hash_after)
                    self._send(self._still_ready(hashes), self._known)
                    await trio.sleep(ARRIVAL_INTERVAL_S)

    def _still_ready(self, hashes: Iterable[bytes]) -> Iterator[PoolTransaction]:
        for tx_hash in hashes:
            transaction = self._pool.get(tx_hash)
            if transaction is not None and not self._pool.is_future(tx_hash):
                yield transaction

    def _propagate(self, peers: Collection[str]) -> None:
        """Send peers all ready transactions that they are not known to have."""
        if peers:
            self._send(self._pool.ready(), peers)

    def _send(self, transactions: Iterable[PoolTransaction], peers: Iterable[str]) -> None:
        """Send peers those of the transactions that they are not known to have."""
        peers_of: dict[bytes, list[str]] = {}
        ready = [
            (transaction.hash, transaction.data) for transaction in transactions if transaction.propagate
        ]
        old = trio.current_time() - TRANSACTION_RESEND_S
        for peer in peers:
            known_hashes = self._known[peer]
            unsent = [
                (tx_hash, extrinsic) for tx_hash, extrinsic in ready if known_hashes.get(tx_hash, old) <= old
            ]
            for message in _messages(unsent):
                data = encode_transactions([extrinsic for _, extrinsic in message])
                if not self._protocol.send(peer, data):
                    break
                for tx_hash, _ in message:
                    known_hashes.put_last(tx_hash, trio.current_time())
                    peers_of.setdefault(tx_hash, []).append(peer)
        self.propagated += len(peers_of)
        for tx_hash, peers in peers_of.items():
            self._pool.mark_broadcast(tx_hash, peers)

    async def _listen(self, nursery: trio.Nursery) -> None:
        async for event in self._protocol.events:
            match event:
                case ProtocolOpened(peer_id=peer):
                    self._known[peer] = BoundedDict(MAX_KNOWN_TRANSACTIONS)
                    self._propagate([peer])
                case Closed(peer_id=peer):
                    self._known.pop(peer, None)
                case Received(peer_id=peer, data=data):
                    await self._received(peer, data, nursery)

    async def _received(self, peer: str, data: bytes, nursery: trio.Nursery) -> None:
        if self._progress.is_syncing or peer not in self._known:
            return
        try:
            extrinsics = decode_transactions(data)
        except WireError as error:
            self._network.report(peer, reputation.BAD_MESSAGE, str(error))
            return
        for extrinsic in extrinsics:
            if peer not in self._known:
                return
            self._known[peer].put_last(blake2_256(extrinsic), trio.current_time())
            await self._validations.acquire()
            nursery.start_soon(self._submit, peer, extrinsic)

    async def _submit(self, peer: str, extrinsic: bytes) -> None:
        try:
            await self._pool.submit(extrinsic)
        except InvalidTransaction as error:
            self._network.report(peer, reputation.BAD_MESSAGE, f"it sent an invalid transaction: {error}")
        except (PoolError, RuntimeCallError, UnknownBlock, StateDiscarded) as error:
            log.debug("A transaction of %s is not accepted: %s", peer, error)
        finally:
            self._validations.release()


def _messages(news: list[tuple[bytes, bytes]]) -> Iterator[list[tuple[bytes, bytes]]]:
    """Yield the transactions, grouped into notifications of a size that every peer accepts."""
    message: list[tuple[bytes, bytes]] = []
    size = 0
    for tx_hash, extrinsic in news:
        if message and size + len(extrinsic) > MAX_NOTIFICATION_BYTES:
            yield message
            message, size = [], 0
        message.append((tx_hash, extrinsic))
        size += len(extrinsic)
    if message:
        yield message
