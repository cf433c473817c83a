"""Minting and burning of liquidity in limit orders and range orders.

Minted amounts are taken from the provider's balance, burned amounts are added to it, and with each change an
order pays what it has earned.
"""

from __future__ import annotations

from dataclasses import replace

from cfnode.core.amm import OrderRefused, PoolLimitOrder, RangeChange, burned, minted, other
from cfnode.core.amm.range_positions import Size
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances

from .storage import PoolsStorage
from .stored import SIDES, STABLE, StoredPool

__all__ = ["MAX_U128", "NO_LIQUIDITY", "burn_limit", "burn_range", "mint_limit", "mint_range"]

MAX_U128 = 2**128 - 1
NO_LIQUIDITY = values.RangeOrderSizeLiquidity(0)
"""A change of this size only collects what a range order has earned."""
_Moved = values.RangeOrderChange


def mint_limit(
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
    """Let a limit order sell `amount` more.

    With `may_be_nothing`, an amount of 0 for an order that does not exist changes nothing.
    """
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


def burn_limit(
    pools: PoolsStorage, stored: StoredPool, lp: bytes, side: str, number: int, tick: int, amount: int
) -> int:
    """Let a limit order sell `amount` less, or nothing any more. Return what it gives back."""
    sold = SIDES[side]
    try:
        burned_amount, order, limits = stored.pool.limit_orders.burned(sold, (lp, number), tick, amount)
    except OrderRefused as refusal:
        pools.fail(pools.Error[str(refusal)])
    pools.other(AssetBalances).credit(lp, stored.asset_of(sold), burned_amount)
    stored.pool = replace(stored.pool, limit_orders=limits)
    _changed_limit(pools, stored, order, side, values.Decrease(burned_amount))
    return burned_amount


def _changed_limit(
    pools: PoolsStorage,
    stored: StoredPool,
    order: PoolLimitOrder,
    side: str,
    change: values.IncreaseOrDecrease[int],
) -> None:
    """Pay what the order has bought, and deposit the event of the change."""
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


def _size(size: values.RangeOrderSize) -> Size:
    """Return a size in the form of `cfnode.core.amm`."""
    if isinstance(size, values.RangeOrderSizeLiquidity):
        return "Liquidity", {"liquidity": size.liquidity}
    return "AssetAmounts", {"maximum": size.maximum, "minimum": size.minimum}


def mint_range(
    pools: PoolsStorage,
    stored: StoredPool,
    owner: tuple[bytes, int],
    place: tuple[int, int],
    size: values.RangeOrderSize,
    *,
    may_be_nothing: bool = False,
) -> RangeChange | None:
    """Give liquidity to a range order, and return the change.

    Return None if `may_be_nothing` and there is neither size nor order.
    """
    try:
        change = minted(stored.pool.range_orders, owner, *place, _size(size))
    except OrderRefused as refusal:
        if may_be_nothing and str(refusal) == "OrderDoesNotExist":
            return None
        pools.fail(pools.Error[str(refusal)])
    for side in SIDES.values():
        pools.ensure(change.amounts[side] <= MAX_U128, pools.Error.OutputOverflow)
        pools.other(AssetBalances).debit(owner[0], stored.asset_of(side), change.amounts[side])
    _changed_range(pools, stored, owner, place, change, values.Increase)
    return change


def burn_range(
    pools: PoolsStorage,
    stored: StoredPool,
    owner: tuple[bytes, int],
    place: tuple[int, int],
    size: values.RangeOrderSize,
) -> RangeChange:
    """Take liquidity from a range order, and return the change."""
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
    direction: type[values.Increase[_Moved]] | type[values.Decrease[_Moved]],
) -> None:
    """Pay what the order has earned, and deposit the event of the change."""
    lp, number = owner
    stored.pool = replace(stored.pool, range_orders=change.pool)
    for side, fee in change.fees.items():
        _pay_fee(pools, lp, stored.asset_of(side), fee)
    stored.note(stored.ranges, lp, number, place if change.total else None)
    if not change.liquidity and not any(change.fees.values()):
        return
    moved = _Moved(liquidity=change.liquidity, amounts=change.amounts)
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
        pools.HistoricalEarnedFees.mutate(lp, asset, lambda earned: min(earned + fee, MAX_U128))
        pools.other(AssetBalances).credit(lp, asset, fee)
