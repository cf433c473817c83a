"""What is taken from a swap for the network, its broker and the affiliates?

All of it in USDC, in the middle of the swap, chunk by chunk. The network fee has a minimum that a request
pays once, with its first chunk; brokers' shares are of what the network fee has left.
"""

from __future__ import annotations

from typing import Any

from cfnode.runtime.dev.pallets.asset_balances import AssetBalances
from cfnode.runtime.dev.pallets.pools.pallet import STABLE

from .storage import SwappingStorage

__all__ = ["charge", "network_fee_due", "share"]

MILLION = 10**6
_PER_BASIS_POINT = 100


def charge(swapping: SwappingStorage, request: dict[str, Any], amount: int) -> tuple[int, int]:
    """Take the fees of a chunk from `amount` of USDC: network fee and brokers' fees, in all.

    The request's account of what it has paid changes in place.
    """
    if not isinstance(request["state"], tuple):
        return 0, 0
    network_fee = broker_fee = 0
    for kind, terms in request["state"][1]["fees"]:
        if kind == "NetworkFee":
            network_fee = network_fee_due(terms, amount)
            collected = swapping.CollectedNetworkFee
            collected.put(collected.get() + network_fee)
        else:
            broker_fee = _pay(swapping, terms, amount - network_fee)
    return network_fee, broker_fee


def network_fee_due(tracker: dict[str, Any], amount: int) -> int:
    """The network fee for a further `amount`; the tracker takes note."""
    fee, taken = tracker["network_fee"], tracker["accumulated_fee"]
    tracker["accumulated_stable_amount"] += amount
    due = max(share(fee["rate"], tracker["accumulated_stable_amount"]), fee["minimum"])
    taking: int = min(max(0, due - taken), amount)
    tracker["accumulated_fee"] = taken + taking
    return taking


def share(millionths: int, amount: int) -> int:
    """A part of an amount in parts per million, to the nearest, halves down."""
    return (millionths * amount + MILLION // 2 - 1) // MILLION


def _pay(swapping: SwappingStorage, beneficiaries: list[Any], amount: int) -> int:
    paid = 0
    for each in beneficiaries:
        part = share(each["bps"] * _PER_BASIS_POINT, amount)
        swapping.other(AssetBalances).credit(each["account"], STABLE, part)
        paid += part
    return paid
