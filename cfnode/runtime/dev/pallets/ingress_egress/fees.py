"""What does a transfer out of the vault cost, and who pays for it?

The receiver: the fee is estimated from what is known of the chain (`ChainTracking`), withheld from the amount
and kept for the authorities' transaction costs. A fee in a token is swapped into the chain's coin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cfnode.core.assets import ASSETS
from cfnode.runtime.dev.pallets.asset_balances import AssetBalances
from cfnode.runtime.dev.pallets.chain_tracking import FIXED_ONE
from cfnode.runtime.dev.pallets.swapping.conversion import input_for_output
from cfnode.runtime.dev.pallets.swapping.requests import request_fee_swap
from cfnode.runtime.dev.pallets.swapping.storage import SwappingStorage

if TYPE_CHECKING:
    from .pallet import IngressEgress

__all__ = ["EgressFee", "egress_estimate", "withhold_egress_fee"]

MICRO = 10**6


@dataclass(frozen=True, slots=True)
class EgressFee:
    """What remains of an amount, and the fee that was reported, both in the egress asset."""

    remaining: int
    withheld: int


def withhold_egress_fee(pallet: IngressEgress, asset: str, available: int) -> EgressFee:
    """Take the fee of a plain transfer from `available`; it may leave nothing."""
    estimate = egress_estimate(pallet, asset)
    gas_asset = pallet.gas_asset
    if asset == gas_asset:
        pallet.other(AssetBalances).withhold(asset, min(estimate, available))
        # The whole estimate is reported, even where the amount does not cover it.
        return EgressFee(max(0, available - estimate), estimate)
    swapping = pallet.other(SwappingStorage)
    fee = min(input_for_output(swapping, asset, gas_asset, estimate), available)
    if fee:
        request_fee_swap(swapping, asset, fee, gas_asset)
    return EgressFee(available - fee, fee)


def egress_estimate(pallet: IngressEgress, asset: str) -> int:
    """What a plain transfer of `asset` costs, in the chain's own coin."""
    native = ASSETS[asset].chain_index == 0
    estimate = _ESTIMATES[pallet.chain.name](pallet.tracking.tracked_data(), native)
    return estimate * int(pallet.tracking.FeeMultiplier.get()) // FIXED_ONE


def _ethereum(tracked: Any, native: bool) -> int:
    gas_price: int = tracked["base_fee"] + tracked["priority_fee"]
    return gas_price * (70_000 if native else 90_000)


def _arbitrum(tracked: Any, native: bool) -> int:
    gas_price: int = tracked["base_fee"]
    return gas_price * (80_000 if native else 100_000)


def _bitcoin(tracked: Any, native: bool) -> int:
    """A transaction's fixed part, one vault input and two outputs, by their virtual bytes."""
    rate: int = tracked["btc_fee_info"]["sats_per_kilobyte"]
    return 16 * rate // 1000 + 58 * rate // 1000 + 2 * (51 * rate // 1000)


def _solana(tracked: Any, native: bool) -> int:
    """The signature's fee, compute units at their price, and for a token the rent of a new account."""
    price: int = max(tracked["priority_fee"], 10 * MICRO)
    units, rent = (900, 0) if native else (75_675, 2_039_280)
    return 5_000 + -(-price * units // MICRO) + rent


def _assethub(tracked: Any, native: bool) -> int:
    tip: int = tracked["median_tip"]
    return tip + 197_450_000


def _tron(tracked: Any, native: bool) -> int:
    return 6_168_000 if native else 12_668_000


_ESTIMATES: dict[str, Callable[[Any, bool], int]] = {
    "Ethereum": _ethereum,
    "Arbitrum": _arbitrum,
    "Bitcoin": _bitcoin,
    "Solana": _solana,
    "Assethub": _assethub,
    "Tron": _tron,
}
