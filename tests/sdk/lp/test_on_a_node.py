"""A market maker's clients on a running development node: what stands afterwards, and what was sent."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.sdk.errors import ChainError, Unreachable, ValidationError
from cfnode.sdk.lp import (
    LimitOrder,
    LiquidityProvider,
    OrdersIncomplete,
    RangeOrderByAmounts,
    price_of_tick,
)
from tests.sdk.lp.place import ACCOUNT, DOLLAR, ETHER, FORMS, Form, Market
from tests.support.sdk.orders import ladder, nonce

DUST = 10
"""Base units that the rounding of a filled order leaves in a pool."""


def block(place: Market) -> int:
    """Return the number of the best block."""
    return int(place.node.call("chain_getHeader")["number"], 16)


@pytest.mark.parametrize("form", FORMS)
def test_the_fewest_calls_make_the_desired_orders_stand(form: Form, place: Market) -> None:
    """Send a call for each order that differs, and none for those that stand already."""
    desired = ladder(place.tick(), 5)

    async def run(lp: Any) -> None:
        sent = nonce(place)
        plan = await lp.set_orders(desired)
        assert (plan.calls, nonce(place) - sent) == (11, 11)
        assert {order.order for order in await lp.get_orders()} == set(desired)

        sent, best = nonce(place), block(place)
        assert (await lp.set_orders(desired)).calls == 0
        assert (nonce(place), block(place)) == (sent, best)

        moved = LimitOrder("ETH", "sell", 0, "0.005", tick=desired[0].tick + 7)
        changed = [moved, *desired[1:4], *desired[5:]]
        plan = await lp.set_orders(changed)
        assert (plan.cancel, plan.shrink, plan.grow) == ((desired[4],), (moved,), ())
        assert nonce(place) - sent == plan.calls == 2
        assert {order.order for order in await lp.get_orders("ETH")} == set(changed)

        extra = LimitOrder("ETH", "buy", 77, "5", price="0.5")
        plan = await lp.set_orders([extra], keep_others=True)
        assert (plan.cancel, plan.grow) == ((), (extra,))
        assert {order.order for order in await lp.get_orders()} == {*changed, extra}

        assert await lp.cancel([extra, LimitOrder("ETH", "sell", 999, 1, tick=0)]) == (extra,)
        assert set(await lp.cancel_all()) == set(changed)
        assert await lp.get_orders() == ()

    form(run, place)


def test_two_hundred_cancellations_are_two_calls(place: Market) -> None:
    """Cancel 121 orders by two calls, since the chain bounds a batch."""
    desired = ladder(place.tick(), 60)
    with place.client() as lp:
        lp.set_orders(desired)
        sent = nonce(place)
        plan = lp.set_orders([])
        assert (plan.calls, nonce(place) - sent, len(plan.cancel)) == (2, 2, 121)
        assert lp.get_orders() == ()


def test_a_range_order_takes_what_its_amounts_pay_for(place: Market) -> None:
    """Spend at most the amounts of a range order, nearly all of one, and none of a repeated order."""
    tick = place.tick()
    amounts = {"Eth": 10 * ETHER, "Usdc": 30_000 * DOLLAR}
    order = RangeOrderByAmounts("ETH", 4, tick - 1000, tick + 1000, "10", "30000", min_base="5")
    with place.client() as lp:
        before = lp.get_balances()
        assert lp.set_orders([order]).grow == (order,)
        (standing,) = lp.get_orders()
        assert (standing.order.key, standing.original_amount) == (order.key, None)
        spent = {asset: before[asset] - lp.get_balances()[asset] for asset in amounts}
        assert all(0 < spent[asset] <= amounts[asset] for asset in amounts)
        assert max(spent[asset] / amounts[asset] for asset in amounts) > 0.999_999
        sent = nonce(place)
        assert lp.set_orders([order]).unchanged == (order,)
        assert lp.set_orders([standing.order]).unchanged == (standing.order,)
        assert nonce(place) == sent

        less = RangeOrderByAmounts("ETH", 4, tick - 1000, tick + 1000, "5", "15000")
        assert lp.set_orders([less]).shrink == (less,)
        place.swap(ETHER // 100)
        assert lp.get_plan([less]).unchanged == (), (
            "the price has moved, and with it what the amounts pay for"
        )

        greedy = RangeOrderByAmounts("ETH", 5, tick - 1000, tick + 1000, "1", "1", min_base="1")
        with pytest.raises(OrdersIncomplete, match="AssetRatioUnachievable"):
            lp.set_orders([less, greedy])


def test_balances_and_book_are_those_of_the_chain(place: Market) -> None:
    """Give balances, standing orders and the book as the chain has them after an order."""
    tick = place.tick()
    with place.client() as lp:
        before = lp.get_balances()
        order = LimitOrder("ETH", "sell", 3, "2", tick=tick)
        lp.set_orders([order])
        assert before["Eth"] - lp.get_balances()["Eth"] == 2 * ETHER
        (standing,) = lp.get_orders()
        assert (standing.order, standing.original_amount, standing.fees_earned) == (
            order,
            2 * ETHER,
            {"Usdc": 0},
        )
        book = lp.get_book("ETH", 5)
        assert (book.asset, book.quote) == ("Eth", "Usdc")
        assert [(ask.price, ask.amount) for ask in book.asks if ask.amount > DUST] == [
            (order.price, 2 * ETHER)
        ]
        assert book.best_bid is not None
        assert book.best_ask == order.price  # below that of the range orders
        assert book.best_bid < book.range_price
        assert price_of_tick(tick, "ETH") <= book.range_price < price_of_tick(tick + 1, "ETH")

        below = [LimitOrder("ETH", "buy", n, "5", tick=tick - 50 - n) for n in (2, 0, 1)]
        lp.set_orders([order, *below])
        bids = [bid for bid in lp.get_book("Ethereum/ETH", 20).bids if bid.amount > DUST][:2]
        assert [(bid.tick, bid.amount) for bid in bids] == [
            (tick - 50, 5 * DOLLAR),
            (tick - 51, 5 * DOLLAR),
        ]
        with pytest.raises(ValidationError, match="there is no pool of ETH and BTC"):
            lp.get_book("ETH", quote="BTC")
        assert ("Eth", "Usdc") in lp.get_pools()


def test_faults_are_found_before_anything_is_sent(place: Market) -> None:
    """Refuse equal ids, missing pools and bad options before anything is sent."""
    order = LimitOrder("ETH", "sell", 3, "2", tick=0)
    sent = nonce(place)
    with place.client() as lp:
        with pytest.raises(ValidationError, match="3 is given twice"):
            lp.set_orders([order, LimitOrder("ETH", "sell", 3, "1", tick=5)])
        with pytest.raises(ValidationError, match="there is no pool of ETH and BTC"):
            lp.set_orders([LimitOrder("ETH", "sell", 3, "1", tick=5, quote="BTC")])
        with pytest.raises(ValidationError, match="there is no pool of USDC"):
            lp.get_orders("USDC")
        with pytest.raises(ValidationError, match="expected 1 to 1000"):
            lp.get_book("ETH", 0)
    assert nonce(place) == sent
    for named, field in (
        ({"account": "cF1"}, "account"),
        ({"wait_for": "Soon"}, "wait_for"),
        ({"url": "x"}, "rpc_url"),
    ):
        with pytest.raises(ValidationError) as caught:
            LiquidityProvider(**{"url": place.node.url, "account": ACCOUNT} | named)
        assert caught.value.field == field


def test_what_the_chain_refuses_is_reported_with_what_stands(place: Market) -> None:
    """Report which orders stand, which the chain refused with its error, and which were not sent."""
    tick = place.tick()
    good, greedy = (
        LimitOrder("ETH", "sell", 1, "1", tick=tick + 9),
        LimitOrder("ETH", "sell", 2, "5000", tick=tick + 9),
    )
    with place.client() as lp:
        with pytest.raises(OrdersIncomplete) as caught:
            lp.set_orders([good, greedy])
        error = caught.value
        assert (error.done, [order for order, _ in error.refused]) == ((good,), [greedy])
        assert isinstance(error.refused[0][1], ChainError)
        assert error.refused[0][1].error == "InsufficientBalance"
        assert (error.unsure, error.unsent, error.cause) == ((), (), None)
        assert error.standing is not None
        assert [standing.order for standing in error.standing] == [good]
        assert "1 orders changed, 1 refused (first: sell order 2 of ETH" in error.message


def test_orders_are_cancelled_on_exit_also_by_an_error(place: Market) -> None:
    """Cancel all orders when the block of the client ends by an error."""
    desired = ladder(place.tick(), 1)
    with place.client() as plain, pytest.raises(KeyError), place.client(cancel_on_exit=True) as lp:
        lp.set_orders(desired)
        assert len(plain.get_orders()) == 3
        raise KeyError("a fault of the strategy")
    with place.client() as lp:
        assert lp.get_orders() == ()


def test_an_account_of_another_has_no_orders(place: Market) -> None:
    """Read no orders and balances of zero for another account."""
    with place.client() as lp:
        lp.set_orders(ladder(place.tick(), 1))
    with LiquidityProvider(place.node.url, ss58.encode(Keypair.from_suri("//Eve").account)) as other:
        assert other.get_orders() == ()
        assert set(other.get_balances().values()) <= {0}


def test_a_node_that_does_not_answer_is_unreachable() -> None:
    """Raise Unreachable, with nothing sent, where no node answers."""
    with LiquidityProvider("http://127.0.0.1:1", ACCOUNT) as lp, pytest.raises(Unreachable) as caught:
        lp.set_orders([])
    assert not caught.value.sent
