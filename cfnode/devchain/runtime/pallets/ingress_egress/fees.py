"""Ingress and egress fees: their estimates, and how they are withheld.

The user pays: the fee is estimated from what is known of the chain (`ChainTracking`), withheld from the
amount and kept for the authorities' transaction costs. A fee in a token is swapped into the chain's coin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.chain_tracking import FIXED_ONE
from cfnode.devchain.runtime.pallets.gas import (
    SUN_PER_BYTE,
    SUN_PER_ENERGY,
    FeeData,
    ccm_gas_limit,
    fee_data,
    gas_price,
)
from cfnode.devchain.runtime.pallets.swap_requests.conversion import input_for_output
from cfnode.devchain.runtime.pallets.swap_requests.requests import request_fee_swap
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.devchain.runtime.rules import TronEnergy

from .storage import IngressEgressStorage

__all__ = [
    "Withheld",
    "egress_estimate",
    "fee_of",
    "ingress_estimate",
    "withhold",
]

MICRO = 10**6
BATCH_ENERGY = 40_000
"""Energy that each batch on Tron takes."""


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

    `origin` is a value of `DepositOriginType`: on most chains what is sent to the vault is there already.
    """
    native, tracked = ASSETS[asset].chain_index == 0, fee_data(pallet)
    estimates = _INGRESS if origin == "DepositChannel" else _VAULT_INGRESS
    return _scaled(pallet, estimates[pallet.chain.name](tracked, native))


def egress_estimate(
    pallet: IngressEgressStorage, asset: str, ccm: values.CcmChannelMetadata[object] | None = None
) -> int:
    """Return the cost of a transfer of `asset`, with the message `ccm` if any, in the chain's own coin."""
    native, tracked = ASSETS[asset].chain_index == 0, fee_data(pallet)
    if ccm is None:
        return _scaled(pallet, _EGRESS[pallet.chain.name](tracked, native))
    estimate = _CCM[pallet.chain.name](tracked, native, ccm.gas_budget, len(ccm.message))
    return estimate if pallet.chain.name == "Tron" else _scaled(pallet, estimate)


def _scaled(pallet: IngressEgressStorage, estimate: int) -> int:
    max_amount = (1 << int(pallet.chain.family.amount.removeprefix("u"))) - 1
    return min(estimate * int(pallet.tracking.FeeMultiplier.get()) // FIXED_ONE, max_amount)


def _sats_per_kilobyte(tracked: FeeData) -> int:
    assert isinstance(tracked, values.BitcoinTrackedData)
    return tracked.btc_fee_info.sats_per_kilobyte


def _energy(tracked: FeeData) -> TronEnergy:
    assert isinstance(tracked, TronEnergy)
    return tracked


def _bitcoin_ingress(tracked: FeeData, native: bool) -> int:
    return 78 * _sats_per_kilobyte(tracked) // 1000


def _bitcoin_egress(tracked: FeeData, native: bool) -> int:
    """Return the cost of the fixed part, one vault input and two outputs, by their virtual bytes."""
    rate = _sats_per_kilobyte(tracked)
    return 16 * rate // 1000 + 58 * rate // 1000 + 2 * (51 * rate // 1000)


def _solana(tracked: FeeData, units: int, rent: int = 0) -> int:
    """Return the signature's fee, compute units at their price, and for a token a new account's rent."""
    assert isinstance(tracked, values.SolTrackedData)
    price = max(tracked.priority_fee, 10 * MICRO)
    return 5_000 + -(-price * units // MICRO) + rent


def _solana_egress(tracked: FeeData, native: bool) -> int:
    return _solana(tracked, 900) if native else _solana(tracked, 75_675, 2_039_280)


def _tron(size: int, energy: int) -> int:
    """Return the cost of a batch of `size` bytes with one transfer or fetch, in sun."""
    return (BATCH_ENERGY + energy) * SUN_PER_ENERGY + size * SUN_PER_BYTE


def _tron_egress(tracked: FeeData, native: bool) -> int:
    energy = _energy(tracked)
    return _tron(668, energy.transfer if native else energy.transfer_token)


def _solana_ccm(tracked: FeeData, native: bool, budget: int, length: int) -> int:
    units = min(600_000, budget + (40_000 if native else 80_000))
    return _solana(tracked, units, 0 if native else 2_039_280)


def _tip(tracked: FeeData, fixed: int) -> int:
    assert isinstance(tracked, (values.PolkadotTrackedData, values.AssethubTrackedData))
    return tracked.median_tip + fixed


def _substrate_ingress(tracked: FeeData, native: bool) -> int:
    return _tip(tracked, 197_300_000)


def _substrate_egress(tracked: FeeData, native: bool) -> int:
    return _tip(tracked, 197_450_000)


def _evm_ccm(chain: str) -> Callable[[FeeData, bool, int, int], int]:
    def estimate(tracked: FeeData, native: bool, budget: int, length: int) -> int:
        return gas_price(tracked) * ccm_gas_limit(chain, tracked, native, budget, length)

    return estimate


_INGRESS: dict[str, Callable[[FeeData, bool], int]] = {
    "Ethereum": lambda tracked, native: gas_price(tracked) * (50_000 if native else 80_000),
    "Arbitrum": lambda tracked, native: gas_price(tracked) * (60_000 if native else 90_000),
    "Bitcoin": _bitcoin_ingress,
    "Solana": lambda tracked, native: _solana(tracked, 38_175 if native else 68_175),
    "Polkadot": _substrate_ingress,
    "Assethub": _substrate_ingress,
    "Tron": lambda tracked, native: _tron(636, 5_000 if native else _energy(tracked).fetch_token),
    "Bsc": lambda tracked, native: gas_price(tracked) * (70_000 if native else 86_000),
}
_VAULT_INGRESS = _INGRESS | {
    "Polkadot": lambda tracked, native: 0,
    "Assethub": lambda tracked, native: 0,
    "Ethereum": lambda tracked, native: 0,
    "Arbitrum": lambda tracked, native: 0,
    "Solana": lambda tracked, native: _solana(tracked, 39_000),
    "Tron": lambda tracked, native: 0,
    "Bsc": lambda tracked, native: 0,
}
_EGRESS: dict[str, Callable[[FeeData, bool], int]] = {
    "Ethereum": lambda tracked, native: gas_price(tracked) * (70_000 if native else 90_000),
    "Arbitrum": lambda tracked, native: gas_price(tracked) * (80_000 if native else 100_000),
    "Bitcoin": _bitcoin_egress,
    "Solana": _solana_egress,
    "Polkadot": _substrate_egress,
    "Assethub": _substrate_egress,
    "Tron": _tron_egress,
    "Bsc": lambda tracked, native: gas_price(tracked) * (106_000 if native else 105_000),
}
_CCM: dict[str, Callable[[FeeData, bool, int, int], int]] = {
    "Ethereum": _evm_ccm("Ethereum"),
    "Arbitrum": _evm_ccm("Arbitrum"),
    "Bsc": _evm_ccm("Bsc"),
    "Solana": _solana_ccm,
    "Assethub": lambda tracked, native, budget, length: _tip(tracked, 100_000_000 + 2_000_000 * length),
    "Tron": lambda tracked, native, budget, length: ccm_gas_limit("Tron", tracked, native, budget, length),
}
