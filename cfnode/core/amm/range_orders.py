"""Range orders of a pool: swaps with their liquidity, fees, value and depth.

Liquidity offered between two ticks trades along x·y = L² there. A swap advances between the ticks at which
ranges end: within a step the liquidity is constant and the new price follows from the input; at the tick the
liquidity changes. Every division rounds in the pool's favour. (Uniswap v3 whitepaper, section 6; the chain's
`cf_amm::range_orders`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from .prices import worse
from .ticks import MAX_SQRT_PRICE, MAX_TICK, MIN_SQRT_PRICE, MIN_TICK, sqrt_price_at, tick_at

__all__ = ["MAX_GROSS_LIQUIDITY", "RangePool", "Swapped", "liquidity_for_quote"]

PIPS = 10**6
MAX_GROSS_LIQUIDITY = (2**128 - 1) // (MAX_TICK - MIN_TICK + 1)
_WORD = 2**256
Pair = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Swapped:
    """The result of a swap, and the pool after it; `left` of its input was not used."""

    output: int
    left: int
    pool: RangePool


@dataclass(frozen=True, slots=True)
class _Step:
    """Part of a swap at one liquidity: the price at which it ends, and amounts."""

    sqrt_price: int
    spent: int
    fee: int
    output: int


@dataclass(frozen=True, slots=True)
class RangePool:
    """The range orders of a pool. Members are those of the chain's `range_orders::PoolState`.

    Pairs have `base` and `quote`; `fee_hundredth_pips` is in parts per million of the input.
    """

    fee_hundredth_pips: int
    current_sqrt_price: int
    current_tick: int
    current_liquidity: int
    global_fee_growth: Pair
    liquidity_map: Mapping[int, Any]
    positions: Mapping[tuple[tuple[bytes, int], int, int], Mapping[str, Any]]
    total_fees_earned: Pair
    total_swap_inputs: Pair
    total_swap_outputs: Pair

    @classmethod
    def empty(cls, sqrt_price: int, fee: int) -> RangePool:
        """Return a pool without orders; `fee` is in parts per million."""
        zeros = {"base": 0, "quote": 0}
        end = {"liquidity_delta": 0, "liquidity_gross": 0, "fee_growth_outside": zeros}
        ends = {MIN_TICK: end, MAX_TICK: end}
        return cls(fee, sqrt_price, tick_at(sqrt_price), 0, zeros, ends, {}, zeros, zeros, zeros)

    @classmethod
    def full_range(cls, owner: tuple[bytes, int], sqrt_price: int, liquidity: int, fee: int) -> RangePool:
        """Return a pool with one order over all prices; `fee` is in parts per million."""
        zeros = {"base": 0, "quote": 0}
        ends = {
            tick: {"liquidity_delta": change, "liquidity_gross": liquidity, "fee_growth_outside": zeros}
            for tick, change in ((MIN_TICK, liquidity), (MAX_TICK, -liquidity))
        }
        position = {
            "liquidity": liquidity,
            "last_fee_growth_inside": zeros,
            "accumulative_fees": zeros,
            "original_sqrt_price": sqrt_price,
        }
        orders = {(owner, MIN_TICK, MAX_TICK): position}
        tick = tick_at(sqrt_price)
        return cls(fee, sqrt_price, tick, liquidity, zeros, ends, orders, zeros, zeros, zeros)

    @classmethod
    def from_value(cls, value: Mapping[str, Any]) -> RangePool:
        """Return the pool of a decoded `range_orders::PoolState`."""
        pool = dict(value)
        pool["liquidity_map"] = dict(pool["liquidity_map"])
        pool["positions"] = dict(pool["positions"])
        return cls(**pool)

    def to_value(self) -> dict[str, Any]:
        """Return the pool as a value of `range_orders::PoolState`."""
        value = {name: getattr(self, name) for name in self.__slots__}
        return value | {
            "liquidity_map": sorted(self.liquidity_map.items()),
            "positions": sorted(self.positions.items()),
        }

    def has_price(self, sold: str) -> bool:
        """Return whether the price can still move in the direction of selling "base" or "quote"."""
        if sold == "base":
            return self.current_sqrt_price > MIN_SQRT_PRICE
        return self.current_sqrt_price < MAX_SQRT_PRICE

    def swap(self, sold: str, amount: int, limit: int | None = None) -> Swapped:
        """Sell `amount` of "base" or "quote", to the end of the prices or down to `limit`.

        `limit` is the square root of a price.
        """
        pool, left, output, spent = self, amount, 0, 0
        while left and (limit is None or worse(sold, limit, pool.current_sqrt_price)):
            tick = pool._next_tick(sold)
            if tick is None:
                break
            end = sqrt_price_at(tick)
            target = limit if limit is not None and worse(sold, end, limit) else end
            step = pool._step(sold, left, target)
            left -= step.spent + step.fee
            output, spent = output + step.output, spent + step.spent
            pool = pool._after(sold, step, tick)
        return Swapped(output, left, pool._counted(sold, spent, output))

    def _next_tick(self, sold: str) -> int | None:
        """Return the next tick at which a range ends, in the direction of the swap."""
        if sold == "base":
            return max((tick for tick in self.liquidity_map if tick <= self.current_tick), default=None)
        return min((tick for tick in self.liquidity_map if tick > self.current_tick), default=None)

    def _step(self, sold: str, amount: int, target: int) -> _Step:
        price, liquidity, fee = self.current_sqrt_price, self.current_liquidity, self.fee_hundredth_pips
        if not liquidity:
            return _Step(target, 0, 0, 0)
        net = amount * (PIPS - fee) // PIPS
        full = _input(sold, liquidity, price, target)
        if net >= full:
            return _Step(
                target, full, -(-full * fee // (PIPS - fee)), _output(sold, liquidity, price, target)
            )
        if sold == "base":
            reached = -(-(liquidity * price << 96) // ((liquidity << 96) + net * price))
        else:
            reached = price + (net << 96) // liquidity
        spent = _input(sold, liquidity, price, reached)
        return _Step(reached, spent, amount - spent, _output(sold, liquidity, price, reached))

    def _after(self, sold: str, step: _Step, tick: int) -> RangePool:
        earned = dict(self.total_fees_earned) | {sold: self.total_fees_earned[sold] + step.fee}
        growth = dict(self.global_fee_growth)
        if step.fee:
            growth[sold] = min(growth[sold] + (step.fee << 128) // self.current_liquidity, _WORD - 1)
        pool = replace(
            self, current_sqrt_price=step.sqrt_price, total_fees_earned=earned, global_fee_growth=growth
        )
        if step.sqrt_price == sqrt_price_at(tick):
            return pool._crossed(sold, tick)
        if step.sqrt_price == self.current_sqrt_price:
            return pool
        return replace(pool, current_tick=tick_at(step.sqrt_price))

    def _crossed(self, sold: str, tick: int) -> RangePool:
        """Add or remove the liquidity of ranges that end at a tick; their fees outside switch sides."""
        end = self.liquidity_map[tick]
        growth_outside = {
            side: (self.global_fee_growth[side] - end["fee_growth_outside"][side]) % _WORD
            for side in ("base", "quote")
        }
        falling = sold == "base"
        change = -end["liquidity_delta"] if falling else end["liquidity_delta"]
        return replace(
            self,
            current_tick=tick - 1 if falling else tick,
            current_liquidity=self.current_liquidity + change,
            liquidity_map={**self.liquidity_map, tick: end | {"fee_growth_outside": growth_outside}},
        )

    def _counted(self, sold: str, spent: int, output: int) -> RangePool:
        bought = "quote" if sold == "base" else "base"
        inputs, outputs = self.total_swap_inputs, self.total_swap_outputs
        return replace(
            self,
            total_swap_inputs=dict(inputs) | {sold: inputs[sold] + spent},
            total_swap_outputs=dict(outputs) | {bought: outputs[bought] + output},
        )

    def value(self, lower: int, upper: int, liquidity: int, *, up: bool = False) -> dict[str, int]:
        """Return the amounts of liquidity between two ticks at the current price, rounded down, or up."""
        lower_price, upper_price, price = sqrt_price_at(lower), sqrt_price_at(upper), self.current_sqrt_price
        return {
            "base": _base(liquidity, max(lower_price, price), max(upper_price, price), up=up),
            "quote": _quote(liquidity, min(lower_price, price), min(upper_price, price), up=up),
        }

    def is_active(self, lower: int, upper: int) -> bool:
        """Return whether liquidity between two ticks trades at the current price."""
        return lower <= self.current_tick < upper

    def earned(self, lower: int, upper: int, position: Mapping[str, Any]) -> dict[str, int]:
        """Return the fees that an order between two ticks has earned since they were collected."""
        growth, last_growth = self.growth_inside(lower, upper), position["last_fee_growth_inside"]
        return {
            side: (growth[side] - last_growth[side]) % _WORD * position["liquidity"] >> 128 for side in growth
        }

    def growth_inside(self, lower: int, upper: int) -> dict[str, int]:
        """Return all fees that a unit of liquidity between two ticks has earned, modulo 2^256."""
        return {side: self._growth_inside(lower, upper, side) for side in ("base", "quote")}

    def _growth_inside(self, lower: int, upper: int, side: str) -> int:
        growth_below = self._growth_beyond(lower, side, passed=self.current_tick >= lower)
        growth_above = self._growth_beyond(upper, side, passed=self.current_tick < upper)
        return (self.global_fee_growth[side] - growth_below - growth_above) % _WORD

    def _growth_beyond(self, tick: int, side: str, *, passed: bool) -> int:
        growth_outside: int = self.liquidity_map[tick]["fee_growth_outside"][side]
        return growth_outside if passed else self.global_fee_growth[side] - growth_outside

    def depth(self, lower: int, upper: int) -> dict[str, int]:
        """Return the amounts that the pool can pay out between two ticks.

        Base is paid out above the current price, quote below it.
        """
        depth = {"base": 0, "quote": 0}
        liquidity = 0
        ticks = sorted({*self.liquidity_map, lower, upper})
        for start, end in pairwise(ticks):
            if start in self.liquidity_map:
                liquidity += self.liquidity_map[start]["liquidity_delta"]
            if start < lower or end > upper:
                continue
            for side, amount in self.value(start, end, liquidity).items():
                depth[side] += amount
        return depth


def liquidity_for_quote(sqrt_price: int, quote: int) -> int:
    """Return the liquidity of an order over all prices that holds `quote` below the current price."""
    liquidity = (quote << 96) // max(1, sqrt_price - MIN_SQRT_PRICE)
    return min(liquidity, MAX_GROSS_LIQUIDITY)


def _input(sold: str, liquidity: int, price: int, reached: int) -> int:
    """Return the input that moves the price to `reached`, rounded up."""
    if sold == "base":
        return _base(liquidity, reached, price, up=True)
    return _quote(liquidity, price, reached, up=True)


def _output(sold: str, liquidity: int, price: int, reached: int) -> int:
    """Return the output when the price moves to `reached`, rounded down."""
    if sold == "base":
        return _quote(liquidity, reached, price, up=False)
    return _base(liquidity, price, reached, up=False)


def _base(liquidity: int, low: int, high: int, *, up: bool) -> int:
    numerator, denominator = liquidity * (high - low) << 96, low * high
    return -(-numerator // denominator) if up else numerator // denominator


def _quote(liquidity: int, low: int, high: int, *, up: bool) -> int:
    product = liquidity * (high - low)
    return -(-product >> 96) if up else product >> 96
