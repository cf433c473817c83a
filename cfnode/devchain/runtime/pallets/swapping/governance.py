"""What may governance change about swaps?

Fees, limits and intervals. Several changes come in one call: all of them, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cfnode.core.scale import ScaleError
from cfnode.devchain.runtime.frame import Origin, call
from cfnode.devchain.runtime.frame.stored import StoredMap, StoredValue
from cfnode.devchain.runtime.pallets.pools.pallet import STABLE, pair_of

from .requests import SWAP_DELAY
from .storage import SwappingStorage

__all__ = ["SwappingGovernance"]

MAX_UPDATES = 100


class SwappingGovernance(SwappingStorage):
    """Governance's call."""

    @call(8, updates="BoundedVec<swapping::PalletConfigUpdate>")
    def update_pallet_config(self, origin: Origin, updates: Sequence[tuple[str, Any]]) -> None:
        """Change fees, limits and intervals. Governance."""
        origin.ensure_governance()
        for update in updates:
            name, terms = update
            _CHANGES[name](self, **terms)
            self.deposit(self.Event.PalletConfigUpdated, update=update)

    def check_bounds(self, name: str, arguments: Mapping[str, Any]) -> None:
        if len(arguments.get("updates", ())) > MAX_UPDATES:
            raise ScaleError(f"up to {MAX_UPDATES} updates, not {len(arguments['updates'])}")


def _set(item: StoredMap[Any, Any, Any], key: Any, value: Any) -> None:
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


def _fee(item: StoredValue[Any, Any], rate: int | None, minimum: int | None) -> None:
    given = {"rate": rate, "minimum": minimum}
    item.put(item.get() | {name: each for name, each in given.items() if each is not None})


def _slippage(swapping: SwappingStorage, base_asset: str, quote_asset: str, bps: int | None) -> None:
    exists = quote_asset == STABLE and base_asset != STABLE
    swapping.ensure(exists, swapping.Error.PoolDoesNotExist)
    swapping.ensure(bps != 0, swapping.Error.ZeroDefaultSlippageNotAllowed)
    _set(swapping.DefaultOraclePriceSlippageProtection, pair_of(base_asset), bps)


_CHANGES: dict[str, Callable[..., None]] = {
    "MaximumSwapAmount": lambda s, asset, amount: _set(s.MaximumSwapAmount, asset, amount),
    "SwapRetryDelay": _delay,
    "FlipBuyInterval": _interval,
    "SetMaxSwapRetryDuration": lambda s, blocks: s.MaxSwapRetryDurationBlocks.put(blocks),
    "SetMaxSwapRequestDuration": _duration,
    "SetMinimumChunkSize": lambda s, asset, size: s.MinimumChunkSize.put(asset, size),
    "SetBrokerBond": lambda s, bond: s.BrokerBond.put(bond),
    "SetNetworkFee": lambda s, **fee: _fee(s.NetworkFee, **fee),
    "SetInternalSwapNetworkFee": lambda s, **fee: _fee(s.InternalSwapNetworkFee, **fee),
    "SetNetworkFeeForAsset": lambda s, asset, rate: _set(s.NetworkFeeForAsset, asset, rate),
    "SetInternalSwapNetworkFeeForAsset": (
        lambda s, asset, rate: _set(s.InternalSwapNetworkFeeForAsset, asset, rate)
    ),
    "SetDefaultOraclePriceSlippageProtectionForAsset": _slippage,
}
