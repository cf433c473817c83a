"""Liquidity with which the pools of a development chain begin.

An account without a key has an order over all prices in each pool. A test may set a pool's price and depth:
then that order is replaced.
"""

from __future__ import annotations

from dataclasses import replace

from cfnode.core.amm import (
    MAX_TICK,
    MIN_TICK,
    AmmPool,
    LimitPool,
    RangePool,
    liquidity_for_quote,
    sqrt_price_of_amounts,
)
from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime.config import DevPool
from cfnode.devchain.runtime.pallets import bitcoin_vault

from . import orders
from .storage import PoolsStorage
from .stored import StoredPool

__all__ = ["MAKER", "fill", "refill"]

MAKER = b"cfnode-dev/liquidity".ljust(32, b"\0")
"""The account whose order is the liquidity that every development pool begins with."""

POOL_FEE = 20  # parts per million


def refill(pools: PoolsStorage, asset: str, price: int | None, depth: int | None) -> dict[str, int]:
    """Set a pool's price (of a whole unit) and its USDC, both in microdollars, or keep either.

    Return what is in the pool then, by side. The order that is there from the beginning is replaced; other
    providers' range orders are closed, since what they hold depends on the old price.
    """
    for lp, number, _, _ in list(pools.stored_pool(asset).range_orders()):
        if lp != MAKER:
            orders.close_range_order(pools, lp, asset, number)
    stored = pools.stored_pool(asset)
    old_ranges = stored.pool.range_orders
    unit = 10 ** ASSETS[asset].decimals
    sqrt_price = old_ranges.current_sqrt_price if price is None else sqrt_price_of_amounts(unit, price)
    liquidity = old_ranges.current_liquidity if depth is None else liquidity_for_quote(sqrt_price, depth)
    full_range = RangePool.full_range((MAKER, 0), sqrt_price, liquidity, old_ranges.fee_hundredth_pips)
    totals = ("total_fees_earned", "total_swap_inputs", "total_swap_outputs")
    ranges = replace(full_range, **{name: getattr(old_ranges, name) for name in totals})
    stored.pool = replace(stored.pool, range_orders=ranges)
    pools.put_back(stored)
    amounts = full_range.value(MIN_TICK, MAX_TICK, liquidity)
    if asset == "Btc":
        bitcoin_vault.conjure(pools, amounts["base"])
    return amounts


def fill(pools: PoolsStorage, pool: DevPool) -> None:
    """Open a pool with one order of `MAKER` over all prices."""
    sqrt_price = sqrt_price_of_amounts(10 ** ASSETS[pool.asset].decimals, pool.microdollars)
    liquidity = liquidity_for_quote(sqrt_price, pool.depth)
    ranges = RangePool.full_range((MAKER, 0), sqrt_price, liquidity, POOL_FEE)
    places = {MAKER: {0: (MIN_TICK, MAX_TICK)}}
    new_pool = AmmPool(LimitPool.empty(), ranges)
    pools.put_back(StoredPool(pool.asset, new_pool, places, {"base": {}, "quote": {}}))
    if pool.asset == "Btc":
        bitcoin_vault.conjure(pools, ranges.value(MIN_TICK, MAX_TICK, liquidity)["base"])
