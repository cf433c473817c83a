"""Creation, change and closing of range orders.

Liquidity is added at the two ticks where the range ends, and at the current price if that lies between. The
order's fees are collected first, since they are calculated from its liquidity. Amounts paid in are rounded
up, amounts paid out are rounded down. (The chain's `cf_amm::range_orders`, `collect_and_mint` and
`collect_and_burn`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .errors import OrderRefused
from .range_orders import MAX_GROSS_LIQUIDITY, RangePool
from .ticks import MAX_TICK, MIN_TICK, sqrt_price_at

__all__ = [
    "RangeChange",
    "Size",
    "burned",
    "check_range",
    "liquidity_for",
    "minted",
    "position_of",
    "required_ratio",
]

Owner = tuple[bytes, int]
Pair = Mapping[str, int]
Size = tuple[str, Any]
"""A value of `RangeOrderSize`: of assets, at most and at least, or of liquidity."""

_NONE = {"base": 0, "quote": 0}


@dataclass(frozen=True, slots=True)
class RangeChange:
    """A change of an order, and the pool after it.

    `liquidity` and `amounts` are those added or removed, `fees` those that the order had earned, `total` is
    the order's liquidity after the change.
    """

    liquidity: int
    amounts: Pair
    fees: Pair
    total: int
    pool: RangePool


def minted(pool: RangePool, owner: Owner, lower: int, upper: int, size: Size) -> RangeChange:
    """Collect an order and add a size to it, or create the order. Raises OrderRefused."""
    check_range(lower, upper)
    liquidity = _liquidity(pool, lower, upper, size)
    gross = max(_end(pool, tick)["liquidity_gross"] for tick in (lower, upper))
    if liquidity > MAX_GROSS_LIQUIDITY - gross:
        raise OrderRefused("MaximumGrossLiquidity")
    key = owner, lower, upper
    if not liquidity and key not in pool.positions:
        raise OrderRefused("OrderDoesNotExist")
    return _changed(pool, key, liquidity, pool.value(lower, upper, liquidity, up=True))


def burned(pool: RangePool, owner: Owner, lower: int, upper: int, size: Size) -> RangeChange:
    """Collect an order and take up to a size out of it. Raises OrderRefused."""
    check_range(lower, upper)
    position = pool.positions.get((owner, lower, upper))
    if position is None:
        raise OrderRefused("OrderDoesNotExist")
    liquidity = min(position["liquidity"], _liquidity(pool, lower, upper, size))
    return _changed(pool, (owner, lower, upper), -liquidity, pool.value(lower, upper, liquidity))


def position_of(pool: RangePool, owner: Owner, lower: int, upper: int) -> Mapping[str, Any]:
    """Return an order with what it has earned by now; `fees` are those not collected yet."""
    position = pool.positions[(owner, lower, upper)]
    return dict(position) | {"fees": pool.earned(lower, upper, position)}


def required_ratio(pool: RangePool, lower: int, upper: int) -> Pair:
    """Return the amounts of both assets that the largest order of a range would take. Raises OrderRefused."""
    check_range(lower, upper)
    return pool.value(lower, upper, MAX_GROSS_LIQUIDITY)


def check_range(lower: int, upper: int) -> None:
    """Raise OrderRefused if two ticks are no range."""
    if not MIN_TICK <= lower < upper <= MAX_TICK:
        raise OrderRefused("InvalidTickRange")


def _liquidity(pool: RangePool, lower: int, upper: int, size: Size) -> int:
    kind, fields = size
    if kind == "Liquidity":
        return int(fields["liquidity"])
    liquidity = liquidity_for(pool.current_sqrt_price, lower, upper, fields["maximum"])
    possible = pool.value(lower, upper, liquidity)
    if any(possible[side] < fields["minimum"][side] for side in possible):
        raise OrderRefused("AssetRatioUnachievable")
    return liquidity


def liquidity_for(sqrt_price: int, lower: int, upper: int, maximum: Pair) -> int:
    """Return the largest liquidity that a range can have for at most these amounts."""
    low, high = sqrt_price_at(lower), sqrt_price_at(upper)
    price = max(low, min(sqrt_price, high))
    candidates = [MAX_GROSS_LIQUIDITY]
    if price < high:
        candidates.append(maximum["base"] * price * high // (high - price) >> 96)
    if price > low:
        candidates.append((maximum["quote"] << 96) // (price - low))
    return min(candidates)


def _end(pool: RangePool, tick: int) -> Mapping[str, Any]:
    """Return the end of ranges at a tick; a new end counts all fees so far as earned below it."""
    end: Mapping[str, Any] | None = pool.liquidity_map.get(tick)
    if end is not None:
        return end
    is_below = tick <= pool.current_tick
    growth_outside = pool.global_fee_growth if is_below else _NONE
    return {"liquidity_delta": 0, "liquidity_gross": 0, "fee_growth_outside": growth_outside}


def _changed(pool: RangePool, key: tuple[Owner, int, int], change: int, amounts: Pair) -> RangeChange:
    _, lower, upper = key
    ends = {tick: _moved(_end(pool, tick), change, sign) for tick, sign in ((lower, 1), (upper, -1))}
    pool_with_ends = replace(pool, liquidity_map={**pool.liquidity_map, **ends})
    position, fees = _collected(pool_with_ends, key)
    total = position["liquidity"] + change
    if change:
        earned = {"original_sqrt_price": pool.current_sqrt_price, "accumulative_fees": _NONE}
        position = position | earned | {"liquidity": total}
    positions = {position_key: value for position_key, value in pool.positions.items() if position_key != key}
    pool = replace(
        pool_with_ends,
        positions=positions | {key: position} if total else positions,
        liquidity_map={tick: end for tick, end in pool_with_ends.liquidity_map.items() if _stays(tick, end)},
        current_liquidity=pool.current_liquidity + (change if pool.is_active(lower, upper) else 0),
    )
    return RangeChange(abs(change), amounts, fees, total, pool)


def _moved(end: Mapping[str, Any], change: int, sign: int) -> dict[str, Any]:
    gross, delta = end["liquidity_gross"] + change, end["liquidity_delta"] + sign * change
    return dict(end) | {"liquidity_gross": gross, "liquidity_delta": delta}


def _stays(tick: int, end: Mapping[str, Any]) -> bool:
    return bool(end["liquidity_gross"]) or tick in (MIN_TICK, MAX_TICK)


def _collected(pool: RangePool, key: tuple[Owner, int, int]) -> tuple[dict[str, Any], Pair]:
    """Return an order with its fees added (a new one if there is none), and these fees."""
    _, lower, upper = key
    growth = pool.growth_inside(lower, upper)
    position = pool.positions.get(key)
    if position is None:
        new_position = {"liquidity": 0, "last_fee_growth_inside": growth, "accumulative_fees": _NONE}
        return new_position | {"original_sqrt_price": pool.current_sqrt_price}, _NONE
    fees, fees_so_far = pool.earned(lower, upper, position), position["accumulative_fees"]
    all_fees = {side: fees_so_far[side] + fees[side] for side in fees}
    return dict(position) | {"last_fee_growth_inside": growth, "accumulative_fees": all_fees}, fees
