"""Governance calls of the pools pallet.

Governance opens pools and sets their fee, how far a swap may move a price, the least amounts of limit orders,
and from which amount on a limit order is paid out by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cfnode.core.amm import AmmPool, LimitPool, RangePool, in_range, sqrt_price_of
from cfnode.core.scale import ScaleError
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import Origin, call
from cfnode.devchain.runtime.frame.calls import Arguments

from .storage import PoolsStorage
from .stored import STABLE, StoredPool, pair_of

__all__ = ["PoolsGovernance"]

MAX_FEE = 500_000
"""Highest fee of a pool, in parts per million."""
MOST = {"limits": 10, "updates": 100}


class PoolsGovernance:
    """Governance's calls."""

    def __init__(self, pools: PoolsStorage) -> None:
        self.pools = pools

    @call(
        2,
        base_asset="Asset",
        quote_asset="Asset",
        fee_hundredth_pips="u32",
        initial_price="Price",
    )
    def new_pool(
        self,
        origin: Origin,
        base_asset: str,
        quote_asset: str,
        fee_hundredth_pips: int,
        initial_price: int,
    ) -> None:
        """Open a pool, without any liquidity. Governance."""
        pools = self.pools
        origin.ensure_governance()
        asset = pools.pool_asset(base_asset, quote_asset)
        pools.ensure(not pools.Pools.contains(pair_of(asset)), pools.Error.PoolAlreadyExists)
        pools.ensure(fee_hundredth_pips <= MAX_FEE, pools.Error.InvalidFeeAmount)
        pools.ensure(in_range(initial_price), pools.Error.InvalidInitialPrice)
        ranges = RangePool.empty(sqrt_price_of(initial_price), fee_hundredth_pips)
        pools.put_back(StoredPool(asset, AmmPool(LimitPool.empty(), ranges), {}, {"base": {}, "quote": {}}))
        pools.deposit(
            pools.Event.NewPoolCreated,
            base_asset=base_asset,
            quote_asset=quote_asset,
            fee_hundredth_pips=fee_hundredth_pips,
            initial_price=initial_price,
        )

    @call(
        7,
        base_asset="Asset",
        quote_asset="Asset",
        fee_hundredth_pips="u32",
    )
    def set_pool_fees(
        self, origin: Origin, base_asset: str, quote_asset: str, fee_hundredth_pips: int
    ) -> None:
        """Set what swaps pay to the range orders of a pool. Governance."""
        pools = self.pools
        origin.ensure_governance()
        pools.ensure(fee_hundredth_pips <= MAX_FEE, pools.Error.InvalidFeeAmount)
        stored = pools.stored_pool(pools.pool_asset(base_asset, quote_asset))
        ranges = replace(stored.pool.range_orders, fee_hundredth_pips=fee_hundredth_pips)
        stored.pool = replace(stored.pool, range_orders=ranges)
        pools.put_back(stored)
        pools.deposit(
            pools.Event.PoolFeeSet,
            base_asset=base_asset,
            quote_asset=quote_asset,
            fee_hundredth_pips=fee_hundredth_pips,
        )

    @call(9, limits="BoundedVec<(Asset, Option<u32>)>")
    def set_maximum_price_impact(self, origin: Origin, limits: Iterable[tuple[str, int | None]]) -> None:
        """How far a single swap may move prices, in ticks; None for as far as it goes. Governance."""
        pools = self.pools
        origin.ensure_governance()
        for asset, ticks in limits:
            pools.ensure(asset != STABLE, pools.Error.PoolDoesNotExist)
            if ticks is None:
                pools.MaximumPriceImpact.remove(pair_of(asset))
            else:
                pools.MaximumPriceImpact.put(pair_of(asset), ticks)
            pools.deposit(pools.Event.PriceImpactLimitSet, asset_pair=pair_of(asset), limit=ticks)

    @call(11, updates="BoundedVec<pools::PalletConfigUpdate>")
    def update_pallet_config(self, origin: Origin, updates: Sequence[values.PoolsConfigUpdate]) -> None:
        """From how much on what a limit order has bought of an asset is paid out by itself. Governance."""
        pools = self.pools
        origin.ensure_governance()
        for update in updates:
            asset, amount = update.asset, update.amount
            thresholds = pools.LimitOrderAutoSweepingThresholds
            if isinstance(update, values.PoolsConfigUpdateSetMinimumLimitOrderAmount):
                pools.MinimumLimitOrderAmount.put(asset, amount)
            else:
                thresholds.put([*(entry for entry in thresholds.get() if entry[0] != asset), (asset, amount)])
            pools.deposit(pools.Event.PalletConfigUpdated, update=update)

    def check_bounds(self, arguments: Arguments) -> None:
        """Raise ScaleError if a call has more limits or updates than the chain decodes."""
        for argument, limit in MOST.items():
            if len(arguments.get(argument, ())) > limit:
                raise ScaleError(f"{argument}: up to {limit}, not {len(arguments[argument])}")
