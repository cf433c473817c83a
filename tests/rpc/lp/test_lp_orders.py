"""Orders by lp_* on a running node: set, updated, scheduled, filled and cancelled; and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from tests.rpc.clients import Http
from tests.rpc.conftest import MakeServed, Served, all_final
from tests.support.rpc.assets import DOLLAR, ETH, ETHER, EVM_ADDRESS, REFUND, USDC
from tests.support.rpc.channels import events_of
from tests.support.rpc.official import recorded, shape
from tests.support.rpc.order_refusals import MANY, REFUSED
from tests.support.rpc.providers import NOW, best, free, funded, open_orders, provider_on, response, tick_of
from tests.support.waiting import LIMIT_S


@pytest.fixture
async def maker(make_served: MakeServed) -> Served:
    """Return a node whose provider has 100 ETH and 300,000 USDC."""
    return await funded(await provider_on(make_served))


@pytest.fixture(params=["2.2.3", "2.3.0"])
async def of_each_release(make_served: MakeServed, request: pytest.FixtureRequest) -> Served:
    """Return a node of each release whose provider has 100 ETH and 300,000 USDC."""
    return await funded(await provider_on(make_served, runtime=request.param))


def example_of(kind: str) -> Any:
    """Return an order's change, as recorded: LimitOrder or RangeOrder."""
    return recorded(f"lp_order.{kind.removesuffix('Order').lower()}.json")[kind]


async def set_limit(served: Served, number: int, side: str, tick: int, amount: int, *more: Any) -> Any:
    """Return the only order that a set_limit_order in the next block changes."""
    done = await served.call(
        "lp_set_limit_order", ETH, USDC, side, number, tick, hex(amount), None, NOW, *more
    )
    (order,) = response(done)
    return order


async def test_a_limit_order_is_set_updated_and_taken_back(of_each_release: Served) -> None:
    """Set, update, move and close a limit order, with each change and balance in the answer."""
    maker = of_each_release
    tick, before = await tick_of(maker), await free(maker, ETH)
    order = await set_limit(maker, 7, "sell", tick + 500, 5 * ETHER)
    assert shape(order) == shape(example_of("LimitOrder"))
    assert list(order) == list(example_of("LimitOrder"))
    assert order == {
        "base_asset": ETH,
        "quote_asset": USDC,
        "side": "sell",
        "id": "0x7",
        "tick": tick + 500,
        "sell_amount_total": hex(5 * ETHER),
        "collected_fees": "0x0",
        "bought_amount": "0x0",
        "sell_amount_change": {"increase": hex(5 * ETHER)},
    }
    assert await free(maker, ETH) == before - 5 * ETHER
    update = ("lp_update_limit_order", ETH, USDC, "sell", 7, None)
    (less,) = response(await maker.call(*update, {"decrease": hex(2 * ETHER)}, None, NOW))
    assert less["sell_amount_change"] == {"decrease": hex(2 * ETHER)}
    assert less["sell_amount_total"] == hex(3 * ETHER)
    (more,) = response(await maker.call(*update, {"increase": ETHER}))
    assert more["sell_amount_total"] == hex(4 * ETHER)
    moved = ("lp_set_limit_order", ETH, USDC, "sell", 7, tick + 600, hex(4 * ETHER), None, NOW)
    closed, opened = response(await maker.call(*moved))
    assert (closed["tick"], closed["sell_amount_total"]) == (tick + 500, "0x0")
    assert (opened["tick"], opened["sell_amount_total"]) == (tick + 600, hex(4 * ETHER))
    gone = response(await maker.call("lp_set_limit_order", ETH, USDC, "sell", 7, None, 0, None, NOW))
    assert [order["sell_amount_total"] for order in gone] == ["0x0"]
    assert await free(maker, ETH) == before


async def test_a_range_order_is_set_updated_and_taken_back(of_each_release: Served) -> None:
    """Set, update and move a range order, with each change and balance in the answer."""
    maker = of_each_release
    tick = await tick_of(maker)
    ticks = {"start": tick - 1000, "end": tick + 1000}
    before = await free(maker, ETH), await free(maker, USDC)
    amounts = {
        "maximum": {"base": hex(10 * ETHER), "quote": hex(30_000 * DOLLAR)},
        "minimum": {"base": 0, "quote": 0},
    }
    size = {"AssetAmounts": amounts}
    (order,) = response(await maker.call("lp_set_range_order", ETH, USDC, 9, ticks, size, NOW))
    assert shape(order) == shape(example_of("RangeOrder"))
    assert list(order) == list(example_of("RangeOrder"))
    assert (order["id"], order["tick_range"]) == ("0x9", ticks)
    change = order["size_change"]["increase"]
    assert change["liquidity"] == order["liquidity_total"]
    spent = before[0] - await free(maker, ETH), before[1] - await free(maker, USDC)
    assert tuple(int(change["amounts"][side], 16) for side in ("base", "quote")) == spent
    half = int(order["liquidity_total"], 16) // 2
    less = {"decrease": {"Liquidity": {"liquidity": hex(half)}}}
    (smaller,) = response(await maker.call("lp_update_range_order", ETH, USDC, 9, None, less, NOW))
    assert smaller["size_change"]["decrease"]["liquidity"] == hex(half)
    wider = {"start": tick - 2000, "end": tick + 2000}
    liquidity = {"Liquidity": {"liquidity": 10**9}}
    orders = response(await maker.call("lp_set_range_order", ETH, USDC, 9, wider, liquidity))
    assert [order["liquidity_total"] for order in orders] == ["0x0", hex(10**9)]
    assert [order["tick_range"] for order in orders] == [ticks, wider]


async def test_a_scheduled_order_responds_with_nothing_and_comes_in_its_block(maker: Served) -> None:
    """Answer a scheduled order with nothing, open it in its block, and close it in its last."""
    tick, number = await tick_of(maker), maker.node.chain.best.number
    terms = ("lp_set_limit_order", ETH, USDC, "buy", 3, tick - 500, hex(1_000 * DOLLAR))
    assert response(await maker.call(*terms, number + 3, NOW, number + 5)) == []
    assert (await open_orders(maker))["limit_orders"]["bids"] == []
    while maker.node.chain.best.number < number + 3:
        await maker.call("dev_newBlock")
    (order,) = (await open_orders(maker))["limit_orders"]["bids"]
    assert (order["id"], order["sell_amount"]) == ("0x3", hex(1_000 * DOLLAR))
    while maker.node.chain.best.number < number + 5:
        await maker.call("dev_newBlock")
    assert (await open_orders(maker))["limit_orders"]["bids"] == []


async def test_nowait_gives_the_hash_of_what_is_executed_later(maker: Served) -> None:
    """Answer with the hash of a call that is executed later, and count it as of unknown outcome."""
    tick = await tick_of(maker)
    terms = ("lp_set_limit_order", ETH, USDC, "sell", 1, tick + 500, hex(ETHER), None)
    sent = await maker.call(*terms, "NoWait")
    assert shape(sent) == shape(recorded("lp_wait_result.tx_hash.json"))
    with maker.node.chain.subscribe() as blocks:
        while not (await open_orders(maker))["limit_orders"]["asks"]:
            await anext(aiter(blocks))
    line = 'cfnode_lp_extrinsics_total{chain="dev",outcome="unknown"} 1.0'
    assert line.encode() in maker.node.metrics.render()


async def test_a_fill_reaches_the_subscriber_and_the_order_pays_out(maker: Served) -> None:
    """Report a fill to the subscriber and pay out its proceeds when the order is cancelled."""
    tick = await tick_of(maker)
    await set_limit(maker, 5, "sell", tick, ETHER)
    await maker.call("broker_register_account")
    terms = (EVM_ADDRESS, 10, None, None, None, REFUND)
    channel = await maker.call("broker_request_swap_deposit_address", USDC, ETH, *terms)
    async with maker.websocket() as ws:
        assert "result" in await ws.call("lp_subscribe_order_fills", "Best")
        assert (await ws.notification())["result"]["fills"] == []
        await maker.call("dev_deposit", channel["address"], USDC, 1_000 * DOLLAR)
        for _ in range(3):
            await maker.call("dev_newBlock")
        with trio.fail_after(LIMIT_S):
            while not (message := (await ws.notification())["result"])["fills"]:
                pass
        assert "result" in await ws.call("lp_unsubscribe_order_fills", "0")
    assert await maker.call("lp_order_fills", message["block_hash"]) == message
    fill = next(fill["limit_order"] for fill in message["fills"] if "limit_order" in fill)
    example = recorded("lp_order_fills.json")
    assert list(message) == list(example)
    assert shape(fill) == shape(example["fills"][0]["limit_order"])
    parent = (await maker.call("chain_getHeader", message["block_hash"]))["parentHash"]
    (earlier,) = (await open_orders(maker, parent))["limit_orders"]["asks"]
    left = int(earlier["sell_amount"], 16) - int(fill["sold"], 16)
    assert abs(left - int(fill["remaining"], 16)) <= 1, "a difference of two rounded shares"
    (closed,) = map(response, await maker.call("lp_cancel_all_orders", NOW))
    (order,) = (order["LimitOrder"] for order in closed)
    assert int(order["bought_amount"], 16) >= int(fill["bought"], 16) > 0
    assert order["sell_amount_change"] == {"decrease": fill["remaining"]}
    final = await all_final(maker)
    assert (await maker.call("lp_order_fills"))["block_hash"] == final


async def test_orders_are_cancelled_in_a_batch(of_each_release: Served) -> None:
    """Cancel orders in a batch, and pass over one that does not exist."""
    maker = of_each_release
    tick = await tick_of(maker)
    for number, side in ((1, "sell"), (2, "buy")):
        amount = ETHER if side == "sell" else 1_000 * DOLLAR
        await set_limit(maker, number, side, tick + (500 if side == "sell" else -500), amount)
    ticks = {"start": tick - 1000, "end": tick + 1000}
    size = {"Liquidity": {"liquidity": 10**9}}
    await maker.call("lp_set_range_order", ETH, USDC, 1, ticks, size, NOW)
    pair = {"base_asset": ETH, "quote_asset": USDC}
    orders = [
        {**pair, "id": 1},
        {**pair, "side": "sell", "id": "0x1"},
        {**pair, "side": "buy", "id": 77},
    ]
    closed = response(await maker.call("lp_cancel_orders_batch", orders, NOW))
    assert [list(order) for order in closed] == [["LimitOrder"], ["RangeOrder"]]
    assert shape(closed[0]) == shape(
        {"LimitOrder": example_of("LimitOrder") | {"sell_amount_change": {"decrease": "0x"}}}
    )
    names = [name for _, name, _ in await events_of(maker, await best(maker))]
    assert names.count("OrderDeletionFailed") == 1
    (left,) = (await open_orders(maker))["limit_orders"]["bids"]
    assert left["id"] == "0x2"


async def test_one_order_too_many_for_a_batch_is_refused_where_the_list_ends(maker: Served) -> None:
    """Refuse a batch of one order too many at the place where its list ends."""
    assert await maker.error("lp_cancel_orders_batch", MANY) == {
        "code": -32602,
        "message": "Invalid params",
        "data": f"out of bounds at line 1 column {len(json.dumps(MANY))}",
    }


@pytest.mark.world
async def test_all_orders_are_cancelled_a_hundred_with_each_call(maker: Served) -> None:
    """Cancel all orders by a hundred a call."""
    tick = await tick_of(maker)
    before = await free(maker, ETH)
    async with trio.open_nursery() as nursery:
        for number in range(101):
            more = (ETH, USDC, "sell", number, tick + 500 + number, hex(10**17), None, "NoWait")
            nursery.start_soon(another, maker, "lp_set_limit_order", *more)
    with maker.node.chain.subscribe() as blocks:
        while len((await open_orders(maker))["limit_orders"]["asks"]) < 101:
            await anext(aiter(blocks))
    results = await maker.call("lp_cancel_all_orders", NOW)
    assert [len(response(result)) for result in results] == [100, 1]
    assert (await open_orders(maker))["limit_orders"]["asks"] == []
    assert await free(maker, ETH) == before
    assert await maker.call("lp_cancel_all_orders") == []


async def another(served: Served, method: str, *params: Any) -> None:
    """Make a call over a connection of its own."""
    async with Http(served.port) as http:
        assert "result" in await http.call(method, *params)


async def test_what_is_wrong_is_named(maker: Served) -> None:
    """Name what is wrong with an order, and change none."""
    for method, params, code, words in REFUSED:
        error = await maker.error(method, *params)
        assert error["code"] == code, (method, params, error)
        assert words in f"{error['message']} {error.get('data')}", (method, params, error)
    assert (await open_orders(maker))["limit_orders"] == {"asks": [], "bids": []}
