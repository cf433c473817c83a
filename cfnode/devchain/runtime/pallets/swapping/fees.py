"""What is taken from a swap for the network, its broker and the affiliates?

All of it in USDC, in the middle of the swap, chunk by chunk. The network fee has a minimum that a user's
request pays once, with its first chunk; brokers' shares are of what the network fee has left. A fee for a
foreign chain that is swapped into its coin pays the rate too, but no minimum; the network's own swaps pay
nothing.
"""

from __future__ import annotations

from typing import Any

from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.pools.pallet import STABLE

from .storage import SwappingStorage

__all__ = ["charge", "network_fee", "network_fee_due", "share", "tracker_of"]

MILLION = 10**6
_PER_BASIS_POINT = 100


def charge(swapping: SwappingStorage, request: dict[str, Any], amount: int) -> tuple[int, int]:
    """Take the fees of a chunk from `amount` of USDC: network fee and brokers' fees, in all.

    The request's account of what it has paid changes in place.
    """
    for_network = for_brokers = 0
    for kind, terms in _fees_of(swapping, request):
        if kind == "NetworkFee":
            for_network = network_fee_due(terms, amount)
            collected = swapping.CollectedNetworkFee
            collected.put(collected.get() + for_network)
        else:
            for_brokers = _pay(swapping, terms, amount - for_network)
    return for_network, for_brokers


def network_fee(swapping: SwappingStorage, *assets: str, internal: bool = False) -> dict[str, int]:
    """`FeeRateAndMinimum` of a swap between assets: the highest rate of theirs."""
    standard, of_asset = swapping.NetworkFee.get(), swapping.NetworkFeeForAsset
    if internal:
        standard, of_asset = swapping.InternalSwapNetworkFee.get(), swapping.InternalSwapNetworkFeeForAsset
    own = [of_asset.get(asset) for asset in assets]
    fee: dict[str, int] = standard | {"rate": max(standard["rate"] if rate is None else rate for rate in own)}
    return fee


def tracker_of(fee: dict[str, int]) -> dict[str, Any]:
    """The `NetworkFeeTracker` of a request that has paid nothing yet."""
    return {"network_fee": fee, "accumulated_stable_amount": 0, "accumulated_fee": 0}


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


def _fees_of(swapping: SwappingStorage, request: dict[str, Any]) -> list[tuple[str, Any]]:
    if isinstance(request["state"], tuple):
        fees: list[tuple[str, Any]] = request["state"][1]["fees"]
        return fees
    if request["state"] == "NetworkFee":
        return []
    fee = network_fee(swapping, request["input_asset"], request["output_asset"])
    return [("NetworkFee", tracker_of(fee | {"minimum": 0}))]


def _pay(swapping: SwappingStorage, beneficiaries: list[Any], amount: int) -> int:
    paid = 0
    for each in beneficiaries:
        part = share(each["bps"] * _PER_BASIS_POINT, amount)
        swapping.other(AssetBalances).credit(each["account"], STABLE, part)
        paid += part
    return paid
