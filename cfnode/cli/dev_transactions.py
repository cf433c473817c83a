"""Hashes of transactions to the vaults of a development chain: made-up ones, and as explorers write them."""

from __future__ import annotations

from typing import Any

from cfnode.cli.dev_client import DevClient
from cfnode.core.hashing import blake2_256

__all__ = ["made_up", "reference"]


def made_up(node: DevClient, vault_swap: str) -> str:
    """Return a made-up transaction hash; it is the same for the same swap at the same block."""
    head = str(node.call("chain_getBlockHash"))
    return "0x" + blake2_256(f"{head} {vault_swap}".encode()).hex()


def reference(details: Any, transaction: str) -> str:
    """Return the transaction as its chain's explorers and `swap watch` name it."""
    from cfnode.swaps.events import transaction_text

    try:
        return (
            transaction_text(details["chain"], bytes.fromhex(transaction.removeprefix("0x"))) or transaction
        )
    except ValueError:
        return transaction
