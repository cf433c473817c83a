"""Orders that a block has filled, and deposits that it has seen, on a running development node."""

from __future__ import annotations

import pytest
import trio

from cfnode.rpc.table.convert import account
from tests.rpc.conftest import ALICE, Served
from tests.support.rpc.assets import BTC, BTC_ADDRESS, DOLLAR, ETH, ETHER, EVM_ADDRESS, REFUND, USDC
from tests.support.rpc.channels import events_of
from tests.support.rpc.providers import Provider
from tests.support.waiting import LIMIT_S


@pytest.fixture
async def provider(instant: Served) -> Provider:
    """Return a liquidity provider with funds."""
    provider = Provider(instant)
    await provider.begin()
    return provider


async def test_a_filled_order_is_reported_with_sold_and_bought_amounts(provider: Provider) -> None:
    """Report a filled order with what it sold and bought, as the event of the swap has it."""
    served = provider.served
    tick = (await served.call("cf_pool_price", ETH, USDC))["tick"]
    await provider.sell(tick, ETHER)
    await served.call("broker_registerAccount")
    refund = REFUND | {"refund_address": EVM_ADDRESS}
    opened = (USDC, BTC, BTC_ADDRESS, 10, None, None, None, refund)
    assert "address" in await served.call("broker_requestSwapDepositAddress", *opened)
    channel = await served.call("broker_requestSwapDepositAddress", USDC, ETH, EVM_ADDRESS, *opened[3:])
    async with served.websocket() as ws:
        await ws.call("cf_subscribe_lp_order_fills", "Best")
        assert (await ws.notification())["result"]["fills"] == []
        await served.call("dev_deposit", channel["address"], USDC, 1_000 * DOLLAR)
        for _ in range(2):
            await served.call("dev_newBlock")
        with trio.fail_after(LIMIT_S):
            while not (message := (await ws.notification())["result"])["fills"]:
                pass
    assert await served.call("cf_lp_get_order_fills", message["block_hash"]) == message
    said = await events_of(served, message["block_hash"])
    (swapped,) = [fields for _, name, fields in said if name == "AssetSwapped" and fields["to"] == "Eth"]
    limit = next(fill["limit_order"] for fill in message["fills"] if "limit_order" in fill)
    sold, bought = int(limit.pop("sold"), 16), int(limit.pop("bought"), 16)
    # What fees have bought from the order before makes it a difference of two rounded shares.
    assert abs(swapped["output_amount"] - sold) <= 1
    assert abs(swapped["input_amount"] - bought) <= 1
    (order,) = (await served.call("cf_pool_orders", ETH, USDC, limit["lp"]))["limit_orders"]["asks"]
    assert limit.pop("remaining") == order["sell_amount"]
    assert limit == {
        "lp": account(ALICE.account),
        "base_asset": ETH,
        "quote_asset": USDC,
        "side": "sell",
        "id": "0x5",
        "tick": tick,
        "fees": "0x0",
    }
    for _ in range(3):
        await served.call("dev_newBlock")
    before = await served.call("chain_getFinalizedHead")
    final = await served.call("cf_lp_get_order_fills")
    assert final["block_hash"] in (before, await served.call("chain_getFinalizedHead"))


async def test_the_first_liquiditys_fees_are_fills_of_a_range_order(instant: Served) -> None:
    """Report the first liquidity's fees as fills of a range order, and nothing in a quiet block."""
    await instant.call("broker_registerAccount")
    channel = await instant.call(
        "broker_requestSwapDepositAddress", ETH, BTC, BTC_ADDRESS, 10, None, None, None, REFUND
    )
    await instant.call("dev_deposit", channel["address"], ETH, ETHER)
    for _ in range(2):
        block = await instant.call("dev_newBlock")
    fills = (await instant.call("cf_lp_get_order_fills", block))["fills"]
    eth, btc = [fill["range_order"] for fill in fills]
    assert (eth["base_asset"], btc["base_asset"]) == (ETH, BTC)
    assert eth["range"] == {"start": -887272, "end": 887272}
    fee = int(eth["fees"]["base"], 16)
    assert (int(eth["bought_amounts"]["base"], 16), eth["fees"]["quote"]) == (fee * 10**6 // 20, "0x0")
    nothing = await instant.call("dev_newBlock")
    assert (await instant.call("cf_lp_get_order_fills", nothing))["fills"] == []
    assert await instant.error("cf_lp_get_order_fills", "0x" + "ab" * 32) == {
        "code": -32603, "message": "Internal error while processing request.",
    }  # fmt: skip


async def test_deposits_are_reported_when_they_are_witnessed(instant: Served) -> None:
    """Report a deposit when it is witnessed, in both subscriptions."""
    await instant.call("broker_registerAccount")
    channel = await instant.call(
        "broker_requestSwapDepositAddress", ETH, BTC, BTC_ADDRESS, 10, None, None, None, REFUND
    )
    async with instant.websocket() as ws:
        await ws.call("cf_subscribe_ingress_events", "Ethereum")
        await ws.call("broker_subscribe_ingress_events", "Ethereum")
        for _ in range(2):
            assert (await ws.notification())["result"]["deposits"] == []
        await instant.call("dev_deposit", channel["address"], ETH, ETHER, "0x" + "77" * 32)
        results = [(await ws.notification())["result"] for _ in range(2)]
    assert results[0] == results[1]
    (deposit,) = results[0]["deposits"]
    assert deposit.pop("deposit_chain_block_height") > 0
    assert deposit == {
        "deposit_address": {"Eth": list(bytes.fromhex(channel["address"][2:]))},
        "amount": hex(ETHER),
        "asset": ETH,
        "deposit_details": {"Ethereum": {"tx_hashes": ["0x" + "77" * 32]}},
    }
    assert results[0]["vault_deposits"] == []


async def test_a_changed_price_is_sent_again(instant: Served) -> None:
    """Send a price again when it has changed."""
    async with instant.websocket() as ws:
        await ws.call("cf_subscribe_pool_price", ETH, USDC)
        first = (await ws.notification())["result"]
        await instant.call("dev_newBlock")
        await instant.call("dev_setPool", ETH, 3_000 * DOLLAR)
        second = (await ws.notification())["result"]
    assert second["block_number"] == first["block_number"] + 2
    assert int(second["price"], 16) > int(first["price"], 16)
    assert int(second["price"], 16) * ETHER >> 128 in (2_999_940_000, 2_999_939_999)
