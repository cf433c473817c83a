"""What happens when a provider makes, changes or closes an order?

First everything that its orders have earned is paid out (a sweep), then the order changes: what comes is
taken from the provider's balance, what goes is added to it. An order that is to lie elsewhere is closed and
made again. (The chain's `pallet_cf_pools`: `inner_sweep`, `inner_update_limit_order_at_tick`,
`inner_update_range_order`.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from cfnode.core.amm import LimitOrder, OrderRefused, RangeChange, burned, minted, other
from cfnode.core.amm.range_positions import Size
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances

from .storage import PoolsStorage
from .stored import SIDES, STABLE, StoredPool

__all__ = [
    "add_limit_order",
    "auto_sweep",
    "close_limit_order",
    "close_range_order",
    "set_limit_order",
    "set_range_order",
    "sweep",
    "update_limit_order",
    "update_range_order",
]

MAX_AMOUNT = 2**128 - 1
NEVER = 2**128
Moved = values.RangeOrderChange
_ALL = values.RangeOrderSizeLiquidity(MAX_AMOUNT)
_NOTHING = values.RangeOrderSizeLiquidity(0)


# Limit orders


def set_limit_order(
    pools: PoolsStorage, lp: bytes, asset: str, side: str, number: int, tick: int | None, amount: int
) -> None:
    """Let an order sell exactly an amount, at its own tick or at another one."""
    sweep(pools, lp)
    stored, sold = pools.stored_pool(asset), SIDES[side]
    before = stored.limits[sold].get(lp, {}).get(number)
    pools.ensure(before is not None or tick is not None, pools.Error.UnspecifiedOrderPrice)
    if before is not None:
        _burn_limit(pools, stored, lp, side, number, before, MAX_AMOUNT)
    place = before if tick is None else tick
    assert place is not None
    _mint_limit(pools, stored, lp, side, number, place, amount, may_be_nothing=True)
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
        moved = _burn_limit(pools, stored, lp, side, number, before, MAX_AMOUNT)
        _mint_limit(pools, stored, lp, side, number, place, moved, may_be_nothing=True)
    if isinstance(change, values.Increase):
        _mint_limit(pools, stored, lp, side, number, place, change.value)
    else:
        _burn_limit(pools, stored, lp, side, number, place, change.value)
    left = stored.pool.limit_orders.order(sold, (lp, number), place)
    ensure_enough(pools, asset, side, left.amount if left else 0)
    pools.put_back(stored)


def ensure_enough(pools: PoolsStorage, asset: str, side: str, amount: int) -> None:
    """BelowMinimumOrderAmount if an order would sell something, but less than the release allows."""
    if not pools.runtime.release.rules.minimum_limit_orders:
        return
    least = pools.MinimumLimitOrderAmount.get(asset if side == "Sell" else STABLE)
    pools.ensure(not 0 < amount < least, pools.Error.BelowMinimumOrderAmount)


def close_limit_order(pools: PoolsStorage, lp: bytes, asset: str, side: str, number: int) -> bool:
    """Close an order; False if there is none."""
    stored = pools.stored_pool(asset)
    tick = stored.limits[SIDES[side]].get(lp, {}).get(number)
    if tick is None:
        return False
    _burn_limit(pools, stored, lp, side, number, tick, MAX_AMOUNT)
    pools.put_back(stored)
    return True


def _mint_limit(
    pools: PoolsStorage,
    stored: StoredPool,
    lp: bytes,
    side: str,
    number: int,
    tick: int,
    amount: int,
    *,
    may_be_nothing: bool = False,
) -> None:
    sold = SIDES[side]
    try:
        order, limits = stored.pool.limit_orders.minted(sold, (lp, number), tick, amount)
    except OrderRefused as refusal:
        if may_be_nothing and str(refusal) == "OrderDoesNotExist":
            return
        pools.fail(pools.Error[str(refusal)])
    pools.other(AssetBalances).debit(lp, stored.asset_of(sold), amount)
    stored.pool = replace(stored.pool, limit_orders=limits)
    _changed_limit(pools, stored, order, side, values.Increase(amount))


def _burn_limit(
    pools: PoolsStorage, stored: StoredPool, lp: bytes, side: str, number: int, tick: int, amount: int
) -> int:
    sold = SIDES[side]
    try:
        taken, order, limits = stored.pool.limit_orders.burned(sold, (lp, number), tick, amount)
    except OrderRefused as refusal:
        pools.fail(pools.Error[str(refusal)])
    pools.other(AssetBalances).credit(lp, stored.asset_of(sold), taken)
    stored.pool = replace(stored.pool, limit_orders=limits)
    _changed_limit(pools, stored, order, side, values.Decrease(taken))
    return taken


def _changed_limit(
    pools: PoolsStorage,
    stored: StoredPool,
    order: LimitOrder,
    side: str,
    change: values.IncreaseOrDecrease[int],
) -> None:
    """Pay what the order has bought, and say what has become of it."""
    lp, number = order.owner
    bought = order.collected.bought
    pools.other(AssetBalances).credit(lp, stored.asset_of(other(order.side)), bought)
    stored.note(stored.limits[order.side], lp, number, order.tick if order.amount else None)
    if not change.value and not bought:
        return
    pools.deposit(
        pools.Event.LimitOrderUpdated,
        lp=lp,
        base_asset=stored.asset,
        quote_asset=STABLE,
        side=side,
        id=number,
        tick=order.tick,
        sell_amount_change=change if change.value else None,
        sell_amount_total=order.amount,
        collected_fees=0,
        bought_amount=bought,
    )


# Range orders


def set_range_order(
    pools: PoolsStorage,
    lp: bytes,
    asset: str,
    number: int,
    ticks: Mapping[str, int] | None,
    size: values.RangeOrderSize,
) -> None:
    """Let an order have exactly a size, in its own range or in another one."""
    sweep(pools, lp)
    stored = pools.stored_pool(asset)
    before = stored.ranges.get(lp, {}).get(number)
    place = _place(pools, before, ticks)
    if before is not None:
        _burn_range(pools, stored, (lp, number), before, _ALL)
    made = _mint_range(pools, stored, (lp, number), place, size, may_be_nothing=True)
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
    """Let an order grow or shrink; in another range it is made again first, of what came out of the old."""
    sweep(pools, lp)
    stored = pools.stored_pool(asset)
    before = stored.ranges.get(lp, {}).get(number)
    place = _place(pools, before, ticks)
    if before is not None and before != place:
        gone = _burn_range(pools, stored, (lp, number), before, _ALL)
        amounts = values.RangeOrderSizeAssetAmounts(maximum=gone.amounts, minimum={"base": 0, "quote": 0})
        _mint_range(pools, stored, (lp, number), place, amounts, may_be_nothing=True)
    if isinstance(change, values.Increase):
        _mint_range(pools, stored, (lp, number), place, change.value)
    else:
        _burn_range(pools, stored, (lp, number), place, change.value)
    pools.put_back(stored)


def close_range_order(pools: PoolsStorage, lp: bytes, asset: str, number: int) -> bool:
    """Close an order; False if there is none."""
    stored = pools.stored_pool(asset)
    place = stored.ranges.get(lp, {}).get(number)
    if place is None:
        return False
    _burn_range(pools, stored, (lp, number), place, _ALL)
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


def _size(size: values.RangeOrderSize) -> Size:
    """As `cfnode.core.amm` has it."""
    if isinstance(size, values.RangeOrderSizeLiquidity):
        return "Liquidity", {"liquidity": size.liquidity}
    return "AssetAmounts", {"maximum": size.maximum, "minimum": size.minimum}


def _mint_range(
    pools: PoolsStorage,
    stored: StoredPool,
    owner: tuple[bytes, int],
    place: tuple[int, int],
    size: values.RangeOrderSize,
    *,
    may_be_nothing: bool = False,
) -> RangeChange | None:
    try:
        change = minted(stored.pool.range_orders, owner, *place, _size(size))
    except OrderRefused as refusal:
        if may_be_nothing and str(refusal) == "OrderDoesNotExist":
            return None
        pools.fail(pools.Error[str(refusal)])
    for side in SIDES.values():
        pools.ensure(change.amounts[side] <= MAX_AMOUNT, pools.Error.OutputOverflow)
        pools.other(AssetBalances).debit(owner[0], stored.asset_of(side), change.amounts[side])
    _changed_range(pools, stored, owner, place, change, values.Increase)
    return change


def _burn_range(
    pools: PoolsStorage,
    stored: StoredPool,
    owner: tuple[bytes, int],
    place: tuple[int, int],
    size: values.RangeOrderSize,
) -> RangeChange:
    try:
        change = burned(stored.pool.range_orders, owner, *place, _size(size))
    except OrderRefused as refusal:
        pools.fail(pools.Error[str(refusal)])
    for side in SIDES.values():
        pools.other(AssetBalances).credit(owner[0], stored.asset_of(side), change.amounts[side])
    _changed_range(pools, stored, owner, place, change, values.Decrease)
    return change


def _changed_range(
    pools: PoolsStorage,
    stored: StoredPool,
    owner: tuple[bytes, int],
    place: tuple[int, int],
    change: RangeChange,
    direction: type[values.Increase[Moved]] | type[values.Decrease[Moved]],
) -> None:
    """Pay what the order has earned, and say what has become of it."""
    lp, number = owner
    stored.pool = replace(stored.pool, range_orders=change.pool)
    for side, fee in change.fees.items():
        _pay_fee(pools, lp, stored.asset_of(side), fee)
    stored.note(stored.ranges, lp, number, place if change.total else None)
    if not change.liquidity and not any(change.fees.values()):
        return
    moved = Moved(liquidity=change.liquidity, amounts=change.amounts)
    pools.deposit(
        pools.Event.RangeOrderUpdated,
        lp=lp,
        base_asset=stored.asset,
        quote_asset=STABLE,
        id=number,
        tick_range={"start": place[0], "end": place[1]},
        size_change=direction(moved) if change.liquidity else None,
        liquidity_total=change.total,
        collected_fees=change.fees,
    )


def _pay_fee(pools: PoolsStorage, lp: bytes, asset: str, fee: int) -> None:
    if fee:
        pools.HistoricalEarnedFees.mutate(lp, asset, lambda earned: min(earned + fee, MAX_AMOUNT))
        pools.other(AssetBalances).credit(lp, asset, fee)


# Paying out


def sweep(pools: PoolsStorage, *providers: bytes) -> None:
    """Pay out what all orders of these providers have earned; of all of them if none is named."""
    for asset in pools.assets():
        stored = pools.stored_pool(asset)
        before = stored.pool
        for lp in stored.providers():
            if providers and lp not in providers:
                continue
            for number, place in sorted(stored.ranges.get(lp, {}).items()):
                _burn_range(pools, stored, (lp, number), place, _NOTHING)
            for side, sold in SIDES.items():
                for number, tick in sorted(stored.limits[sold].get(lp, {}).items()):
                    _burn_limit(pools, stored, lp, side, number, tick, 0)
        if stored.pool != before:
            pools.put_back(stored)


def auto_sweep(pools: PoolsStorage, assets: Iterable[str]) -> None:
    """Pay out every limit order that has bought more than a threshold."""
    thresholds = dict(pools.LimitOrderAutoSweepingThresholds.get())
    for asset in assets:
        stored, swept = pools.stored_pool(asset), False
        for side, sold in SIDES.items():
            least = thresholds.get(stored.asset_of(other(sold)), NEVER)
            for order in list(stored.pool.limit_orders.orders(sold)):
                if order.collected.bought >= least:
                    lp, number = order.owner
                    _burn_limit(pools, stored, lp, side, number, order.tick, 0)
                    swept = True
        if swept:
            pools.put_back(stored)
