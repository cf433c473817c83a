"""Pending transactions of an account on an EVM chain.

The pending block lists them if the provider has one; otherwise geth's pool does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from cfnode.core.foreign import ForeignError, whole_number
from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.provider import COUNT_BITS, evm_number, optional_call
from cfnode.sdk.recovery.transaction import PendingTransaction

__all__ = ["account_nonces", "pending_of"]

MAX_PENDING_TRANSACTIONS = 64
"""Maximum number of transactions read for an account; nodes keep about as many of one sender."""


def account_nonces(session: ClientSession, url: str, sender: str) -> Steps[tuple[int, int]]:
    """Return the account's next nonce after the blocks, and after its pending transactions."""
    done = yield from evm_number(session, url, "eth_getTransactionCount", [sender, "latest"], COUNT_BITS)
    pending = yield from optional_call(session, url, "eth_getTransactionCount", [sender, "pending"])
    try:
        return done, max(done, whole_number(pending, COUNT_BITS))
    except ForeignError:
        return done, done


def pending_of(session: ClientSession, url: str, sender: str) -> Steps[list[PendingTransaction]]:
    """Return the account's pending transactions, by nonce; none if the provider does not list them."""
    block = yield from optional_call(session, url, "eth_getBlockByNumber", ["pending", True])
    transactions = list(islice(_in_block(block, sender), MAX_PENDING_TRANSACTIONS))
    if not transactions:
        pool = yield from optional_call(session, url, "txpool_contentFrom", [sender])
        transactions = list(islice(_in_pool(pool), MAX_PENDING_TRANSACTIONS))
    return sorted(transactions, key=lambda transaction: transaction.nonce)


def _in_block(block: Any, sender: str) -> Iterator[PendingTransaction]:
    transactions = block.get("transactions") if isinstance(block, Mapping) else None
    for transaction in transactions if isinstance(transactions, list) else ():
        if isinstance(transaction, Mapping) and str(transaction.get("from")).lower() == sender.lower():
            yield from _read(transaction)


def _in_pool(pool: Any) -> Iterator[PendingTransaction]:
    waiting = pool.get("pending") if isinstance(pool, Mapping) else None
    for transaction in waiting.values() if isinstance(waiting, Mapping) else ():
        if isinstance(transaction, Mapping):
            yield from _read(transaction)


def _read(document: Mapping[str, Any]) -> Iterator[PendingTransaction]:
    """Yield the transaction; nothing if a member is malformed."""
    max_fee = document.get("maxFeePerGas") or document.get("gasPrice")
    tip = document.get("maxPriorityFeePerGas") or document.get("gasPrice")
    try:
        yield PendingTransaction(
            str(document["hash"])[:66],
            whole_number(document["nonce"], COUNT_BITS),
            bytes.fromhex(str(document.get("to") or "")[2:]),
            bytes.fromhex(str(document.get("input") or "")[2:]),
            whole_number(max_fee),
            whole_number(tip),
        )
    except (KeyError, TypeError, ValueError):
        return
