"""Liquidity providers on a chain: deposits, orders that swaps fill, and every unit accounted for."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.amm import price_of, sqrt_price_at
from cfnode.core.scale import ScaleError
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.flip import Flip
from tests.devchain.runtime.broker import address_on, refund
from tests.devchain.runtime.swapper import BITCOIN, ETHER, USDC
from tests.devchain.runtime.world import BOB
from tests.support.devchain.market import PAIR, Market

ALL = {"liquidity": 2**128 - 1}


@pytest.fixture
def market() -> Market:
    """Return a provider on a chain with pools."""
    return Market()


def test_a_providers_deposit_is_its_own(market: Market) -> None:
    """Credit a deposit on a provider's channel to its balance, less the ingress fee."""
    assert market.provide("request_liquidity_deposit_address", asset="Btc", boost_fee=0) == "Ok"
    ready = market.event("LiquidityDepositAddressReady")
    assert (ready["account_id"], ready["asset"], ready["channel_id"]) == (BOB.account, "Btc", 1)
    assert market.pay(ready["deposit_address"], "Btc", BITCOIN) == [
        "BitcoinIngressEgress.DepositFetchesScheduled",
        "AssetBalances.AccountCredited",
        "BitcoinIngressEgress.DepositFinalised",
    ]
    finalised = market.event("DepositFinalised")
    assert finalised["action"] == ("LiquidityProvision", {"lp_account": BOB.account})
    assert market.owned("Btc") == 101 * BITCOIN - finalised["ingress_fee"]


def test_an_asset_is_withdrawn_and_given_away(market: Market) -> None:
    """Withdraw to an address of the asset's chain, and transfer to other providers only."""
    sent = {"amount": BITCOIN, "asset": "Btc", "destination_address": address_on("Bitcoin")}
    assert market.provide("withdraw_asset", **sent) == "Ok"
    withdrawal = market.event("WithdrawalEgressScheduled")
    assert withdrawal["amount"] + withdrawal["fee"] == BITCOIN
    assert market.owned("Btc") == 99 * BITCOIN
    wrong = sent | {"destination_address": address_on("Ethereum")}
    assert market.provide("withdraw_asset", **wrong) == "LiquidityProvider.InvalidEgressAddress"
    assert (
        market.provide("withdraw_asset", **(sent | {"amount": 10**12})) == "AssetBalances.InsufficientBalance"
    )
    to_broker = {"amount": 1, "asset": "Btc", "destination": market.account}
    error = "LiquidityProvider.DestinationAccountNotLiquidityProvider"
    assert market.provide("transfer_asset", **to_broker) == error
    to_self = to_broker | {"destination": BOB.account}
    assert market.provide("transfer_asset", **to_self) == "LiquidityProvider.CannotTransferToOriginAccount"


def test_an_order_needs_a_role_an_address_and_money(market: Market) -> None:
    """Refuse an order without role, refund address, price, pool or funds; the balance stays as it is."""
    order = PAIR | {"side": "Sell", "id": 1, "option_tick": 0, "sell_amount": ETHER}
    order |= {"dispatch_at": None, "close_order_at": None}
    assert market.submit("LiquidityPools", "set_limit_order", **order) == "BadOrigin"
    no_address = "AssetBalances.NoLiquidityRefundAddressRegistered"
    assert market.limit("Sell", 0, ETHER, base_asset="Sol") == no_address
    assert market.limit("Sell", None, ETHER) == "LiquidityPools.UnspecifiedOrderPrice"
    assert market.limit("Sell", 900_000, ETHER) == "LiquidityPools.InvalidTick"
    assert market.limit("Sell", 0, 10**22) == "AssetBalances.InsufficientBalance"
    assert market.limit("Sell", 0, ETHER, quote_asset="Btc") == "LiquidityPools.PoolDoesNotExist"
    assert market.owned("Eth") == 1_000 * ETHER


def test_a_swap_buys_from_a_better_limit_order_first(market: Market) -> None:
    """Fill a limit order at a better price before the range orders, to the unit."""
    tick = market.tick
    assert market.limit("Sell", tick, ETHER) == "Ok"
    update = market.event("LimitOrderUpdated")
    assert update == PAIR | {
        "lp": BOB.account,
        "side": "Sell",
        "id": 1,
        "tick": tick,
        "sell_amount_change": ("Increase", ETHER),
        "sell_amount_total": ETHER,
        "collected_fees": 0,
        "bought_amount": 0,
    }
    assert market.owned("Eth") == 999 * ETHER
    before = market.pool("Eth").current_sqrt_price
    market.deposit("Usdc", "Eth", 1_000 * USDC)
    market.blocks(2)
    swapped = market.event("AssetSwapped")  # the user's swap, and that of the deposit's fee
    paid, output = swapped["input_amount"], swapped["output_amount"]
    assert (paid << 128) // price_of(sqrt_price_at(tick)) - output in (0, 1)
    assert market.pool("Eth").current_sqrt_price == before
    (order,) = market.api("cf_pool_orders", "Eth", "Usdc", BOB.account, False)["limit_orders"]["asks"]
    assert (order["original_sell_amount"], order["fees_earned"]) == (ETHER, 0)
    assert ETHER - order["sell_amount"] - output in (0, 1)
    assert market.api("cf_pool_info", "Eth", "Usdc")["limit_total_swap_inputs"]["quote"] == paid

    assert market.limit("Sell", None, 0) == "Ok"
    closed = market.all_of("LimitOrderUpdated")
    assert [order["sell_amount_change"] for order in closed][-1] == ("Decrease", order["sell_amount"])
    bought = sum(order["bought_amount"] for order in closed)
    assert paid - bought in (0, 1)
    assert market.owned("Usdc") == 10**13 + bought
    assert market.owned("Eth") == 999 * ETHER + order["sell_amount"]
    assert market.api("cf_pool_orders", "Eth", "Usdc", BOB.account, True)["limit_orders"]["asks"] == []


def test_a_filled_order_above_the_threshold_is_paid_out_by_itself(market: Market) -> None:
    """Pay out a filled order above the threshold in the next block without a call."""
    assert market.limit("Sell", market.tick, ETHER) == "Ok"
    market.deposit("Usdc", "Eth", 10_000 * USDC)
    market.blocks(3)
    names = [
        f"{pallet}.{name}" for phase, pallet, name, _ in market.world.events() if phase == "Initialization"
    ]
    assert names[-2:] == ["AssetBalances.AccountCredited", "LiquidityPools.LimitOrderUpdated"]
    update = market.event("LimitOrderUpdated")
    assert (update["sell_amount_change"], update["sell_amount_total"]) == (None, 0)
    assert update["bought_amount"] == market.owned("Usdc") - 10**13
    assert update["bought_amount"] > 2_700 * USDC


def test_a_range_order_earns_its_share_of_the_fee(market: Market) -> None:
    """Credit a range order its share of the fee, and pay it out when the order is closed."""
    depth = market.pool("Eth").current_liquidity
    low, high = market.tick - 1_000, market.tick + 1_000
    assert market.ranged(low, high, depth) == "Ok"
    made = market.event("RangeOrderUpdated")
    direction, change = made["size_change"]
    assert (direction, change["liquidity"], made["liquidity_total"]) == ("Increase", depth, depth)
    assert market.owned("Eth") == 1_000 * ETHER - change["amounts"]["base"]
    assert market.owned("Usdc") == 10**13 - change["amounts"]["quote"]
    market.deposit("Eth", "Usdc", 10 * ETHER)
    market.blocks(2)
    fee = market.pool("Eth").total_fees_earned["base"]
    (order,) = market.api("cf_pool_orders", "Eth", "Usdc", BOB.account, False)["range_orders"]
    assert order["fees_earned"]["base"] in (fee // 2, fee // 2 - 1)
    gone = {"id": 1, "option_tick_range": None, "size_change": ("Decrease", ("Liquidity", ALL))}
    assert market.order("update_range_order", **gone) == "Ok"
    fees = [event["collected_fees"]["base"] for event in market.all_of("RangeOrderUpdated")]
    assert fees == [order["fees_earned"]["base"], 0]
    earned = market.world.stored("LiquidityPools", "HistoricalEarnedFees", BOB.account, "Eth")
    assert earned == order["fees_earned"]["base"]
    assert market.pool("Eth").current_liquidity == depth
    missing = market.order("update_range_order", **gone)
    assert missing == "LiquidityPools.UnspecifiedOrderPrice"


def test_an_order_that_moves_keeps_its_amount(market: Market) -> None:
    """Keep an order's amount when its range or price moves."""
    low = market.tick - 500
    assert market.ranged(low, low + 1_000, 10**15) == "Ok"
    size = ("Increase", ("Liquidity", {"liquidity": 0}))
    ticks = {"start": low, "end": low + 1_100}
    assert market.order("update_range_order", id=1, option_tick_range=ticks, size_change=size) == "Ok"
    (order,) = market.api("cf_pool_orders", "Eth", "Usdc", BOB.account, False)["range_orders"]
    assert order["range"] == ticks
    assert market.limit("Buy", 100, 10 * USDC) == "Ok"
    change = {"side": "Buy", "id": 1, "option_tick": 200, "amount_change": ("Increase", 5 * USDC)}
    assert market.order("update_limit_order", **change, dispatch_at=None) == "Ok"
    (bid,) = market.api("cf_pool_orders", "Eth", "Usdc", BOB.account, False)["limit_orders"]["bids"]
    assert (bid["tick"], bid["sell_amount"]) == (200, 15 * USDC)


def test_orders_are_closed_together_and_a_provider_leaves(market: Market) -> None:
    """Close orders in a batch, report the one that is missing, and keep a provider while it has funds."""
    assert market.limit("Sell", market.tick + 500, ETHER) == "Ok"
    assert market.ranged(0, 100, 10**9) == "Ok"
    assert market.provide("deregister_lp_account") == "LiquidityPools.OpenOrdersRemaining"
    limit = ("Limit", PAIR | {"side": "Sell", "id": 1})
    ranged, missing = ("Range", PAIR | {"id": 1}), ("Range", PAIR | {"id": 9})
    assert (
        market.submit("LiquidityPools", "cancel_orders_batch", BOB, orders=[limit, ranged, missing]) == "Ok"
    )
    assert market.event("OrderDeletionFailed") == {"order": missing}
    assert market.owned("Eth") == 1_000 * ETHER - 1  # a range order's assets are rounded against it
    assert market.owned("Usdc") == 10**13
    assert market.provide("deregister_lp_account") == "AssetBalances.FundsRemaining"
    with market.arranging() as runtime:
        runtime.pallet(AssetBalances).FreeBalances.clear(BOB.account)
        runtime.pallet(Flip).set_bond(BOB.account, 1)
    assert market.provide("deregister_lp_account") == "Ok", "a bond keeps no provider"
    too_many = market.world.call("LiquidityPools", "cancel_orders_batch", orders=[limit] * 101)
    with pytest.raises(Exception, match="up to 100") as refused:
        market.world.block(market.world.sign(too_many, BOB))
    assert refused.type is not ScaleError


def test_an_order_opens_and_closes_at_its_blocks(market: Market) -> None:
    """Open and close an order in the blocks that its call names, and refuse blocks that are too far."""
    now = market.world.header.number
    assert market.limit("Sell", market.tick, ETHER, dispatch_at=now + 3, close_order_at=now + 5) == "Ok"
    assert market.event("LimitOrderSetOrUpdateScheduled")["dispatch_at"] == now + 3
    assert market.owned("Eth") == 1_000 * ETHER
    market.blocks(2)
    assert market.event("ScheduledLimitOrderUpdateDispatchSuccess") == {"lp": BOB.account, "order_id": 1}
    assert market.owned("Eth") == 999 * ETHER
    market.blocks(2)
    assert market.owned("Eth") == 1_000 * ETHER
    assert (
        market.world.stored("LiquidityPools", "ScheduledLimitOrderUpdateCount", (BOB.account, now + 5)) == 0
    )
    now = market.world.header.number
    assert market.limit("Sell", 0, ETHER, dispatch_at=now + 4) == "LiquidityPools.InvalidDispatchAt"
    assert market.limit("Sell", 0, ETHER, close_order_at=now + 30) == "LiquidityPools.InvalidCloseOrderAt"


def test_the_windows_of_a_scheduled_order_have_both_ends(market: Market) -> None:
    """Both count from the block of the call: it opens within two, closes within twenty, and opens first."""
    refused = {"dispatch_at": "InvalidDispatchAt", "close_order_at": "InvalidCloseOrderAt"}
    for times, wrong in (
        ((-1, None), "dispatch_at"),
        ((0, None), None),
        ((2, None), None),
        ((3, None), "dispatch_at"),
        ((None, 0), "close_order_at"),
        ((None, 1), None),
        ((None, 20), None),
        ((None, 21), "close_order_at"),
        ((2, 2), "close_order_at"),
        ((2, 3), None),
        ((2, 20), None),
        ((2, 21), "close_order_at"),
    ):
        here = market.world.header.number + 1
        named = dict(zip(refused, (None if time is None else here + time for time in times), strict=True))
        answer = "Ok" if wrong is None else f"LiquidityPools.{refused[wrong]}"
        assert market.limit("Sell", market.tick, ETHER, **named) == answer, times


def test_an_update_that_cannot_be_done_in_its_block_says_so(market: Market) -> None:
    """Report a scheduled update that fails in its block with the error."""
    now = market.world.header.number
    assert market.limit("Sell", 0, 10**22, dispatch_at=now + 2) == "Ok"
    market.world.block()
    failed = market.event("ScheduledLimitOrderUpdateDispatchFailure")
    assert market.error_name(failed["error"]) == "AssetBalances.InsufficientBalance"


def test_a_swap_that_moves_the_price_too_far_is_refunded(market: Market) -> None:
    """Refund a swap that moves the price beyond the limit; a small one still executes."""
    limits = ("LiquidityPools", ("set_maximum_price_impact", {"limits": [("Eth", 3)]}))
    assert market.dev("as_governance", call=limits) == "Ok"
    (limit,) = market.all_of("PriceImpactLimitSet")
    assert (limit["asset_pair"], limit["limit"]) == ({"assets": {"base": "Eth", "quote": "Usdc"}}, 3)
    market.deposit("Eth", "Usdc", 400 * ETHER, refund_parameters=refund("Ethereum", retry_duration=0))
    market.blocks(2)
    assert market.event("SwapAborted")["reason"] == "PriceImpactLimit"
    assert market.event("BatchSwapFailed")["direction"] == "ToStable"
    small = market.deposit("Eth", "Usdc", ETHER // 10)
    assert "Swapping.SwapScheduled" in small
    market.blocks(2)
    assert market.event("SwapExecuted")["input_asset"] == "Eth"
    assert market.submit("LiquidityPools", "set_maximum_price_impact", limits=[("Eth", 3)]) == "BadOrigin"


def test_each_api_of_the_pools_lists_the_same_orders(market: Market) -> None:
    """List the same orders in each API of the pools."""
    tick = market.tick
    assert market.limit("Sell", tick + 10, ETHER) == "Ok"
    assert market.limit("Buy", tick - 10, 1_000 * USDC) == "Ok"
    depth = market.api("cf_pool_depth", "Eth", "Usdc", {"start": tick - 10, "end": tick + 11})
    assert depth["asks"]["limit_orders"] == {"price": sqrt_price_at(tick + 10), "depth": ETHER}
    assert depth["bids"]["limit_orders"] == {"price": sqrt_price_at(tick - 10), "depth": 1_000 * USDC}
    liquidity = market.api("cf_pool_liquidity", "Eth", "Usdc")["limit_orders"]
    assert liquidity == {
        "asks": [{"tick": tick + 10, "amount": ETHER}],
        "bids": [{"tick": tick - 10, "amount": 1_000 * USDC}],
    }
    book = market.api("cf_pool_orderbook", "Eth", "Usdc", 5)
    assert (len(book["asks"]), len(book["bids"])) == (5, 5)
    prices = [ask["sqrt_price"] for ask in book["asks"]]
    assert prices == sorted(prices)
    ratio = market.api(
        "cf_required_asset_ratio_for_range_order", "Eth", "Usdc", {"start": tick - 5, "end": tick}
    )
    assert (ratio["base"], ratio["quote"] > 0) == (0, True)
    price = market.api("cf_pool_price_v2", "Eth", "Usdc")
    assert price["sell"] < market.pool("Eth").current_sqrt_price < price["buy"]
    events = market.world.api("CustomRuntimeApi_cf_lp_events")
    assert [name for name, _ in events] == ["LimitOrderUpdated"]


def test_orders_that_are_only_supposed_improve_a_simulated_swap(market: Market) -> None:
    """Quote a swap with additional orders better, and leave the pool as it is."""

    def simulated(orders: Any) -> Any:
        return market.api(
            "cf_pool_simulate_swap",
            "Usdc",
            "Eth",
            10**9,
            0,
            None,
            None,
            ["IngressDepositChannel"],
            orders,
            None,
        )["output"]

    order = {"base_asset": "Eth", "quote_asset": "Usdc", "side": "Sell", "sell_amount": 10 * ETHER}
    plain = simulated(None)
    better = simulated([("LimitOrder", order | {"tick": market.tick - 100})])
    assert better > plain * 1.009
    assert simulated(None) == plain
    _, (_, error) = market.world.api(
        "CustomRuntimeApi_cf_pool_simulate_swap",
        "Usdc",
        "Eth",
        10**9,
        0,
        None,
        None,
        [],
        [("LimitOrder", order | {"tick": 10**6})],
        None,
    )
    assert error == b"InvalidTick"


def test_a_new_price_closes_the_range_orders_that_held_the_old_one(market: Market) -> None:
    """Close the range orders around the old price when a control sets a new one; limit orders stay."""
    assert market.ranged(market.tick - 500, market.tick + 500, 10**15) == "Ok"
    assert market.limit("Sell", market.tick + 2_000, ETHER) == "Ok"
    assert market.dev("set_pool", asset="Eth", price=4_000 * 10**6, depth=None) == "Ok"
    assert market.event("RangeOrderUpdated")["liquidity_total"] == 0
    assert market.owned("Usdc") in (10**13, 10**13 - 1)
    orders = market.api("cf_pool_orders", "Eth", "Usdc", BOB.account, False)
    assert (orders["range_orders"], len(orders["limit_orders"]["asks"])) == ([], 1)
