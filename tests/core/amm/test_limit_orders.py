"""Limit orders: exact fills, shares of many orders at a price, and what one can take out again."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfnode.core.amm import (
    MAX_TICK,
    AmmPool,
    LimitPool,
    OrderRefused,
    OutOfLiquidity,
    RangePool,
    liquidity_for_quote,
    price_of,
    sqrt_price_at,
    sqrt_price_of_amounts,
    tick_at,
)
from cfnode.core.amm.roots import root_of
from cfnode.core.amm.shares import WHOLE_SHARE, Share

A, B = (b"\x0a" * 32, 1), (b"\x0b" * 32, 2)
MAKER = (bytes(32), 0)
ETHER = 10**18
AT_2800 = sqrt_price_of_amounts(ETHER, 2_800 * 10**6)
TICK = tick_at(AT_2800)
EMPTY = LimitPool.empty()


def both(limits: LimitPool, depth: int = 10**13, fee: int = 20) -> AmmPool:
    """Return a pool of limit orders over one full-range order at 2,800."""
    ranges = RangePool.full_range(MAKER, AT_2800, liquidity_for_quote(AT_2800, depth), fee)
    return AmmPool(limits, ranges)


def test_an_order_that_is_sold_out_is_removed() -> None:
    """Remove an order that is sold out from the pool, and keep its proceeds for the owner to collect."""
    _, pool = EMPTY.minted("base", A, 0, 1_000)
    filled = pool.swap("quote", 5_000, None, 0)
    assert (filled.output, filled.left) == (1_000, 4_000)
    assert filled.pool.best("quote") is None
    order = filled.pool.order("base", A, 0)
    assert order is not None
    assert (order.amount, order.collected.bought, order.collected.sold) == (0, 1_000, 1_000)
    taken, paid, after = filled.pool.burned("base", A, 0, 10**9)
    assert (taken, paid.collected.bought, after.positions["base"]) == (0, 1_000, {})


def test_two_orders_at_a_price_sell_by_their_size() -> None:
    """Share a swap among orders of one price by their size, up to a unit of rounding."""
    _, pool = EMPTY.minted("base", A, 0, 3_000)
    _, pool = pool.minted("base", B, 0, 1_000)
    filled = pool.swap("quote", 1_000, None, 0)
    assert 999 <= filled.output <= 1_000
    first, second = filled.pool.order("base", A, 0), filled.pool.order("base", B, 0)
    assert first is not None
    assert second is not None
    assert (first.collected.sold, second.collected.sold) in {(750, 250), (749, 249), (750, 249), (749, 250)}
    assert first.amount in (2_249, 2_250)
    assert filled.pool.total_swap_inputs == {"base": 0, "quote": 1_000}
    assert filled.pool.total_swap_outputs["base"] == filled.output


@pytest.mark.parametrize(
    ("side", "sold", "tick", "output"), [("base", "quote", 100, 989), ("quote", "base", 100, 1_009)]
)
def test_each_rounding_leaves_the_pool_what_it_owes(side: str, sold: str, tick: int, output: int) -> None:
    """At a price of 1.01004966 a thousand buy 990.05 or 1010.05; the share of the order is rounded, too."""
    _, pool = EMPTY.minted(side, A, tick, 1_000_000)
    filled = pool.swap(sold, 1_000, None, 0)
    order = filled.pool.order(side, A, tick)
    assert order is not None
    assert (filled.output, order.collected.sold, order.amount) == (output, output, 1_000_000 - output - 1)
    assert order.collected.bought == 998, f"{output} cost 998.9, of which the owner gets the whole units"


@pytest.mark.parametrize(("side", "sold", "better"), [("base", "quote", -100), ("quote", "base", 100)])
def test_the_better_of_two_prices_is_taken_first(side: str, sold: str, better: int) -> None:
    """Fill the better of two prices first, and the worse one only after it is sold out."""
    _, pool = EMPTY.minted(side, A, 0, 1_000_000)
    _, pool = pool.minted(side, B, better, 1_000_000)
    assert pool.best(sold) == sqrt_price_at(better)
    filled = pool.swap(sold, 1_000, None, 0)
    dearer, cheaper = filled.pool.order(side, A, 0), filled.pool.order(side, B, better)
    assert dearer is not None
    assert cheaper is not None
    assert (dearer.amount, cheaper.collected.sold) == (1_000_000, filled.output)
    assert filled.pool.swap(sold, 1_500_000, None, 0).pool.best(sold) == sqrt_price_at(0)


def test_an_order_created_after_the_price_was_sold_out_has_sold_nothing() -> None:
    """Give nothing of earlier swaps to an order that joins a price after it was sold out."""
    _, pool = EMPTY.minted("base", A, 0, 1_000)
    pool = pool.swap("quote", 1_000, None, 0).pool
    _, pool = pool.minted("base", B, 0, 500)
    old, new = pool.order("base", A, 0), pool.order("base", B, 0)
    assert old is not None
    assert new is not None
    assert (old.amount, old.collected.sold) == (0, 1_000)
    assert (new.amount, new.collected.sold) == (500, 0)
    assert pool.next_pool_instance == 2


def test_adding_to_an_order_collects_it_first() -> None:
    """Collect what an order has sold before more is added to it."""
    _, pool = EMPTY.minted("quote", A, 100, 1_000_000)
    filled = pool.swap("base", 100_000, None, 0)
    exact = 100_000 * price_of(sqrt_price_at(100)) >> 128
    assert exact - filled.output in (0, 1)
    order, after = filled.pool.minted("quote", A, 100, 50)
    assert order.collected.sold == filled.output
    assert 99_998 <= order.collected.bought <= 100_000
    assert order.amount in (1_000_050 - filled.output, 1_000_049 - filled.output)
    assert after.positions["quote"][(sqrt_price_at(100), A)]["original_amount"] == order.amount


amounts, ticks = st.integers(1, 10**24), st.integers(-200_000, 200_000)


@given(st.lists(st.tuples(amounts, ticks), min_size=1, max_size=5), st.lists(amounts, max_size=6))
@settings(max_examples=60)
def test_no_more_is_taken_out_than_was_paid_in(orders: list[tuple[int, int]], swaps: list[int]) -> None:
    """Base sold and quote paid: what owners can take is never more than there is, and hardly less."""
    pool, brought = EMPTY, 0
    for number, (amount, tick) in enumerate(orders):
        _, pool = pool.minted("base", (b"", number), tick, amount)
        brought += amount
    paid = sold = 0
    for amount in swaps:
        filled = pool.swap("quote", amount, None, 0)
        pool, paid, sold = filled.pool, paid + amount - filled.left, sold + filled.output
    back = bought = 0
    for number, (_, tick) in enumerate(orders):
        taken, order, pool = pool.burned("base", (b"", number), tick, 2**128)
        back, bought = back + taken, bought + order.collected.bought
    steps = len(orders) * (len(swaps) + 1)
    assert back <= brought - sold
    assert bought <= paid
    assert brought - sold - back <= steps
    assert pool.positions["base"] == {}


@given(st.sampled_from(["base", "quote"]), amounts, ticks, amounts)
@settings(max_examples=100)
def test_a_swap_never_pays_less_than_the_price_of_an_order(
    side: str, size: int, tick: int, amount: int
) -> None:
    """Never pay out more than the order's price allows, and fill an order to its last unit."""
    sold = "quote" if side == "base" else "base"
    filled = EMPTY.minted(side, A, tick, size)[1].swap(sold, amount, None, 0)
    paid, price = amount - filled.left, Fraction(price_of(sqrt_price_at(tick)), 2**128)
    asked = filled.output * price if side == "base" else filled.output / price
    assert paid >= asked
    if filled.left:
        assert filled.output == size
        assert paid - asked < 1, "the least that pays for the whole order"


def test_a_state_reads_back() -> None:
    """Read the pool back from its storage value without a change."""
    _, pool = EMPTY.minted("base", A, 5, 1_000)
    _, pool = pool.minted("quote", B, -5, 1_000)
    pool = pool.swap("quote", 100, None, 20).pool
    assert LimitPool.from_value(pool.to_value()) == pool


@pytest.mark.parametrize(
    ("amount", "tick", "error"),
    [(1, MAX_TICK + 1, "InvalidTick"), (2**128, 0, "MaximumGrossLiquidity"), (0, 0, "OrderDoesNotExist")],
)
def test_what_cannot_be_is_refused_by_the_pallets_name(amount: int, tick: int, error: str) -> None:
    """Refuse an impossible order by the pallet's own error name: clients match on it."""
    with pytest.raises(OrderRefused, match=f"^{error}$"):
        EMPTY.minted("base", A, tick, amount)


# With range orders


def test_a_better_limit_order_comes_before_the_range_and_a_worse_one_after() -> None:
    """One just below the range's price with its fee is bought first, at exactly its own price."""
    _, limits = EMPTY.minted("base", A, TICK, ETHER)
    sold = both(limits).sell("quote", 100 * 10**6)
    assert sold.output == (100 * 10**6 << 128) // price_of(sqrt_price_at(TICK)) - _dust(sold.output)
    assert sold.pool.range_orders.current_sqrt_price == AT_2800
    _, limits = EMPTY.minted("base", A, TICK + 100, ETHER)
    far = both(limits).sell("quote", 100 * 10**6)
    assert far.output == both(EMPTY).sell("quote", 100 * 10**6).output
    large = both(limits).sell("quote", 200_000 * 10**6)
    assert large.output > both(EMPTY).sell("quote", 200_000 * 10**6).output
    order = large.pool.limit_orders.order("base", A, TICK + 100)
    assert order is not None
    assert order.amount == 0


def _dust(output: int) -> int:
    """Return by how much the output may miss: the share of a fixed pool is rounded, at most by one unit."""
    exact = (100 * 10**6 << 128) // price_of(sqrt_price_at(TICK))
    assert exact - output in (0, 1)
    return exact - output


def test_prices_are_those_of_the_better_kind() -> None:
    """Quote the better of limit and range price, and raise OutOfLiquidity where there is neither."""
    plain = both(EMPTY, fee=1_000)
    assert plain.price("base") < AT_2800 < (plain.price("quote") or 0)
    _, limits = EMPTY.minted("quote", A, TICK, 10**9)
    assert both(limits, fee=1_000).price("base") == sqrt_price_at(TICK)
    nothing = AmmPool(EMPTY, RangePool.full_range(MAKER, AT_2800, 0, 20))
    with pytest.raises(OutOfLiquidity):
        nothing.sell("base", 1)


def test_a_swap_reports_how_far_it_moves_the_price() -> None:
    """Report by how many ticks a swap moves the price, and 0 for a small one."""
    assert both(EMPTY).sell("base", ETHER // 1_000).impact == 0
    large = both(EMPTY).sell("base", 400 * ETHER)
    after = tick_at(large.pool.price("base") or 0)
    average = tick_at(sqrt_price_of_amounts(400 * ETHER, large.output))
    assert large.impact == min(abs(average - after), abs(average - tick_at(both(EMPTY).price("base") or 0)))
    assert large.impact > 500


def test_an_order_book_adds_up_to_the_liquidity() -> None:
    """Cut the order book into steps that sum up to the whole liquidity, from the best price down."""
    _, limits = EMPTY.minted("base", A, TICK + 50, 7 * ETHER)
    pool = both(limits)
    (whole,) = pool.offers("quote", 1)
    steps = list(pool.offers("quote", 10))
    assert len(steps) == 10
    assert sum(base for _, base in steps) == pytest.approx(whole[1], rel=1e-12)
    prices = [Fraction(quote, base) for quote, base in steps]
    assert prices == sorted(prices)
    held = pool.range_orders.value(-MAX_TICK, MAX_TICK, pool.range_orders.current_liquidity)["base"]
    assert whole[1] - 7 * ETHER == pytest.approx(held, rel=1e-12)


@given(st.integers(1, 2**128), st.integers(2, 3_000))
@settings(max_examples=40)
def test_a_root_is_about_right(number: int, degree: int) -> None:
    """Compute the n-th root of a number to five digits."""
    root = Fraction(root_of(number, degree), 2**128)
    assert float(root) ** degree == pytest.approx(number, rel=1e-5)


def test_a_root_of_a_power_of_two_is_by_square_roots() -> None:
    """Compute a root exactly where it is a chain of square roots, and for degree 1 and number 0."""
    assert root_of(81, 4) == 3 << 128
    assert root_of(7, 1) == 7
    assert root_of(0, 5) == 0


# Shares


@given(
    st.lists(st.tuples(st.integers(1, 2**128), st.integers(0, 2**128)), max_size=8), st.integers(0, 2**128)
)
@settings(max_examples=80)
def test_a_share_is_never_too_small_and_hardly_too_large(parts: list[tuple[int, int]], amount: int) -> None:
    """Round a share up, never down, and by no more than its last bits.

    A pool must not owe more than it has.
    """
    share, exact = WHOLE_SHARE, Fraction(WHOLE_SHARE.mantissa, 2**256)
    for numerator, more in parts:
        share, exact = share.times(numerator, numerator + more), exact * Fraction(numerator, numerator + more)
        assert share.mantissa >> 255 == 1
    value = Fraction(share.mantissa, 2 ** (256 + share.exponent))
    assert exact <= value <= exact * (1 + Fraction(4 * len(parts), 2**255))
    down, up = share.of_amount(amount, WHOLE_SHARE)
    whole = amount * value / Fraction(WHOLE_SHARE.mantissa, 2**256)
    assert down <= whole <= up <= down + 1
    assert Share.of(share.value) == share
