"""Ticks, prices and swaps of range orders: known values, and what must hold for all amounts."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.amm import (
    MAX_SQRT_PRICE,
    MAX_TICK,
    MIN_SQRT_PRICE,
    MIN_TICK,
    RangePool,
    liquidity_for_quote,
    price_of,
    sqrt_price_at,
    sqrt_price_of,
    sqrt_price_of_amounts,
    tick_at,
)

OWNER = (bytes(32), 0)
ETHER = 10**18
AT_2800 = sqrt_price_of_amounts(ETHER, 2_800 * 10**6)


def pool(depth: int = 10**13, fee: int = 20) -> RangePool:
    """Return a pool with one full-range order of a depth in quote and a fee in millionths."""
    return RangePool.full_range(OWNER, AT_2800, liquidity_for_quote(AT_2800, depth), fee)


@pytest.mark.parametrize(
    ("tick", "sqrt_price"),
    [
        (MIN_TICK, MIN_SQRT_PRICE),
        (MAX_TICK, MAX_SQRT_PRICE),
        (0, 2**96),
        # The values of Uniswap's own tests of TickMath.
        (50, 79426470787362580746886972461),
        (100, 79625275426524748796330556128),
        (-500_000, 1101692437043807371),
        (500_000, 5697689776495288729098254600827762987878),
        (738_203, 847134979253254120489401328389043031315994541),
    ],
)
def test_a_ticks_price_is_that_of_uniswap(tick: int, sqrt_price: int) -> None:
    """Compute the price of a tick as Uniswap's contract does, and the tick of that price."""
    assert sqrt_price_at(tick) == sqrt_price
    assert tick_at(sqrt_price) == tick


@given(st.integers(MIN_TICK, MAX_TICK - 1))
@settings(max_examples=60)
def test_the_tick_of_a_price_is_the_last_one_not_above_it(tick: int) -> None:
    """Give a price between two ticks the lower one."""
    assert tick_at(sqrt_price_at(tick + 1) - 1) == tick


def test_a_price_and_its_root_go_together() -> None:
    """Convert a price to its root and back, and clamp the root to its lowest value."""
    assert price_of(2**96) == 2**128
    assert sqrt_price_of(2**128) == 2**96
    assert sqrt_price_of_amounts(1, 1) == 2**96
    assert sqrt_price_of_amounts(10**40, 1) == MIN_SQRT_PRICE


def test_a_small_swap_gets_the_price_less_the_fee() -> None:
    """Give a small swap the pool's price less its fee, up to a few units."""
    swapped = pool(fee=1_000).swap("base", ETHER // 1_000)
    exact = Fraction(2_800_000 * 999, 1_000)
    assert 0 < exact - swapped.output < 5
    assert swapped.left == 0


@given(st.integers(1, 10**21), st.sampled_from(["base", "quote"]), st.integers(0, 100_000))
@settings(max_examples=80)
def test_the_product_never_shrinks_and_nothing_is_given_away(amount: int, sold: str, fee: int) -> None:
    """Keep liquidity constant and let no trader swap there and back with a gain."""
    if sold == "quote":
        amount //= 10**9
    before = pool(fee=fee)
    after = before.swap(sold, amount).pool
    assert after.current_liquidity == before.current_liquidity
    output = after.total_swap_outputs["quote" if sold == "base" else "base"]
    assert after.total_swap_inputs[sold] + after.total_fees_earned[sold] == amount
    back = after.swap("quote" if sold == "base" else "base", output) if output else None
    assert back is None or back.output <= amount


def test_larger_swaps_get_worse_prices() -> None:
    """Give a larger swap a worse price."""
    outputs = [pool().swap("base", n * 10 * ETHER).output / n for n in (1, 10, 100)]
    assert outputs[0] > outputs[1] > outputs[2]


def test_a_swap_goes_on_beyond_the_end_of_a_range() -> None:
    """Continue a swap beyond the end of a range with the liquidity that is left, and return through it."""
    wide = pool(10**10)
    tick = wide.current_tick
    narrow = 10**15
    none = {"base": 0, "quote": 0}
    ends = dict(wide.liquidity_map)
    for at, change in ((tick - 10, narrow), (tick + 10, -narrow)):
        ends[at] = {"liquidity_delta": change, "liquidity_gross": narrow, "fee_growth_outside": none}
    value = wide.to_value() | {
        "liquidity_map": sorted(ends.items()),
        "current_liquidity": wide.current_liquidity + narrow,
    }
    both = RangePool.from_value(value)
    swapped = both.swap("base", 30 * ETHER)
    assert swapped.pool.current_tick < tick - 10
    assert swapped.pool.current_liquidity == wide.current_liquidity
    assert swapped.output > wide.swap("base", 30 * ETHER).output
    outside = swapped.pool.liquidity_map[tick - 10]["fee_growth_outside"]["base"]
    assert 0 < outside < swapped.pool.global_fee_growth["base"]
    home = swapped.pool.swap("quote", swapped.output)
    assert home.pool.current_liquidity == both.current_liquidity


def test_a_value_of_the_state_reads_back() -> None:
    """Read a pool back from its storage value without a change."""
    swapped = pool().swap("quote", 10**9).pool
    assert RangePool.from_value(swapped.to_value()) == swapped
