"""A pool of limit orders and range orders: its price, and swaps with both kinds.

A swap alternates between the two kinds, always at the better price: a limit order is compared by the price
that the range orders would have to offer to be as good after their fee, and is used first if both are equal.
(The chain's `cf_amm::PoolState`.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .errors import OutOfLiquidity
from .limit_orders import LimitPool
from .prices import beating, sqrt_price_of_amounts, with_fee, worse
from .range_orders import RangePool
from .roots import root_of
from .ticks import MAX_SQRT_PRICE, MIN_SQRT_PRICE, tick_at

__all__ = ["AmmPool", "Sold"]

MAX_U256 = 2**256 - 1
WORST = {"base": MIN_SQRT_PRICE, "quote": MAX_SQRT_PRICE}


@dataclass(frozen=True, slots=True)
class Sold:
    """The result of a swap; `left` of its input was not used.

    `impact` is the distance, in ticks, of the average price from the nearer of the prices before and after
    the swap.
    """

    output: int
    left: int
    pool: AmmPool
    impact: int = 0


@dataclass(frozen=True, slots=True)
class AmmPool:
    """The limit orders and the range orders of a pool."""

    limit_orders: LimitPool
    range_orders: RangePool

    @classmethod
    def from_value(cls, value: Mapping[str, Any]) -> AmmPool:
        """Return the pool of a decoded `cf_amm::PoolState`."""
        limits, ranges = value["limit_orders"], value["range_orders"]
        return cls(LimitPool.from_value(limits), RangePool.from_value(ranges))

    def to_value(self) -> dict[str, Any]:
        """Return the pool as a value of `cf_amm::PoolState`."""
        return {"limit_orders": self.limit_orders.to_value(), "range_orders": self.range_orders.to_value()}

    def price(self, sold: str) -> int | None:
        """Return the square root of the price, after the fee, for a seller of "base" or "quote".

        None if the pool has no price in that direction.
        """
        ranges, limit = self.range_orders, self.limit_orders.best(sold)
        if not ranges.has_price(sold):
            return limit
        price = with_fee(sold, ranges.current_sqrt_price, ranges.fee_hundredth_pips)
        return price if limit is None or worse(sold, limit, price) else limit

    def sell(self, sold: str, amount: int) -> Sold:
        """Sell an amount. Raises OutOfLiquidity if there is no price before or after the swap."""
        price_before = self.price(sold)
        swapped = self.swap(sold, amount)
        price_after = swapped.pool.price(sold)
        if price_before is None or price_after is None:
            raise OutOfLiquidity
        return replace(
            swapped, impact=_impact(sold, amount, swapped.output, tick_at(price_before), tick_at(price_after))
        )

    def swap(self, sold: str, amount: int, limit: int | None = None) -> Sold:
        """Sell as much of an amount as prices allow, or until they are worse than `limit`."""
        pool, left, output = self, amount, 0
        while left:
            step = pool._step(sold, left, limit)
            if step is None:
                break
            pool, left, output = step.pool, step.left, output + step.output
        return Sold(output, left, pool)

    def _step(self, sold: str, amount: int, limit: int | None) -> Sold | None:
        """Sell to the kind of orders with the better price now, until the other kind is better."""
        limits, ranges = self.limit_orders, self.range_orders
        fee, best = ranges.fee_hundredth_pips, limits.best(sold)
        if best is not None and limit is not None and worse(sold, best, limit):
            best = None
        current = ranges.current_sqrt_price if ranges.has_price(sold) else None
        if current is not None and limit is not None and not worse(sold, limit, current):
            current = None
        best = None if best is None else beating(sold, best, fee)
        if current is not None and (best is None or worse(sold, best, current)):
            swapped = ranges.swap(sold, amount, limit if best is None else best)
            return Sold(swapped.output, swapped.left, replace(self, range_orders=swapped.pool))
        if best is not None:
            filled = limits.swap(sold, amount, limit if current is None else current, fee)
            return Sold(filled.output, filled.left, replace(self, limit_orders=filled.pool))
        return None

    def offers(self, sold: str, count: int) -> Iterator[tuple[int, int]]:
        """Yield (input, output) between each two of a series of prices, from the current one to the worst."""
        pool = self
        for price in self._prices(sold, count):
            swapped = pool.swap(sold, MAX_U256, price)
            pool, spent = swapped.pool, MAX_U256 - swapped.left
            if spent and swapped.output:
                yield spent, swapped.output

    def _prices(self, sold: str, count: int) -> list[int]:
        """Return `count` prices from the current to the worst, with the same factor between each two."""
        price, worst = self.price(sold), WORST[sold]
        if price is None or price == worst:
            return []
        ratio = max(price, worst) // min(price, worst)
        factor, prices = root_of(ratio, count), list[int]()
        for _ in range(count - 1):
            price = (price << 128) // factor if sold == "base" else price * factor >> 128
            prices.append(price)
        return [*prices, worst]


def _impact(sold: str, amount: int, output: int, before: int, after: int) -> int:
    base, quote = (amount, output) if sold == "base" else (output, amount)
    average = tick_at(sqrt_price_of_amounts(base, quote)) if base else tick_at(MAX_SQRT_PRICE)
    average = max(min(before, after), min(average, max(before, after)))
    return min(abs(average - after), abs(average - before))
