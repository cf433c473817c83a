"""Events of a development chain's newest blocks, with or without the housekeeping ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cfnode.cli.dev_client import DevClient
from cfnode.core.foreign import block_number

__all__ = ["events_of"]

HOUSEKEEPING = {
    ("TransactionPayment", "TransactionFeePaid"),
    ("Swapping", "BatchSwapExecuted"),
    ("AssetBalances", "AccountCredited"),
}
"""Events that most blocks have, besides those of whole pallets."""


def events_of(node: DevClient, count: int, everything: bool) -> Iterator[dict[str, Any]]:
    """Yield the events of the last blocks, each with the number of its block."""
    best = block_number(node.call("chain_getHeader"))
    for number in range(max(best - count, 0) + 1, best + 1):
        for event in node.call("dev_events", node.call("chain_getBlockHash", number)):
            if everything or _matters(event["pallet"], event["name"]):
                yield {"blockNumber": number, **event}


def _matters(pallet: str, name: str) -> bool:
    if pallet in ("System", "Timestamp", "Flip", "LiquidityPools") or pallet.endswith("ThresholdSigner"):
        return False
    return not pallet.endswith("ChainTracking") and (pallet, name) not in HOUSEKEEPING
