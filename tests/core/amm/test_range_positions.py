"""Range orders of several providers: what they bring, what they earn, what they take home."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.amm import (
    MAX_GROSS_LIQUIDITY,
    MAX_TICK,
    MIN_TICK,
    OrderRefused,
    RangePool,
    burned,
    liquidity_for_quote,
    minted,
    position_of,
    required_ratio,
    sqrt_price_at,
    sqrt_price_of_amounts,
    tick_at,
)

A, MAKER = (b"\x0a" * 32, 7), (bytes(32), 0)
ETHER = 10**18
AT_2800 = sqrt_price_of_amounts(ETHER, 2_800 * 10**6)
TICK = tick_at(AT_2800)
ALL = ("Liquidity", {"liquidity": 2**128 - 1})


def pool(fee: int = 3_000) -> RangePool:
    """Return a pool with one full-range order at 2,800 and a fee in millionths."""
    return RangePool.full_range(MAKER, AT_2800, liquidity_for_quote(AT_2800, 10**13), fee)


def of(liquidity: int) -> tuple[str, Any]:
    """Return an order's size as liquidity."""
    return "Liquidity", {"liquidity": liquidity}


def assets(base: int, quote: int, least: tuple[int, int] = (0, 0)) -> tuple[str, Any]:
    """Return an order's size as the most, and the least, of both assets."""
    minimum = dict(zip(("base", "quote"), least, strict=True))
    return "AssetAmounts", {"maximum": {"base": base, "quote": quote}, "minimum": minimum}


def test_an_order_around_the_price_takes_both_assets_rounded_up() -> None:
    """Take both assets for an order around the price, rounded up in the pool's favor."""
    low, high, liquidity = TICK - 100, TICK + 100, 10**15
    made = minted(pool(), A, low, high, of(liquidity))
    now, a, b = AT_2800, sqrt_price_at(low), sqrt_price_at(high)
    assert made.amounts == {
        "base": -(-(liquidity * (b - now) << 96) // (now * b)),
        "quote": -(-liquidity * (now - a) >> 96),
    }
    assert (made.liquidity, made.total, made.fees) == (liquidity, liquidity, {"base": 0, "quote": 0})
    assert made.pool.current_liquidity == pool().current_liquidity + liquidity
    assert made.pool.liquidity_map[low]["liquidity_delta"] == liquidity
    assert made.pool.liquidity_map[high]["liquidity_delta"] == -liquidity


def test_an_order_away_from_the_price_takes_one_asset() -> None:
    """Take base alone above the price and quote alone below it, and leave the current liquidity."""
    above = minted(pool(), A, TICK + 10, TICK + 20, of(10**15))
    assert (above.amounts["base"] > 0, above.amounts["quote"]) == (True, 0)
    below = minted(pool(), A, TICK - 20, TICK - 10, of(10**15))
    assert (below.amounts["base"], below.amounts["quote"] > 0) == (0, True)
    assert above.pool.current_liquidity == below.pool.current_liquidity == pool().current_liquidity


def test_the_fees_of_a_swap_are_shared_by_liquidity() -> None:
    """Share a swap's fee by liquidity, pay it once, and keep the sum of what was earned."""
    made = minted(pool(), A, TICK - 2_000, TICK + 2_000, of(pool().current_liquidity))
    swapped = made.pool.swap("base", 10 * ETHER).pool
    fee = swapped.total_fees_earned["base"]
    assert fee == 10 * ETHER - swapped.total_swap_inputs["base"]
    mine = position_of(swapped, A, TICK - 2_000, TICK + 2_000)
    theirs = position_of(swapped, MAKER, MIN_TICK, MAX_TICK)
    assert mine["fees"]["base"] in (fee // 2, fee // 2 - 1)
    assert theirs["fees"]["base"] == mine["fees"]["base"]
    nothing = burned(swapped, A, TICK - 2_000, TICK + 2_000, of(0))
    assert (nothing.fees, nothing.liquidity) == (mine["fees"], 0)
    again = burned(nothing.pool, A, TICK - 2_000, TICK + 2_000, of(0))
    assert again.fees == {"base": 0, "quote": 0}
    kept = position_of(nothing.pool, A, TICK - 2_000, TICK + 2_000)
    assert kept["accumulative_fees"] == mine["fees"]


def test_closing_an_order_leaves_only_the_traded_amounts() -> None:
    """Give back what an order brought, up to a unit of rounding, and leave the pool as it was."""
    made = minted(pool(), A, TICK - 100, TICK + 100, of(10**15))
    gone = burned(made.pool, A, TICK - 100, TICK + 100, ALL)
    assert (gone.liquidity, gone.total) == (10**15, 0)
    assert gone.pool == pool()
    for side, amount in gone.amounts.items():
        assert made.amounts[side] - amount in (0, 1)


@given(st.integers(-3_000, 3_000), st.integers(1, 3_000), st.integers(1, 10**20), st.integers(1, 10**12))
@settings(max_examples=60)
def test_the_most_liquidity_for_amounts_needs_no_more_than_them(
    start: int, width: int, base: int, quote: int
) -> None:
    """Never take more of either asset than the provider allowed."""
    low, high = TICK + start, TICK + start + width
    try:
        made = minted(pool(), A, low, high, assets(base, quote))
    except OrderRefused as refusal:
        assert str(refusal) in ("OrderDoesNotExist", "MaximumGrossLiquidity")
        return
    assert made.amounts["base"] <= base
    assert made.amounts["quote"] <= quote


@given(st.lists(st.tuples(st.sampled_from(["base", "quote"]), st.integers(1, 10**12)), max_size=5))
@settings(max_examples=40)
def test_orders_never_collect_more_than_the_pool_holds(swaps: list[tuple[str, int]]) -> None:
    """Never pay out more than the pool holds: after all orders close, at most rounding is left."""
    made = minted(pool(), A, TICK - 200, TICK + 300, of(10**16))
    held = {
        side: made.amounts[side] + amount
        for side, amount in pool().value(MIN_TICK, MAX_TICK, pool().current_liquidity, up=True).items()
    }
    now = made.pool
    for sold, amount in swaps:
        amount *= 10**8 if sold == "base" else 1
        swapped = now.swap(sold, amount)
        bought = "quote" if sold == "base" else "base"
        held[sold] += amount - swapped.left
        held[bought] -= swapped.output
        now = swapped.pool
    for owner, low, high in ((A, TICK - 200, TICK + 300), (MAKER, MIN_TICK, MAX_TICK)):
        gone = burned(now, owner, low, high, ALL)
        now = gone.pool
        held = {side: held[side] - gone.amounts[side] - gone.fees[side] for side in held}
    assert all(0 <= left <= 30 for left in held.values())
    assert now.current_liquidity == 0
    assert sorted(now.liquidity_map) == [MIN_TICK, MAX_TICK]


REFUSED: list[tuple[int, int, Any, str]] = [
    (10, 10, of(1), "InvalidTickRange"),
    (MIN_TICK - 1, 10, of(1), "InvalidTickRange"),
    (TICK - 1, TICK + 1, of(MAX_GROSS_LIQUIDITY + 1), "MaximumGrossLiquidity"),
    (TICK - 1, TICK + 1, of(0), "OrderDoesNotExist"),
    (TICK - 9, TICK + 9, assets(ETHER, 1, (ETHER, 0)), "AssetRatioUnachievable"),
]


@pytest.mark.parametrize(("low", "high", "size", "error"), REFUSED)
def test_what_cannot_be_is_refused_by_the_pallets_name(low: int, high: int, size: Any, error: str) -> None:
    """Refuse an impossible order by the pallet's own error name: clients match on it."""
    with pytest.raises(OrderRefused, match=f"^{error}$"):
        minted(pool(), A, low, high, size)


def test_the_ratio_of_assets_is_that_of_an_order() -> None:
    """Tell a provider the ratio of assets that an order of that range will take."""
    ratio = required_ratio(pool(), TICK - 100, TICK + 300)
    made = minted(pool(), A, TICK - 100, TICK + 300, of(10**20))
    assert ratio["base"] * made.amounts["quote"] == pytest.approx(
        ratio["quote"] * made.amounts["base"], rel=1e-9
    )
