"""Failed transfers of a batch, from the vault's events in the receipt of its transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from cfnode.core.foreign import hex_number
from cfnode.core.vault_calls import NATIVE_TOKEN
from cfnode.sdk.exchange import Steps
from cfnode.sdk.options import ClientSession
from cfnode.sdk.recovery.payload import Payload
from cfnode.sdk.recovery.provider import optional_call

__all__ = ["calls_for_batch"]

MAX_RECEIPT_LOGS = 1_000
"""Maximum events of a receipt that are read; a batch has at most some hundred."""
_NATIVE_FAILED = "0x2c024f929e1e2dec521388b8607f880d3bb3165478e3c80b1a4c280e0130d981"
_TOKEN_FAILED = "0x158555118e14c8fb6d2e41d2bf4c3c75c8bcab740492ca50f44458a2bd021715"

_Transfer = tuple[bytes, bytes, bytes, int]
"""Vault, token, recipient and amount."""


def calls_for_batch(
    session: ClientSession, url: str, transaction: bytes, calls: Collection[Payload]
) -> Steps[tuple[Payload, ...]]:
    """Return the calls that repeat a transfer that failed in a transaction of the EVM chain."""
    identity = "0x" + transaction.hex()
    receipt = yield from optional_call(session, url, "eth_getTransactionReceipt", [identity])
    failed = set(_failed(receipt))
    return tuple(
        call
        for call in calls
        if (call.vault, call.transfer.token, call.transfer.recipient, call.transfer.amount) in failed
    )


def _failed(receipt: Any) -> Iterator[_Transfer]:
    logs = receipt.get("logs") if isinstance(receipt, Mapping) else None
    for log in logs[:MAX_RECEIPT_LOGS] if isinstance(logs, list) else ():
        try:
            topics = [str(topic).lower() for topic in log["topics"]]
            vault, amount = bytes.fromhex(log["address"][2:]), hex_number(log["data"][:66], 256)
            recipient = bytes.fromhex(topics[1][26:])
            if topics[0] == _NATIVE_FAILED:
                yield vault, NATIVE_TOKEN, recipient, amount
            elif topics[0] == _TOKEN_FAILED:
                yield vault, bytes.fromhex(topics[2][26:]), recipient, amount
        except (TypeError, KeyError, IndexError, ValueError):
            continue
