"""Gas prices of the EVM chains, and gas limits of cross-chain messages."""

from __future__ import annotations

from typing import Protocol

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import ChainInstance, TrackedData
from cfnode.devchain.runtime.frame import PalletRuntime
from cfnode.devchain.runtime.pallets.chain_tracking import ChainTracking
from cfnode.devchain.runtime.rules import TronEnergy

__all__ = [
    "MIN_BSC_GAS_PRICE",
    "SUN_PER_BYTE",
    "SUN_PER_ENERGY",
    "FeeData",
    "ccm_gas_limit",
    "fee_data",
    "gas_price",
]

FeeData = TrackedData | TronEnergy
MIN_BSC_GAS_PRICE = 100_000_000
"""Wei below which no validator of BSC takes a transaction."""
_BYTES_OF_L1_CALL = 356 + 36
SUN_PER_ENERGY, SUN_PER_BYTE = 100, 1_000
"""Prices of energy and of bytes on Tron."""


class HasTracking(Protocol):
    """A pallet of a chain."""

    @property
    def chain(self) -> ChainInstance: ...

    @property
    def runtime(self) -> PalletRuntime: ...

    @property
    def tracking(self) -> ChainTracking: ...


def fee_data(pallet: HasTracking) -> FeeData:
    """Return what a chain's fees depend on: its tracked data, or on Tron the release's energy."""
    if pallet.chain.name == "Tron":
        return pallet.runtime.release.rules.tron_energy
    return pallet.tracking.tracked_data()


def ccm_gas_limit(chain: str, tracked: FeeData, native: bool, budget: int, length: int) -> int:
    """Return the gas limit of a message; on Tron its fee limit in sun."""
    fixed = (90_000 if native else 120_000) + length
    if chain == "Ethereum":
        return min(budget + fixed, 10_000_000)
    if chain == "Bsc":
        return min(fixed + budget, 10_000_000)
    if isinstance(tracked, values.ArbitrumTrackedData):
        first_layer = -(-tracked.l1_base_fee_estimate * 16 * _BYTES_OF_L1_CALL // tracked.base_fee)
        return min(fixed + first_layer + budget, 25_000_000)
    assert isinstance(tracked, TronEnergy)
    energy = tracked.message + budget + (tracked.transfer if native else tracked.transfer_token)
    return min(10**9, int(energy) * SUN_PER_ENERGY + (668 + length) * SUN_PER_BYTE)


def gas_price(tracked: FeeData) -> int:
    """Return the price of a unit of gas.

    On BSC, where nothing is burned, it is the tip, which has a minimum.
    """
    match tracked:
        case values.BscTrackedData(tip):
            return max(tip, MIN_BSC_GAS_PRICE)
        case values.EthereumTrackedData():
            return tracked.base_fee + tracked.priority_fee
        case values.ArbitrumTrackedData():
            return tracked.base_fee
    raise TypeError(f"{type(tracked).__name__} has no gas price")
