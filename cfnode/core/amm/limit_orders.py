"""Limit orders: swaps with them, each order's share of what was sold, and changes of orders.

All orders at one tick that sell the same asset are one fixed pool: a swap takes a part of the pool, and each
order's share of it is calculated when the order is read. A fixed pool that is sold out is removed; a later
one at the same tick has another number, which shows that all of an old order is sold. A swap uses the best
price first; there is no fee. (The chain's `cf_amm::limit_orders`.)

Orders are grouped by what they sell, "base" (asks) or "quote" (bids); a swap by what is sold to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .errors import OrderRefused
from .prices import beating, price_of, worse
from .shares import WHOLE_SHARE, Share
from .ticks import MAX_TICK, MIN_TICK, sqrt_price_at, tick_at

__all__ = ["CollectedAmounts", "Filled", "LimitPool", "PoolLimitOrder", "other"]

MAX_AT_A_PRICE = 2**128 - 1
MAX_POOLS = 2**128 - 1
Owner = tuple[bytes, int]
Pools = Mapping[int, dict[str, Any]]
Positions = Mapping[tuple[int, Owner], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class CollectedAmounts:
    """The amounts that an order has bought and sold since it was last collected, and its original size."""

    bought: int = 0
    sold: int = 0
    original: int = 0


@dataclass(frozen=True, slots=True)
class PoolLimitOrder:
    """An order at present: the asset it sells, its owner, its tick, and the amount left."""

    side: str
    owner: Owner
    tick: int
    amount: int
    collected: CollectedAmounts


@dataclass(frozen=True, slots=True)
class Filled:
    """The result of a swap with limit orders; `left` of its input was not used."""

    output: int
    left: int
    pool: LimitPool


def other(side: str) -> str:
    """Return the asset of a pool that is not `side`: "quote" for "base", "base" for "quote"."""
    return "quote" if side == "base" else "base"


@dataclass(frozen=True, slots=True)
class LimitPool:
    """The limit orders of a pool. Members are those of the chain's `limit_orders::PoolState`."""

    next_pool_instance: int
    fixed_pools: Mapping[str, Pools]
    positions: Mapping[str, Positions]
    total_swap_inputs: Mapping[str, int]
    total_swap_outputs: Mapping[str, int]

    @classmethod
    def empty(cls) -> LimitPool:
        """Return a pool without orders."""
        zeros = {"base": 0, "quote": 0}
        return cls(0, {"base": {}, "quote": {}}, {"base": {}, "quote": {}}, zeros, zeros)

    @classmethod
    def from_value(cls, value: Mapping[str, Any]) -> LimitPool:
        """Return the orders of a decoded `limit_orders::PoolState`."""
        maps = {name: {side: dict(value[name][side]) for side in value[name]} for name in _MAPS}
        return cls(**(dict(value) | maps))

    def to_value(self) -> dict[str, Any]:
        """Return the orders as a value of `limit_orders::PoolState`."""
        maps = {
            name: {side: sorted(entries.items()) for side, entries in getattr(self, name).items()}
            for name in _MAPS
        }
        return {name: getattr(self, name) for name in self.__slots__} | maps

    def best(self, sold: str) -> int | None:
        """Return the square root of the best price for a seller of "base" or "quote"; None without orders."""
        prices = self.fixed_pools[other(sold)]
        return (max(prices) if sold == "base" else min(prices)) if prices else None

    # Swapping

    def swap(self, sold: str, amount: int, limit: int | None, fee: int) -> Filled:
        """Sell an amount at prices that, with the range orders' fee, are no worse than `limit`.

        `limit` is the square root of a price; `fee` is in parts per million.
        """
        pool, left, output = self, amount, 0
        while left and (price := pool.best(sold)) is not None:
            if limit is not None and worse(sold, beating(sold, price, fee), limit):
                break
            step = pool._take(sold, price, left)
            pool, left, output = step.pool, step.left, output + step.output
        return Filled(output, left, pool._counted("total_swap_outputs", other(sold), output))

    def _take(self, sold: str, sqrt_price: int, amount: int) -> Filled:
        """Swap with one fixed pool, all of it or a part."""
        fixed = self.fixed_pools[other(sold)][sqrt_price]
        available, price = fixed["available"], price_of(sqrt_price)
        full_input = _input(sold, available, price, up=True)
        if amount >= full_input:
            pool = self._with_fixed(other(sold), sqrt_price, None)
            return Filled(
                available, amount - full_input, pool._counted("total_swap_inputs", sold, full_input)
            )
        share_before = Share.of(fixed["percent_remaining"])
        # The share is rounded against the order, and the output then follows the share.
        share_after = share_before.times(available - _output(sold, amount, price), available)
        output = available - share_after.of_amount(available, share_before)[1]
        changed = fixed | {"percent_remaining": share_after.value, "available": available - output}
        pool = self._with_fixed(other(sold), sqrt_price, changed)
        return Filled(output, 0, pool._counted("total_swap_inputs", sold, amount))

    # Orders

    def orders(self, side: str) -> Iterator[PoolLimitOrder]:
        """Yield all orders that sell "base" or "quote", also those that are filled and not yet collected."""
        for (sqrt_price, owner), position in self.positions[side].items():
            collected, open_position = self._collected(side, sqrt_price, position)
            yield PoolLimitOrder(
                side, owner, tick_at(sqrt_price), open_position["amount"] if open_position else 0, collected
            )

    def order(self, side: str, owner: Owner, tick: int) -> PoolLimitOrder | None:
        """Return the owner's order at the tick, or None."""
        sqrt_price = sqrt_price_at(tick)
        position = self.positions[side].get((sqrt_price, owner))
        if position is None:
            return None
        collected, open_position = self._collected(side, sqrt_price, position)
        return PoolLimitOrder(side, owner, tick, open_position["amount"] if open_position else 0, collected)

    def minted(self, side: str, owner: Owner, tick: int, amount: int) -> tuple[PoolLimitOrder, LimitPool]:
        """Collect an order and add an amount to it, or create the order. Raises OrderRefused.

        Returns the order and the pool after the change.
        """
        if not amount:
            _, order, pool = self.burned(side, owner, tick, 0)
            return order, pool
        sqrt_price = _root(tick)
        position, collected = self.positions[side].get((sqrt_price, owner)), CollectedAmounts()
        if position is not None:
            collected, position = self._collected(side, sqrt_price, position)
        fixed, next_instance = self._fixed_or_new(side, sqrt_price)
        if position is None:
            position = {"pool_instance": fixed["pool_instance"], "amount": 0}
            position["last_percent_remaining"] = fixed["percent_remaining"]
        available, total = fixed["available"] + amount, position["amount"] + amount
        if available > MAX_AT_A_PRICE:
            raise OrderRefused("MaximumGrossLiquidity")
        pool = self._with_fixed(side, sqrt_price, fixed | {"available": available})
        changed = position | {"amount": total, "original_amount": total}
        pool = replace(
            pool._with_position(side, (sqrt_price, owner), changed), next_pool_instance=next_instance
        )
        return PoolLimitOrder(side, owner, tick, total, collected), pool

    def burned(
        self, side: str, owner: Owner, tick: int, amount: int
    ) -> tuple[int, PoolLimitOrder, LimitPool]:
        """Collect an order and take up to an amount out of it. Raises OrderRefused.

        Returns the amount taken, and the order and the pool after the change.
        """
        sqrt_price = _root(tick)
        key = sqrt_price, owner
        position = self.positions[side].get(key)
        if position is None:
            raise OrderRefused("OrderDoesNotExist")
        collected, open_position = self._collected(side, sqrt_price, position)
        if open_position is None:
            pool_after = self._with_position(side, key, None)
            return 0, PoolLimitOrder(side, owner, tick, 0, collected), pool_after
        taken = min(open_position["amount"], amount)
        remaining = open_position["amount"] - taken
        fixed, pool = self.fixed_pools[side][sqrt_price], self
        if taken:
            open_position = open_position | {"amount": remaining, "original_amount": remaining}
            available = fixed["available"] - taken
            pool = self._with_fixed(side, sqrt_price, fixed | {"available": available} if available else None)
        pool = pool._with_position(side, key, open_position if remaining else None)
        return taken, PoolLimitOrder(side, owner, tick, remaining, collected), pool

    def _collected(
        self, side: str, sqrt_price: int, position: Mapping[str, Any]
    ) -> tuple[CollectedAmounts, dict[str, Any] | None]:
        """Return what an order has earned, and the order at present; None if all of it is sold."""
        fixed, open_position = self.fixed_pools[side].get(sqrt_price), None
        sold = amount = position["amount"]
        if fixed is not None and fixed["pool_instance"] == position["pool_instance"]:
            share = Share.of(fixed["percent_remaining"])
            rounded_down, rounded_up = share.of_amount(amount, Share.of(position["last_percent_remaining"]))
            sold = amount - rounded_up
            if rounded_down:
                open_position = dict(position) | {
                    "amount": rounded_down,
                    "last_percent_remaining": share.value,
                }
        bought = _input(other(side), sold, price_of(sqrt_price), up=False)
        return CollectedAmounts(bought, sold, position["original_amount"]), open_position

    def _fixed_or_new(self, side: str, sqrt_price: int) -> tuple[dict[str, Any], int]:
        """Return the fixed pool at a price, and the number of the next new one."""
        fixed = self.fixed_pools[side].get(sqrt_price)
        if fixed is not None:
            return fixed, self.next_pool_instance
        if self.next_pool_instance >= MAX_POOLS:
            raise OrderRefused("MaximumPoolInstances")
        number = self.next_pool_instance
        new_pool = {"pool_instance": number, "available": 0, "percent_remaining": WHOLE_SHARE.value}
        return new_pool, number + 1

    # Liquidity

    def liquidity(self, side: str) -> list[tuple[int, int]]:
        """Return (tick, amount for sale at the tick) for each fixed pool, by tick."""
        return [(tick_at(price), pool["available"]) for price, pool in sorted(self.fixed_pools[side].items())]

    def depth(self, side: str, lower: int, upper: int) -> int:
        """Return the amount for sale from the tick `lower` to below `upper`."""
        low, high = sqrt_price_at(lower), sqrt_price_at(upper)
        return sum(pool["available"] for price, pool in self.fixed_pools[side].items() if low <= price < high)

    def _with_fixed(self, side: str, sqrt_price: int, pool: Any) -> LimitPool:
        return replace(self, fixed_pools=_changed(self.fixed_pools, side, sqrt_price, pool))

    def _with_position(self, side: str, key: tuple[int, Owner], position: Any) -> LimitPool:
        return replace(self, positions=_changed(self.positions, side, key, position))

    def _counted(self, name: str, side: str, amount: int) -> LimitPool:
        totals = getattr(self, name)
        changed: Any = {name: {**totals, side: totals[side] + amount}}
        return replace(self, **changed)


_MAPS = ("fixed_pools", "positions")


def _changed(maps: Mapping[str, Mapping[Any, Any]], side: str, key: Any, value: Any) -> Any:
    """Return maps by side with one entry set, or removed if the value is None."""
    entries = {other_key: entry for other_key, entry in maps[side].items() if other_key != key}
    return {**maps, side: entries if value is None else entries | {key: value}}


def _root(tick: int) -> int:
    if not MIN_TICK <= tick <= MAX_TICK:
        raise OrderRefused("InvalidTick")
    return sqrt_price_at(tick)


def _input(sold: str, output: int, price: int, *, up: bool) -> int:
    """Return the input that a seller of "base" or "quote" needs for `output` at a price."""
    numerator, denominator = (output << 128, price) if sold == "base" else (output * price, 1 << 128)
    return -(-numerator // denominator) if up else numerator // denominator


def _output(sold: str, amount: int, price: int) -> int:
    """Return the output of an amount at a price, rounded down."""
    return amount * price >> 128 if sold == "base" else (amount << 128) // price
