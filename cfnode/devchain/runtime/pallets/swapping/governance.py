"""Governance call of the swapping pallet.

It changes fees, limits and intervals. Several changes come in one call: all of them, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from cfnode.core.scale import ScaleError
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import Origin, call
from cfnode.devchain.runtime.frame.calls import Arguments
from cfnode.devchain.runtime.frame.stored import StoredMap, StoredValue
from cfnode.devchain.runtime.pallets.pools.pallet import STABLE, pair_of
from cfnode.devchain.runtime.pallets.swap_requests.requests import SWAP_DELAY
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage

__all__ = ["SwappingGovernance"]

MAX_SWAPPING_UPDATES = 100
K = TypeVar("K")
V = TypeVar("V")
G = TypeVar("G")
Fee = StoredValue[values.FeeRateAndMinimum, values.FeeRateAndMinimum]


class SwappingGovernance:
    """Governance's call."""

    def __init__(self, swapping: SwappingStorage) -> None:
        self.swapping = swapping

    @call(8, updates="BoundedVec<swapping::PalletConfigUpdate>")
    def update_pallet_config(self, origin: Origin, updates: Sequence[values.SwappingConfigUpdate]) -> None:
        """Change fees, limits and intervals. Governance."""
        swapping = self.swapping
        origin.ensure_governance()
        for update in updates:
            _change(swapping, update)
            swapping.deposit(swapping.Event.PalletConfigUpdated, update=update)

    def check_bounds(self, arguments: Arguments) -> None:
        """Raise ScaleError if a call has more updates than the chain decodes."""
        if len(arguments.get("updates", ())) > MAX_SWAPPING_UPDATES:
            raise ScaleError(f"up to {MAX_SWAPPING_UPDATES} updates, not {len(arguments['updates'])}")


def _set(item: StoredMap[K, V, G], key: K, value: V | None) -> None:
    """Write an entry, or remove it for None."""
    if value is None:
        item.remove(key)
    else:
        item.put(key, value)


def _delay(swapping: SwappingStorage, delay: int) -> None:
    swapping.ensure(delay, swapping.Error.ZeroSwapRetryDelayNotAllowed)
    swapping.SwapRetryDelay.put(delay)


def _interval(swapping: SwappingStorage, interval: int) -> None:
    swapping.ensure(interval, swapping.Error.ZeroBuyIntervalNotAllowed)
    swapping.FlipBuyInterval.put(interval)


def _duration(swapping: SwappingStorage, blocks: int) -> None:
    swapping.ensure(blocks >= SWAP_DELAY, swapping.Error.MaxSwapRequestDurationTooShort)
    swapping.MaxSwapRequestDurationBlocks.put(blocks)


def _fee(item: Fee, rate: int | None, minimum: int | None) -> None:
    changes = {"rate": rate, "minimum": minimum}
    item.put(replace(item.get(), **{name: value for name, value in changes.items() if value is not None}))


def _slippage(swapping: SwappingStorage, base_asset: str, quote_asset: str, bps: int | None) -> None:
    exists = quote_asset == STABLE and base_asset != STABLE
    swapping.ensure(exists, swapping.Error.PoolDoesNotExist)
    swapping.ensure(bps != 0, swapping.Error.ZeroDefaultSlippageNotAllowed)
    _set(swapping.DefaultOraclePriceSlippageProtection, pair_of(base_asset), bps)


def _change(swapping: SwappingStorage, update: values.SwappingConfigUpdate) -> None:
    match update:
        case values.SwappingConfigUpdateMaximumSwapAmount(asset=asset, amount=amount):
            _set(swapping.MaximumSwapAmount, asset, amount)
        case values.SwappingConfigUpdateSwapRetryDelay(delay):
            _delay(swapping, delay)
        case values.SwappingConfigUpdateFlipBuyInterval(interval):
            _interval(swapping, interval)
        case values.SwappingConfigUpdateSetMaxSwapRetryDuration(blocks):
            swapping.MaxSwapRetryDurationBlocks.put(blocks)
        case values.SwappingConfigUpdateSetMaxSwapRequestDuration(blocks):
            _duration(swapping, blocks)
        case values.SwappingConfigUpdateSetMinimumChunkSize(asset=asset, size=size):
            swapping.MinimumChunkSize.put(asset, size)
        case values.SwappingConfigUpdateSetBrokerBond(bond):
            swapping.BrokerBond.put(bond)
        case values.SwappingConfigUpdateSetNetworkFee(rate=rate, minimum=minimum):
            _fee(swapping.NetworkFee, rate, minimum)
        case values.SwappingConfigUpdateSetInternalSwapNetworkFee(rate=rate, minimum=minimum):
            _fee(swapping.InternalSwapNetworkFee, rate, minimum)
        case values.SwappingConfigUpdateSetNetworkFeeForAsset(asset=asset, rate=rate):
            _set(swapping.NetworkFeeForAsset, asset, rate)
        case values.SwappingConfigUpdateSetInternalSwapNetworkFeeForAsset(asset=asset, rate=rate):
            _set(swapping.InternalSwapNetworkFeeForAsset, asset, rate)
        case values.SetDefaultSlippageProtection():
            _slippage(swapping, update.base_asset, update.quote_asset, update.bps)
