"""`wait_for` of the lp_* methods: each that has it answers in each of its forms, and not before its time."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from cfnode.rpc.methods import LP
from tests.rpc.clients import Http
from tests.rpc.conftest import MakeServed, Served
from tests.support.rpc.assets import ETH, ETHER, EVM_ADDRESS, USDC
from tests.support.rpc.official import recorded, shape
from tests.support.rpc.providers import BOTH, free, funded, open_orders, provider_on, tick_of
from tests.support.waiting import LIMIT_S

OPENS_A_CHANNEL = "lp_request_liquidity_deposit_address"
TENTH = hex(ETHER // 10)
SOME = {"Liquidity": {"liquidity": hex(10**9)}}
LIMITS = {"min_price": "0x0", "max_oracle_price_slippage": None}
CLOSE = {"base_asset": ETH, "quote_asset": USDC, "id": 1}
MISSING = object()
Step = tuple[str, list[Any]]


def steps(tick: int) -> list[Step]:
    """Return each method with what comes before `wait_for`, in an order in which each can succeed."""
    ticks = {"start": tick - 1000, "end": tick + 1000}
    limit = [*BOTH, "sell", 1]
    return [
        (OPENS_A_CHANNEL, [ETH]),
        ("lp_withdraw_asset", [TENTH, ETH, EVM_ADDRESS]),
        ("lp_schedule_swap", [TENTH, ETH, USDC, 5, LIMITS, None]),
        ("lp_set_range_order", [*BOTH, 1, ticks, SOME]),
        ("lp_update_range_order", [*BOTH, 1, None, {"increase": SOME}]),
        ("lp_set_limit_order", [*limit, tick + 500, TENTH, None]),
        ("lp_update_limit_order", [*limit, None, {"increase": TENTH}, None]),
        ("lp_cancel_orders_batch", [[CLOSE]]),
        ("lp_cancel_all_orders", []),
    ]


@pytest.fixture
async def maker(make_served: MakeServed) -> Served:
    """Return a node whose provider has 100 ETH and 300,000 USDC."""
    return await funded(await provider_on(make_served))


async def executed(served: Served) -> None:
    """Wait until no transaction is left for a block."""
    with trio.fail_after(LIMIT_S), served.node.chain.subscribe() as blocks:
        while await served.call("author_pendingExtrinsics"):
            await anext(aiter(blocks))


async def answers(served: Served, wait_for: object, table: list[Step]) -> dict[str, Any]:
    """Return the answer of each method, one after the other."""
    by_method = {}
    for method, params in table:
        by_method[method] = await served.call(method, *params, *([] if wait_for is MISSING else [wait_for]))
        await executed(served)
    return by_method


async def pending_answers(served: Served, wait_for: object, table: list[Step]) -> dict[str, Any]:
    """Return the answers of methods that wait for finality: none answers before a block is final."""
    by_method: dict[str, Any] = {}

    async def ask(method: str, params: list[Any]) -> None:
        async with Http(served.port) as http:
            by_method[method] = (await http.call(method, *params))["result"]

    await served.call("dev_holdFinality", True)
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            for method, params in table:
                before = served.node.chain.best.number
                arguments = params if wait_for is MISSING else [*params, wait_for]
                nursery.start_soon(ask, method, arguments)
                with served.node.chain.subscribe() as blocks:
                    while served.node.chain.best.number == before:
                        await anext(aiter(blocks))
                await executed(served)
            assert by_method == {}
            await served.call("dev_holdFinality", False)
            while len(by_method) < len(table):
                await served.call("dev_newBlock")
    return by_method


def test_the_methods_that_wait_are_those_of_this_table() -> None:
    """Cover every method that has `wait_for`."""
    waiting = {row.name for row in LP if any(param.name == "wait_for" for param in row.params)}
    assert waiting == {method for method, _ in steps(0)}


async def test_each_method_answers_from_the_pool_or_with_its_block(maker: Served) -> None:
    """Answer from the pool with the hash alone, and from a block with its response."""
    table, before = steps(await tick_of(maker)), await free(maker, ETH)
    sent = await answers(maker, "NoWait", table)
    hash_alone = shape(recorded("lp_wait_result.tx_hash.json"))
    closed_all = sent.pop("lp_cancel_all_orders")
    assert {method: shape(answer) for method, answer in sent.items()} == dict.fromkeys(sent, hash_alone)
    assert [shape(answer) for answer in closed_all] == [hash_alone]
    spent = before - await free(maker, ETH)
    assert 0.19 * ETHER < spent <= 0.2 * ETHER, "the withdrawal and the swap, less what the orders earned"
    assert (await open_orders(maker))["limit_orders"]["asks"] == []
    in_block = await answers(maker, "InBlock", table[1:])
    example = recorded("lp_wait_result.tx_details.json")
    for answer in (*in_block.values(), *in_block["lp_cancel_all_orders"]):
        if isinstance(answer, dict):
            assert list(answer) == list(example)
            assert list(answer["tx_details"]) == list(example["tx_details"])


@pytest.mark.parametrize(
    "wait_for",
    [
        pytest.param("Finalized", marks=pytest.mark.world),
        pytest.param(None, marks=pytest.mark.world),
        MISSING,
    ],
    ids=["named", "null", "left out"],
)
async def test_each_method_waits_for_finality_by_default(maker: Served, wait_for: object) -> None:
    """Wait for finality by default, whether `wait_for` is named, null or left out."""
    table = steps(await tick_of(maker))
    final = await pending_answers(maker, wait_for, table)
    in_block = await answers(maker, "InBlock", table[1:])
    channel = final.pop(OPENS_A_CHANNEL)
    assert list(channel["tx_details"]["response"]) == ["deposit_address", "deposit_chain_expiry_block"]
    assert {method: shape(answer) for method, answer in final.items()} == {
        method: shape(answer) for method, answer in in_block.items()
    }
