"""Ticks and their prices: the ends that Uniswap's contract states, and every boundary to the last unit."""

from __future__ import annotations

import random

from cfnode.core.amm.ticks import (
    MAX_SQRT_PRICE,
    MAX_TICK,
    MIN_SQRT_PRICE,
    MIN_TICK,
    sqrt_price_at,
    tick_at,
)


def test_the_ends_have_the_prices_of_the_contract() -> None:
    """Give the lowest, the middle and the highest tick the prices that Uniswap's contract states."""
    assert (sqrt_price_at(MIN_TICK), sqrt_price_at(MAX_TICK)) == (MIN_SQRT_PRICE, MAX_SQRT_PRICE)
    assert sqrt_price_at(0) == 1 << 96
    assert (tick_at(MIN_SQRT_PRICE), tick_at(MAX_SQRT_PRICE)) == (MIN_TICK, MAX_TICK)


def test_a_tick_begins_at_its_price_and_not_a_unit_before() -> None:
    """Start a tick exactly at its price: one unit less belongs to the tick before."""
    chance = random.Random(1)
    inner = range(MIN_TICK + 1, MAX_TICK)
    for tick in (*inner[:50], *range(-50, 51), *inner[-50:], *chance.sample(inner, 2000)):
        price = sqrt_price_at(tick)
        assert (tick_at(price - 1), tick_at(price), tick_at(price + 1)) == (tick - 1, tick, tick)
        assert tick_at((price + sqrt_price_at(tick + 1)) // 2) == tick


def test_beyond_the_ends_there_are_no_more_ticks() -> None:
    """Clamp prices outside of the range to the last ticks."""
    assert (tick_at(0), tick_at(MIN_SQRT_PRICE - 1)) == (MIN_TICK, MIN_TICK)
    assert (tick_at(MAX_SQRT_PRICE + 1), tick_at(1 << 200)) == (MAX_TICK, MAX_TICK)
