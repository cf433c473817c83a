"""What a provider swaps stays on the chain: from its balance, into its balance, at the internal fee."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cfnode.core.amm import price_of, sqrt_price_at
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from tests.devchain.runtime.broker import address_on
from tests.devchain.runtime.swapper import ETHER, USDC
from tests.devchain.runtime.world import BOB, bare_extrinsic
from tests.support.devchain.market import Market
from tests.support.devchain.swaps import NEVER_MET, NO_LIMITS, asked


@pytest.fixture
def market() -> Market:
    """Return a provider on a chain with pools."""
    return Market()


def test_a_swap_is_taken_from_a_balance_and_given_to_another(market: Market) -> None:
    """Swap from a balance into another at the internal fee: nothing leaves the chain."""
    before = market.owned("Btc")
    assert market.provide("schedule_swap", **asked()) == "Ok"
    assert market.world.names(1)[:3] == [
        "AssetBalances.AccountDebited",
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
    ]
    requested = market.event("SwapRequested")
    action = ("CreditOnChain", {"account_id": BOB.account})
    assert requested["request_type"] == ("Regular", {"output_action": action})
    assert (requested["origin"], requested["broker_fees"]) == (("OnChainAccount", BOB.account), [])
    expiry = {
        "retry_duration": 0,
        "refund_address": ("InternalAccount", BOB.account),
        "refund_ccm_metadata": None,
    }
    assert (
        requested["price_limits_and_expiry"] == {"expiry_behaviour": ("RefundIfExpires", expiry)} | NO_LIMITS
    )
    assert market.owned("Eth") == 999 * ETHER

    assert market.blocks(2)[1] == [
        "LiquidityPools.AssetSwapped",
        "LiquidityPools.AssetSwapped",
        "Swapping.SwapExecuted",
        "Swapping.CreditedOnChain",
        "AssetBalances.AccountCredited",
        "Swapping.SwapRequestCompleted",
    ]
    swapped, credited = market.event("SwapExecuted"), market.event("CreditedOnChain")
    assert credited == {
        "swap_request_id": requested["swap_request_id"],
        "account_id": BOB.account,
        "asset": "Btc",
        "amount": swapped["output_amount"],
    }
    assert market.owned("Btc") == before + swapped["output_amount"]
    # A hundredth of a per cent of about 2,800 dollars is less than the least fee, half a dollar.
    assert (swapped["network_fee"], swapped["broker_fee"]) == (500_000, 0)


def test_one_that_misses_its_price_goes_back_to_where_it_came_from(market: Market) -> None:
    """Refund a swap that misses its price to the balance, less the minimum fee; nothing is sent."""
    request = asked(price_limits=NEVER_MET, retry_duration=4)
    assert market.provide("schedule_swap", **request) == "Ok"
    happened = [name for block in market.blocks(7) for name in block]
    assert "Swapping.RefundedOnChain" in happened
    assert "EthereumIngressEgress.BatchBroadcastRequested" not in happened
    back = 1_000 * ETHER - market.owned("Eth")
    assert 0 < back < ETHER // 1_000  # half a dollar's worth


def test_pieces_are_bought_one_after_the_other(market: Market) -> None:
    """Buy in chunks, one after the other, and credit the sum of them."""
    request = asked(dca_params={"number_of_chunks": 3, "chunk_interval": 2}, output_asset="Usdc")
    before = market.owned("Usdc")
    assert market.provide("schedule_swap", **request) == "Ok"
    outputs = []
    for _ in range(6):
        market.world.block()
        outputs += [event["output_amount"] for event in market.all_of("SwapExecuted")]
    assert len(outputs) == 3
    assert market.owned("Usdc") == before + sum(outputs)


def test_the_longest_times_of_all_stop_no_block(market: Market) -> None:
    """Survive the longest durations: a block number that overflows would stop the chain."""
    request = asked(retry_duration=2**32 - 1, price_limits=NEVER_MET)
    assert market.provide("schedule_swap", **request) == "Ok"
    for interval in (0, 2**32 - 1):
        pieces = {"number_of_chunks": 2**32 - 1, "chunk_interval": interval}
        assert market.provide("schedule_swap", **asked(dca_params=pieces)) == "Ok"
    market.blocks(4)
    assert market.all_of("RefundedOnChain") == []
    waiting = market.world.stored("Swapping", "ScheduledSwaps")
    assert max(swap["execute_at"] for _, swap in waiting) == 2**32 - 1


@pytest.mark.parametrize(
    ("asset", "gives"), [("Eth", ETHER), ("Usdc", 10**9 - 500_000)], ids=["ether", "dollars"]
)
def test_an_asset_is_swapped_for_itself_and_pays_for_it(market: Market, asset: str, gives: int) -> None:
    """Swap an asset for itself, and charge the fee as for any other."""
    amount, before = {"Eth": ETHER, "Usdc": 10**9}[asset], market.owned(asset)
    request = asked(input_asset=asset, output_asset=asset, amount=amount)
    assert market.provide("schedule_swap", **request) == "Ok"
    market.blocks(2)
    back = market.event("CreditedOnChain")["amount"]
    assert market.owned(asset) == before - amount + back
    assert back == pytest.approx(gives, rel=0.001)
    assert back < amount


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"amount": 0}, "InternalSwapBelowMinimumDepositAmount"),
        ({"amount": 10**24}, "InsufficientBalance"),
        ({"output_asset": "Sol"}, "NoLiquidityRefundAddressRegistered"),
        ({"input_asset": "Sol", "amount": 10**12}, "InsufficientBalance"),
    ],
)
def test_a_request_with_wrong_arguments_is_refused(market: Market, changes: Any, error: str) -> None:
    """Refuse a wrong request: it uses no id and no funds."""
    assert market.provide("schedule_swap", **asked(**changes)) == f"LiquidityProvider.{error}"
    assert market.world.stored("Swapping", "SwapRequestIdCounter") == 0
    assert market.owned("Eth") == 1_000 * ETHER


def test_no_provider_and_a_provider_in_safe_mode_are_refused(market: Market) -> None:
    """Refuse internal swaps to accounts that are no provider, and to all in safe mode."""
    assert market.submit("LiquidityProvider", "schedule_swap", **asked()) == "BadOrigin"
    with market.arranging() as runtime:
        modes = runtime.pallet(EnvironmentStorage).RuntimeSafeMode
        off = replace(modes.get().liquidity_provider, internal_swaps_enabled=False)
        modes.put(replace(modes.get(), liquidity_provider=off))
    error = "LiquidityProvider.InternalSwapsDisabled"
    assert market.submit("LiquidityProvider", "schedule_swap", **asked()) == error


def test_the_earnings_of_orders_can_be_withdrawn(market: Market) -> None:
    """A limit order has bought, and has not been updated since."""
    tick = market.tick
    assert market.limit("Sell", tick, ETHER) == "Ok"
    with market.arranging() as runtime:
        runtime.pallet(AssetBalances).FreeBalances.put(BOB.account, "Usdc", 0)
    market.deposit("Usdc", "Eth", 100 * USDC)
    market.blocks(2)
    assert market.owned("Usdc") == 0
    to = {"amount": 50 * USDC, "asset": "Usdc", "destination_address": address_on("Ethereum")}
    assert market.provide("withdraw_asset", **to) == "Ok"
    assert 0 < market.owned("Usdc") < 50 * USDC
    assert price_of(sqrt_price_at(tick)) > 0


def test_governance_sends_balances_back(market: Market) -> None:
    """Send balances back as governance lists them, and report each one that could not be sent."""
    stranger = b"\x77" * 32
    wanted = [
        (BOB.account, "Eth", 3 * ETHER),
        (BOB.account, "Btc", 2**127),
        (BOB.account, "Sol", 1),
        (stranger, "Eth", 1),
    ]
    call = market.world.call(
        "Dev", "as_governance", call=("LiquidityProvider", ("purge_balances", {"accounts": wanted}))
    )
    ((_, outcome),) = market.world.block(bare_extrinsic(call))
    assert outcome == ("Ok", ())
    sent, failed = market.all_of("AssetBalancePurged"), market.all_of("AssetBalancePurgeFailed")
    assert [(payout["asset"], payout["destination_address"]) for payout in sent] == [
        ("Eth", address_on("Ethereum")),
        ("Btc", address_on("Bitcoin")),
    ]
    assert sent[0]["amount"] + sent[0]["fee"] == 3 * ETHER
    assert (market.owned("Eth"), market.owned("Btc")) == (997 * ETHER, 0)
    errors = [market.error_name(failure["error"]) for failure in failed]
    assert errors == [
        "LiquidityProvider.NoLiquidityRefundAddressRegistered",
        "LiquidityProvider.DestinationAccountNotLiquidityProvider",
    ]
    assert market.provide("purge_balances", accounts=[]) == "BadOrigin"
