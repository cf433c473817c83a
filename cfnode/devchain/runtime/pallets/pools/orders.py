"""Setting, updating and closing of limit orders and range orders.

First all that the provider's orders have earned is paid out (`sweeping`), then the order changes. An order
that moves to another tick or range is closed and made again. (The chain's `pallet_cf_pools`:
`inner_update_limit_order_at_tick`, `inner_update_range_order`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cfnode.core.amm import OrderRefused
from cfnode.devchain.runtime import values

from .minting import MAX_U128, burn_limit, burn_range, mint_limit, mint_range
from .storage import PoolsStorage
from .stored import SIDES, STABLE
from .sweeping import sweep

__all__ = [
    "add_limit_order",
    "close_limit_order",
    "close_range_order",
    "set_limit_order",
    "set_range_order",
    "update_limit_order",
    "update_range_order",
]

_ALL_LIQUIDITY = values.RangeOrderSizeLiquidity(MAX_U128)


# Limit orders


def set_limit_order(
    pools: PoolsStorage, lp: bytes, asset: str, side: str, number: int, tick: int | None, amount: int
) -> None:
    """Set the amount that an order sells, at its own tick or at another one."""
    sweep(pools, lp)
    stored, sold = pools.stored_pool(asset), SIDES[side]
    old_tick = stored.limits[sold].get(lp, {}).get(number)
    pools.ensure(old_tick is not None or tick is not None, pools.Error.UnspecifiedOrderPrice)
    if old_tick is not None:
        burn_limit(pools, stored, lp, side, number, old_tick, MAX_U128)
    new_tick = old_tick if tick is None else tick
    assert new_tick is not None
    mint_limit(pools, stored, lp, side, number, new_tick, amount, may_be_nothing=True)
    pools.put_back(stored)


def add_limit_order(
    pools: PoolsStorage, lp: bytes, asset: str, side: str, number: int, tick: int, amount: int
) -> None:
    """Put an order into a pool without charging its owner for it."""
    stored = pools.stored_pool(asset)
    try:
        _, limits = stored.pool.limit_orders.minted(SIDES[side], (lp, number), tick, amount)
    except OrderRefused as refusal:
        pools.fail(pools.Error[str(refusal)])
    stored.pool = replace(stored.pool, limit_orders=limits)
    pools.put_back(stored)


def update_limit_order(
    pools: PoolsStorage,
    lp: bytes,
    asset: str,
    side: str,
    number: int,
    tick: int | None,
    change: values.IncreaseOrDecrease[int],
) -> None:
    """Let an order sell more or less; at another tick it is made again there first."""
    sweep(pools, lp)
    stored, sold = pools.stored_pool(asset), SIDES[side]
    old_tick = stored.limits[sold].get(lp, {}).get(number)
    pools.ensure(old_tick is not None or tick is not None, pools.Error.UnspecifiedOrderPrice)
    new_tick = old_tick if tick is None else tick
    assert new_tick is not None
    if old_tick is not None and old_tick != new_tick:
        burned = burn_limit(pools, stored, lp, side, number, old_tick, MAX_U128)
        mint_limit(pools, stored, lp, side, number, new_tick, burned, may_be_nothing=True)
    if isinstance(change, values.Increase):
        mint_limit(pools, stored, lp, side, number, new_tick, change.value)
    else:
        burn_limit(pools, stored, lp, side, number, new_tick, change.value)
    order = stored.pool.limit_orders.order(sold, (lp, number), new_tick)
    ensure_enough(pools, asset, side, order.amount if order else 0)
    pools.put_back(stored)


def ensure_enough(pools: PoolsStorage, asset: str, side: str, amount: int) -> None:
    """Fail with BelowMinimumOrderAmount if an order would sell more than 0, but less than allowed."""
    if not pools.runtime.release.rules.limit_orders_have_minimums:
        return
    minimum = pools.MinimumLimitOrderAmount.get(asset if side == "Sell" else STABLE)
    pools.ensure(not 0 < amount < minimum, pools.Error.BelowMinimumOrderAmount)


def close_limit_order(pools: PoolsStorage, lp: bytes, asset: str, side: str, number: int) -> bool:
    """Close a limit order. Return False if it does not exist."""
    stored = pools.stored_pool(asset)
    tick = stored.limits[SIDES[side]].get(lp, {}).get(number)
    if tick is None:
        return False
    burn_limit(pools, stored, lp, side, number, tick, MAX_U128)
    pools.put_back(stored)
    return True


# Range orders


def set_range_order(
    pools: PoolsStorage,
    lp: bytes,
    asset: str,
    number: int,
    ticks: Mapping[str, int] | None,
    size: values.RangeOrderSize,
) -> None:
    """Set the size of an order, in its own range or in another one."""
    sweep(pools, lp)
    stored = pools.stored_pool(asset)
    old_ticks = stored.ranges.get(lp, {}).get(number)
    new_ticks = _place(pools, old_ticks, ticks)
    if old_ticks is not None:
        burn_range(pools, stored, (lp, number), old_ticks, _ALL_LIQUIDITY)
    change = mint_range(pools, stored, (lp, number), new_ticks, size, may_be_nothing=True)
    pools.ensure(_is_zero(size) == (change is None or not change.liquidity), pools.Error.InvalidSize)
    pools.put_back(stored)


def update_range_order(
    pools: PoolsStorage,
    lp: bytes,
    asset: str,
    number: int,
    ticks: Mapping[str, int] | None,
    change: values.IncreaseOrDecrease[values.RangeOrderSize],
) -> None:
    """Let an order grow or shrink.

    In another range it is made again first, of what came out of the old one.
    """
    sweep(pools, lp)
    stored = pools.stored_pool(asset)
    old_ticks = stored.ranges.get(lp, {}).get(number)
    new_ticks = _place(pools, old_ticks, ticks)
    if old_ticks is not None and old_ticks != new_ticks:
        burned = burn_range(pools, stored, (lp, number), old_ticks, _ALL_LIQUIDITY)
        amounts = values.RangeOrderSizeAssetAmounts(maximum=burned.amounts, minimum={"base": 0, "quote": 0})
        mint_range(pools, stored, (lp, number), new_ticks, amounts, may_be_nothing=True)
    if isinstance(change, values.Increase):
        mint_range(pools, stored, (lp, number), new_ticks, change.value)
    else:
        burn_range(pools, stored, (lp, number), new_ticks, change.value)
    pools.put_back(stored)


def close_range_order(pools: PoolsStorage, lp: bytes, asset: str, number: int) -> bool:
    """Close a range order. Return False if it does not exist."""
    stored = pools.stored_pool(asset)
    ticks = stored.ranges.get(lp, {}).get(number)
    if ticks is None:
        return False
    burn_range(pools, stored, (lp, number), ticks, _ALL_LIQUIDITY)
    pools.put_back(stored)
    return True


def _place(
    pools: PoolsStorage, before: tuple[int, int] | None, ticks: Mapping[str, int] | None
) -> tuple[int, int]:
    if ticks is not None:
        return ticks["start"], ticks["end"]
    if before is None:
        pools.fail(pools.Error.UnspecifiedOrderPrice)
    return before


def _is_zero(size: values.RangeOrderSize) -> bool:
    if isinstance(size, values.RangeOrderSizeLiquidity):
        return not size.liquidity
    return not sum(size.maximum.values())
