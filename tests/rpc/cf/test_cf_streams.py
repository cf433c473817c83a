"""Subscriptions to swaps, prices and deposits over WebSocket, on a running development node."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
import trio

from tests.rpc.conftest import Served
from tests.support.rpc.assets import USDC
from tests.support.waiting import LIMIT_S

ETH = {"chain": "Ethereum", "asset": "ETH"}
BTC = {"chain": "Bitcoin", "asset": "BTC"}
DOLLAR = 10**6


async def best(served: Served) -> tuple[str, int]:
    """Return hash and number of the best block."""
    header = await served.call("chain_getHeader")
    return await served.call("chain_getBlockHash"), int(header["number"], 16)


async def test_the_price_comes_at_once_and_with_each_block(served_node: Served) -> None:
    """Send the price at once and with each block, as the method itself answers it."""
    async with served_node.websocket() as ws:
        answer = await ws.call("cf_subscribe_pool_price_v2", ETH, USDC)
        first = await ws.notification()
        assert first["subscription"] == answer["result"]
        message = first["result"]
        block, number = await best(served_node)
        assert (message["block_hash"], message["block_number"]) == (block, number)
        assert message["timestamp"] % 6 == 0
        price = await served_node.call("cf_pool_price_v2", ETH, USDC)
        assert {name: message[name] for name in price} == price
        await served_node.call("dev_newBlock")
        second = (await ws.notification())["result"]
        assert second["block_number"] == number + 1
        assert second["timestamp"] > message["timestamp"]


async def test_an_unchanged_price_is_sent_once(served_node: Served) -> None:
    """Send an unchanged price once, not with each block."""
    async with served_node.websocket() as ws:
        await ws.call("cf_subscribe_pool_price", ETH, USDC)
        first = (await ws.notification())["result"]
        assert set(first) == {"block_hash", "block_number", "timestamp", "price", "sqrt_price", "tick"}
        for _ in range(3):
            await served_node.call("dev_newBlock")
        price = served_node.node.chain.best.number + 1
        await served_node.call("dev_setPool", ETH, 4_000 * DOLLAR)
        await served_node.call("dev_newBlock")
        second = (await ws.notification())["result"]
        assert second["block_number"] == price
        assert second["price"] != first["price"]


async def test_a_pair_without_a_pool_has_a_message_without_a_price(served_node: Served) -> None:
    """Send a message without a price for a pair that has no pool."""
    async with served_node.websocket() as ws:
        await ws.call("cf_subscribe_pool_price", ETH, {"chain": "Polkadot", "asset": "DOT"})
        first = (await ws.notification())["result"]
        assert first["block_hash"] == (await best(served_node))[0]
        assert set(first) == {"block_hash", "block_number", "timestamp"}


async def test_the_deposits_of_a_chain_without_them_are_refused_in_the_runtimes_words(
    served_node: Served,
) -> None:
    """Refuse deposits of a chain that has none, in the runtime's words."""
    async with served_node.websocket() as ws:
        answer = await ws.call("cf_subscribe_ingress_events", "Polkadot")
        assert answer["error"] == {
            "code": -32021, "message": "DispatchError: Chain not supported for witnessed events",
        }  # fmt: skip


@pytest.mark.parametrize("params", [[ETH, USDC], {"base_asset": ETH, "quote_asset": USDC}])
async def test_scheduled_swaps_by_position_and_by_name(served_node: Served, params: Any) -> None:
    """Send scheduled swaps by position and by name, and end the subscription once."""
    async with served_node.websocket() as ws:
        request = {"jsonrpc": "2.0", "id": 7, "method": "cf_subscribe_scheduled_swaps", "params": params}
        await ws.send(json.dumps(request).encode())
        answer = await ws.message()
        message = (await ws.notification())["result"]
        assert message["swaps"] == []
        ended = await ws.call("cf_unsubscribe_scheduled_swaps", answer["result"])
        assert ended["result"] is True
        again = await ws.call("cf_unsubscribe_scheduled_swaps", answer["result"])
        assert again["result"] is False


async def test_a_subscription_to_an_unknown_pool_is_refused(served_node: Served) -> None:
    """Refuse a subscription to an unknown pool."""
    async with served_node.websocket() as ws:
        answer = await ws.call("cf_subscribe_scheduled_swaps", ETH, BTC)
        assert answer["error"] == {"code": -32020, "message": "requested pool does not exist"}


async def test_what_the_runtime_refuses_at_first_is_the_answer(served_node: Served) -> None:
    """Refuse a subscription with what the runtime answers at first."""
    async with served_node.websocket() as ws:
        answer = await ws.call("cf_subscribe_pool_price_v2", ETH, BTC)
        assert answer["error"] == {"code": -32021, "message": "DispatchError: PoolDoesNotExist"}


async def test_many_listeners_cost_one_question(served_node: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask the runtime once for many listeners: a node has thousands of them."""
    asked = []
    queries = served_node.node.chain.queries
    real = queries.call_all

    async def counting(at: bytes, calls: Sequence[tuple[str, bytes]]) -> list[bytes]:
        asked.extend(function for function, _ in calls)
        return await real(at, calls)

    async with served_node.websocket() as ws:
        for _ in range(5):
            await ws.call("cf_subscribe_pool_price_v2", ETH, USDC)
        for _ in range(5):
            await ws.notification()
        monkeypatch.setattr(queries, "call_all", counting)
        remark = await served_node.signed_remark()  # a block that no other node of this process has made
        await served_node.call("dev_newBlock", None, ["0x" + remark.hex()])
        messages = [await ws.notification() for _ in range(5)]
        assert len({str(message["result"]) for message in messages}) == 1
        assert asked.count("CustomRuntimeApi_cf_pool_price_v2") == 1


async def test_a_marked_deposit_is_reported_to_the_broker_when_it_is_final(instant: Served) -> None:
    """Report a marked deposit to the broker when its block is final."""
    await instant.call("broker_register_account")
    async with instant.websocket() as ws:
        await ws.call("broker_subscribe_transaction_screening_events")
        await ws.notification()
        tx_id = "0x" + "11" * 32
        await instant.call("broker_mark_transaction_for_rejection", {"Bitcoin": tx_id})
        for _ in range(4):
            await instant.call("dev_newBlock")
        with trio.fail_after(LIMIT_S):
            while not (message := (await ws.notification())["result"])["btc_events"]:
                pass
    ((name, event),) = message["btc_events"][0].items()
    assert (name, event["tx_id"]) == ("TransactionRejectionRequestReceived", tx_id)
    assert event["account_id"].startswith("cF")
    assert set(message) >= {"block_hash", "block_number", "timestamp", "eth_events", "bsc_events"}
