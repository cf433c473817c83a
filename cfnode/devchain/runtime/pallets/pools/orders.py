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

from .minting import MAX_AMOUNT, burn_limit, burn_range, mint_limit, mint_range
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

_ALL_LIQUIDITY = values.RangeOrderSizeLiquidity(MAX_AMOUNT)


# Limit orders


def set_limit_order(
    pools: PoolsStorage, lp: bytes, asset: str, side: str, number: int, tick: int | None, amount: int
) -> None:
    """Set the amount that an order sells, at its own tick or at another one."""
    sweep(pools, lp)
    stored, sold = pools.stored_pool(asset), SIDES[side]
    before = stored.limits[sold].get(lp, {}).get(number)
    pools.ensure(before is not None or tick is not None, pools.Error.UnspecifiedOrderPrice)
    if before is not None:
        burn_limit(pools, stored, lp, side, number, before, MAX_AMOUNT)
    place = before if tick is None else tick
    assert place is not None
    mint_limit(pools, stored, lp, side, number, place, amount, may_be_nothing=True)
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
    before = stored.limits[sold].get(lp, {}).get(number)
    pools.ensure(before is not None or tick is not None, pools.Error.UnspecifiedOrderPrice)
    place = before if tick is None else tick
    assert place is not None
    if before is not None and before != place:
        moved = burn_limit(pools, stored, lp, side, number, before, MAX_AMOUNT)
        mint_limit(pools, stored, lp, side, number, place, moved, may_be_nothing=True)
    if isinstance(change, values.Increase):
        mint_limit(pools, stored, lp, side, number, place, change.value)
    else:
        burn_limit(pools, stored, lp, side, number, place, change.value)
    left = stored.pool.limit_orders.order(sold, (lp, number), place)
    ensure_enough(pools, asset, side, left.amount if left else 0)
    pools.put_back(stored)


def ensure_enough(pools: PoolsStorage, asset: str, side: str, amount: int) -> None:
    """Fail with BelowMinimumOrderAmount if an order would sell more than 0, but less than allowed."""
    if not pools.runtime.release.rules.minimum_limit_orders:
        return
    least = pools.MinimumLimitOrderAmount.get(asset if side == "Sell" else STABLE)
    pools.ensure(not 0 < amount < least, pools.Error.BelowMinimumOrderAmount)


def close_limit_order(pools: PoolsStorage, lp: bytes, asset: str, side: str, number: int) -> bool:
    """Close a limit order. Return False if it does not exist."""
    stored = pools.stored_pool(asset)
    tick = stored.limits[SIDES[side]].get(lp, {}).get(number)
    if tick is None:
        return False
    burn_limit(pools, stored, lp, side, number, tick, MAX_AMOUNT)
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
    before = stored.ranges.get(lp, {}).get(number)
    place = _place(pools, before, ticks)
    if before is not None:
        burn_range(pools, stored, (lp, number), before, _ALL_LIQUIDITY)
    made = mint_range(pools, stored, (lp, number), place, size, may_be_nothing=True)
    pools.ensure(_is_zero(size) == (made is None or not made.liquidity), pools.Error.InvalidSize)
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
    before = stored.ranges.get(lp, {}).get(number)
    place = _place(pools, before, ticks)
    if before is not None and before != place:
        gone = burn_range(pools, stored, (lp, number), before, _ALL_LIQUIDITY)
        amounts = values.RangeOrderSizeAssetAmounts(maximum=gone.amounts, minimum={"base": 0, "quote": 0})
        mint_range(pools, stored, (lp, number), place, amounts, may_be_nothing=True)
    if isinstance(change, values.Increase):
        mint_range(pools, stored, (lp, number), place, change.value)
    else:
        burn_range(pools, stored, (lp, number), place, change.value)
    pools.put_back(stored)


def close_range_order(pools: PoolsStorage, lp: bytes, asset: str, number: int) -> bool:
    """Close a range order. Return False if it does not exist."""
    stored = pools.stored_pool(asset)
    place = stored.ranges.get(lp, {}).get(number)
    if place is None:
        return False
    burn_range(pools, stored, (lp, number), place, _ALL_LIQUIDITY)
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
