"""Fees of a swap for the network, its broker and the affiliates.

All fees are taken in USDC, in the middle of the swap, chunk by chunk. The network fee has a minimum that a
user's request pays once, with its first chunk; brokers' shares are of what the network fee has left. A fee
for a foreign chain that is swapped into its coin pays the rate too, but no minimum; the network's own swaps
pay nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.pools.pallet import STABLE

from .storage import SwappingStorage

__all__ = ["Charged", "charge", "network_fee", "network_fee_due", "share", "tracker_of"]

MILLION = 10**6
_PER_BASIS_POINT = 100


@dataclass(frozen=True, slots=True)
class Charged:
    """Fees taken from a chunk, in USDC; the request knows what it has paid."""

    request: values.SwapRequest
    network_fee: int
    broker_fee: int


def charge(swapping: SwappingStorage, request: values.SwapRequest, amount: int) -> Charged:
    """Take the fees of a chunk from `amount` of USDC."""
    for_network = for_brokers = 0
    fees = list[values.FeeType]()
    for fee in _fees_of(swapping, request):
        match fee:
            case values.FeeTypeNetworkFee(tracker):
                for_network, tracker = network_fee_due(tracker, amount)
                collected = swapping.CollectedNetworkFee
                collected.put(collected.get() + for_network)
                fees.append(values.FeeTypeNetworkFee(tracker))
            case values.FeeTypeBrokerFee(beneficiaries):
                for_brokers = _pay(swapping, beneficiaries, amount - for_network)
                fees.append(fee)
    state = request.state
    if isinstance(state, values.SwapRequestStateUserSwap):
        request = replace(request, state=replace(state, fees=fees))
    return Charged(request, for_network, for_brokers)


def network_fee(swapping: SwappingStorage, *assets: str, internal: bool = False) -> values.FeeRateAndMinimum:
    """Return the network fee of a swap between assets: the highest of their rates, and the minimum."""
    standard, of_asset = swapping.NetworkFee.get(), swapping.NetworkFeeForAsset
    if internal:
        standard, of_asset = swapping.InternalSwapNetworkFee.get(), swapping.InternalSwapNetworkFeeForAsset
    asset_rates = [of_asset.get(asset) for asset in assets]
    return replace(standard, rate=max(standard.rate if rate is None else rate for rate in asset_rates))


def tracker_of(fee: values.FeeRateAndMinimum) -> values.NetworkFeeTracker:
    """Return the fee tracker of a request that has paid nothing yet."""
    return values.NetworkFeeTracker(network_fee=fee, accumulated_stable_amount=0, accumulated_fee=0)


def network_fee_due(tracker: values.NetworkFeeTracker, amount: int) -> tuple[int, values.NetworkFeeTracker]:
    """Return the network fee for a further `amount`, and the tracker with it."""
    fee, stable = tracker.network_fee, tracker.accumulated_stable_amount + amount
    due_fee = max(share(fee.rate, stable), fee.minimum)
    taking = min(max(0, due_fee - tracker.accumulated_fee), amount)
    total_paid = tracker.accumulated_fee + taking
    return taking, replace(tracker, accumulated_stable_amount=stable, accumulated_fee=total_paid)


def share(millionths: int, amount: int) -> int:
    """Return a part of an amount, in parts per million, rounded to the nearest, halves down."""
    return (millionths * amount + MILLION // 2 - 1) // MILLION


def _fees_of(swapping: SwappingStorage, request: values.SwapRequest) -> Iterable[values.FeeType]:
    if isinstance(request.state, values.SwapRequestStateUserSwap):
        return request.state.fees
    if request.state == "NetworkFee":
        return ()
    fee = network_fee(swapping, request.input_asset, request.output_asset)
    return [values.FeeTypeNetworkFee(tracker_of(replace(fee, minimum=0)))]


def _pay(swapping: SwappingStorage, beneficiaries: Iterable[values.Beneficiary[bytes]], amount: int) -> int:
    paid = 0
    for beneficiary in beneficiaries:
        fee_share = share(beneficiary.bps * _PER_BASIS_POINT, amount)
        swapping.other(AssetBalances).credit(beneficiary.account, STABLE, fee_share)
        paid += fee_share
    return paid
