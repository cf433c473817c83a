"""Ticks, prices and amounts of orders: exact both ways, and rounded in favor of the owner."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfnode.core.amm.range_orders import MAX_GROSS_LIQUIDITY, RangePool
from cfnode.core.amm.ticks import MAX_TICK, MIN_TICK, sqrt_price_at
from cfnode.core.assets import ASSETS
from cfnode.sdk.amounts import base_units, whole_units
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.lp.orders import LimitOrder, RangeOrder, RangeOrderByAmounts, check_orders
from cfnode.sdk.lp.prices import price_of_tick, rounded, tick_of_price

TICKS = st.integers(MIN_TICK, MAX_TICK)
NAMES = st.sampled_from(sorted(set(ASSETS) - {"Usdc"}))


@given(TICKS, NAMES)
def test_a_tick_is_a_price_and_the_same_tick_again(tick: int, base: str) -> None:
    """Derive a price from a tick and the same tick from the price, for each asset."""
    price = price_of_tick(tick, base)
    assert tick_of_price(price, base, side="sell") == tick
    assert tick_of_price(str(price), base, side="buy") == tick


@given(st.integers(MIN_TICK, MAX_TICK - 1), NAMES)
def test_between_two_ticks_the_owner_gets_the_better_one(tick: int, base: str) -> None:
    """Round a price between two ticks up for who sells and down for who buys."""
    low, high = price_of_tick(tick, base), price_of_tick(tick + 1, base)
    between = Decimal(rounded((low + high) / 2, 12))
    assert low < between < high
    assert tick_of_price(between, base, side="buy") == tick
    assert tick_of_price(between, base, side="sell") == tick + 1


def test_prices_are_in_whole_units_of_both_assets() -> None:
    """Give prices in whole coins of both assets, whatever their decimals."""
    assert price_of_tick(0, "Usdt") == 1
    assert price_of_tick(0, "BTC") == 100
    assert price_of_tick(0, "ETH") == Decimal("1e12")
    # 1.0001 ** 69081 = 1000.05…: a bitcoin at 100,005 dollars.
    assert rounded(price_of_tick(69081, "BTC"), 6) == f"{Decimal('1.0001') ** 69081 * 100:.6g}"
    assert tick_of_price("100000", "BTC", side="sell") == tick_of_price("100000", "BTC", side="buy") + 1


@given(st.integers(1, 2**100), NAMES)
def test_an_amount_is_whole_units_and_the_same_base_units_again(amount: int, asset: str) -> None:
    """Convert base units into whole ones and back without a loss."""
    assert base_units(whole_units(amount, asset), asset) == amount
    assert base_units(amount, asset) == amount


def test_amounts_follow_the_side() -> None:
    """Take the amount in the asset that the side sells, and round the price in its favor."""
    sell = LimitOrder("BTC", "sell", 1, "0.5", price="100000")
    assert (sell.asset, sell.amount, sell.sold_asset, sell.whole_amount) == (
        "Btc",
        5 * 10**7,
        "Btc",
        Decimal("0.5"),
    )
    assert sell.price >= 100_000 > price_of_tick(sell.tick - 1, "BTC")
    buy = LimitOrder("bitcoin/btc", "buy", 1, Decimal(250), price="99999.5")
    assert (buy.asset, buy.amount, buy.sold_asset) == ("Btc", 250 * 10**6, "Usdc")
    assert buy.price <= Decimal("99999.5") < price_of_tick(buy.tick + 1, "BTC")


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"tick": MAX_TICK + 1}, "tick", "expected a tick from -887272 to 887272, not 887273"),
    ({"tick": True}, "tick", "not True"),
    ({"tick": 1, "price": "1"}, "price", "and not both"),
    ({}, "price", "give a price or a tick"),
    ({"price": 1.5}, "price", 'expected text or a Decimal, which are exact: "1.5"'),
    ({"price": "0"}, "price", "give a price from"),
    ({"price": "-3"}, "price", "give a price from"),
    ({"price": "1e60"}, "price", "give a price from"),
    ({"price": "dear"}, "price", "expected a decimal number, not 'dear'"),
    ({"tick": 1, "amount": 0}, "amount", "expected an amount above 0"),
    ({"tick": 1, "amount": "0.000"}, "amount", "expected an amount above 0"),
    ({"tick": 1, "amount": -1}, "amount", "expected an amount above 0"),
    ({"tick": 1, "amount": 2**128}, "amount", "below 2^128"),
    ({"tick": 1, "amount": "0.123456789"}, "amount", "BTC has 8 decimals, and 0.123456789 has more"),
    ({"tick": 1, "amount": 0.5}, "amount", "expected text or a Decimal"),
    ({"tick": 1, "side": "ask"}, "side", 'expected "sell" or "buy"'),
    ({"tick": 1, "id": -1}, "id", "expected a whole number from 0 to 2^64"),
    ({"tick": 1, "id": 2**64}, "id", "expected a whole number from 0 to 2^64"),
    ({"tick": 1, "asset": "BTX"}, "asset", "Unknown asset 'BTX'"),
    ({"tick": 1, "quote": 5}, "quote", ""),
]


@pytest.mark.parametrize(("changed", "field", "text"), WRONG)
def test_a_wrong_order_names_its_argument(changed: dict[str, Any], field: str, text: str) -> None:
    """Name the argument and what it takes: ticks, exact prices, amounts within 128 bits, ids within 64."""
    arguments: dict[str, Any] = {"asset": "BTC", "side": "sell", "id": 1, "amount": 5}
    with pytest.raises(ValidationError) as caught:
        LimitOrder(**arguments | changed)
    assert caught.value.field == field
    assert text in caught.value.message


def test_a_wrong_range_names_its_argument() -> None:
    """Name the bound or the liquidity that is wrong."""
    for arguments, field in (((5, 5, 1), "upper"), ((5, 6, 0), "liquidity"), ((-(10**6), 6, 1), "lower")):
        with pytest.raises(ValidationError) as caught:
            RangeOrder("BTC", 1, *arguments)
        assert caught.value.field == field


def test_a_range_contains_the_prices_of_its_ends() -> None:
    """Widen a range between two prices to the ticks around them."""
    order = RangeOrder("BTC", 1, "95000", Decimal(105_000), 5)
    low, high = (price_of_tick(tick, "BTC") for tick in (order.lower, order.upper))
    assert low <= 95_000 < price_of_tick(order.lower + 1, "BTC")
    assert price_of_tick(order.upper - 1, "BTC") < 105_000 <= high
    assert RangeOrder("BTC", 1, low, high, 5) == RangeOrder("BTC", 1, order.lower, order.upper, 5) == order


@pytest.mark.parametrize(
    ("arguments", "named", "field"),
    [
        ((0, 9, 0, 0), {}, "base_amount"),
        ((0, 9, -1, 5), {}, "base_amount"),
        ((0, 9, 5, "0.0000001"), {}, "quote_amount"),
        ((0, 9, 5, 5), {"min_base": 6}, "min_base"),
        ((0, 9, 5, 5), {"min_quote": 6}, "min_quote"),
        ((9, 0, 5, 5), {}, "upper"),
        (("dear", 0, 5, 5), {}, "lower"),
        ((0, "1e60", 5, 5), {}, "upper"),
    ],
)
def test_wrong_amounts_of_a_range_are_named(
    arguments: tuple[Any, ...], named: dict[str, Any], field: str
) -> None:
    """Name the amount, the minimum or the bound that is wrong."""
    with pytest.raises(ValidationError) as caught:
        RangeOrderByAmounts("BTC", 1, *arguments, **named)
    assert caught.value.field == field


@given(TICKS, st.integers(1, 5000), st.integers(0, 10**20), st.integers(1, 10**14), TICKS)
def test_amounts_of_a_range_become_the_most_liquidity_that_they_pay_for(
    lower: int, width: int, base: int, quote: int, now: int
) -> None:
    """Buy the most liquidity that both amounts pay for at the pool's price, and never more."""
    upper, root = min(lower + width, MAX_TICK), sqrt_price_at(now)
    if lower == upper:
        return
    order = RangeOrderByAmounts("ETH", 1, lower, upper, base, quote).at(root)
    pool = RangePool.empty(root, 0)
    liquidity = order.liquidity if order else 0
    paid, more = (pool.value(lower, upper, amount, up=False) for amount in (liquidity, liquidity + 10**6))
    assert paid["base"] <= base
    assert paid["quote"] <= quote
    assert order is None or liquidity <= MAX_GROSS_LIQUIDITY
    most = {"base": base, "quote": quote}
    assert liquidity == MAX_GROSS_LIQUIDITY or any(more[side] >= most[side] for side in most)


def test_orders_together_have_no_id_twice_and_known_pools() -> None:
    """Refuse two sell orders of one id, and an order for a pool that is missing, all at once."""
    sell = LimitOrder("BTC", "sell", 1, 5, tick=0)
    others = [LimitOrder("BTC", "buy", 1, 5, tick=0), RangeOrder("BTC", 1, 0, 1, 5)]
    check_orders([sell, *others], [("Btc", "Usdc")])
    again = [*others, sell, LimitOrder("BTC", "sell", 1, 6, tick=9), LimitOrder("SOL", "buy", 1, 5, tick=0)]
    with pytest.raises(ValidationError) as caught:
        check_orders(again, [("Btc", "Usdc"), ("Eth", "Usdc")])
    assert [issue.field for issue in caught.value.issues] == ["orders[3].id", "orders[4].asset"]
    assert "there is no pool of SOL and USDC; pools of USDC: BTC, ETH" in caught.value.message
