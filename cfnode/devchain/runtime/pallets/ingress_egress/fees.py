"""Ingress and egress fees: their estimates, and how they are withheld.

The user pays: the fee is estimated from what is known of the chain (`ChainTracking`), withheld from the
amount and kept for the authorities' transaction costs. A fee in a token is swapped into the chain's coin.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import FeeData
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.chain_tracking import FIXED_ONE
from cfnode.devchain.runtime.pallets.swap_requests.conversion import input_for_output
from cfnode.devchain.runtime.pallets.swap_requests.requests import request_fee_swap
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage

from .storage import IngressEgressStorage

__all__ = [
    "Withheld",
    "egress_estimate",
    "fee_of",
    "ingress_estimate",
    "withhold",
]


@dataclass(frozen=True, slots=True)
class Withheld:
    """Remainder of an amount after a fee, and the reported fee, both in the amount's asset."""

    remaining: int
    fee: int


def withhold(pallet: IngressEgressStorage, asset: str, available: int, estimate: int) -> Withheld:
    """Take a fee, estimated in the chain's coin, from `available`; it may leave nothing."""
    after_fee = fee_of(pallet, asset, available, estimate)
    if asset == pallet.gas_asset:
        pallet.other(AssetBalances).accrue_fee(asset, min(estimate, available))
    elif after_fee.fee:
        request_fee_swap(pallet.other(SwappingStorage), asset, after_fee.fee, pallet.gas_asset)
    return after_fee


def fee_of(pallet: IngressEgressStorage, asset: str, available: int, estimate: int) -> Withheld:
    """Return what `withhold` would take and leave."""
    if asset == pallet.gas_asset:
        # The whole estimate is reported, even where the amount does not cover it.
        return Withheld(max(0, available - estimate), estimate)
    swapping = pallet.other(SwappingStorage)
    fee = min(input_for_output(swapping, asset, pallet.gas_asset, estimate), available)
    return Withheld(available - fee, fee)


def ingress_estimate(pallet: IngressEgressStorage, asset: str, origin: str = "DepositChannel") -> int:
    """Return the cost of bringing a deposit of `asset` into the vault, in the chain's own coin.

    `origin` is a value of `DepositOriginType`.
    """
    costs = pallet.chain.costs
    estimate = costs.ingress if origin == "DepositChannel" else costs.vault_ingress
    return _scaled(pallet, estimate(_basis(pallet), _is_native(asset)))


def egress_estimate(
    pallet: IngressEgressStorage, asset: str, ccm: values.CcmChannelMetadata[object] | None = None
) -> int:
    """Return the cost of a transfer of `asset`, with the message `ccm` if any, in the chain's own coin."""
    costs, basis = pallet.chain.costs, _basis(pallet)
    if ccm is None:
        return _scaled(pallet, costs.egress(basis, _is_native(asset)))
    estimate = costs.message(basis, _is_native(asset), ccm.gas_budget, len(ccm.message))
    return _scaled(pallet, estimate) if costs.scales_messages else estimate


def _is_native(asset: str) -> bool:
    return ASSETS[asset].chain_index == 0


def _basis(pallet: IngressEgressStorage) -> FeeData:
    return pallet.chain.costs.basis(pallet.tracking.tracked_data(), pallet.runtime.release.rules)


def _scaled(pallet: IngressEgressStorage, estimate: int) -> int:
    multiplier: int = pallet.tracking.FeeMultiplier.get()
    return min(estimate * multiplier // FIXED_ONE, pallet.chain.max_amount)
