"""What release 2.3.0 does and those before it do not: BSC, least orders, dust, addresses, open swaps."""

from __future__ import annotations

import pytest

from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from tests.devchain.runtime.swapper import ETHER, Swapper
from tests.devchain.runtime.world import BOB, OLDEST
from tests.support.devchain.market import PAIR, Market
from tests.support.devchain.rejections import rejected
from tests.support.devchain.swaps import NEVER_MET, asked
from tests.support.devchain.vault_swaps import evm, send, transaction

OWN, OTHER = b"\x07" * 20, b"\x08" * 20


@pytest.fixture
def broker() -> Swapper:
    """Return a broker on a new chain."""
    return Swapper()


@pytest.fixture
def market() -> Market:
    """Return a provider on a chain with pools."""
    return Market()


@pytest.mark.parametrize(("asset", "amount"), [("Bnb", 2 * ETHER), ("BscUsdt", 900 * ETHER)])
def test_a_vault_swap_from_bsc_is_encoded_noticed_and_swapped(
    broker: Swapper, asset: str, amount: int
) -> None:
    """Encode a vault swap from BSC, witness it and swap it."""
    chain, details = transaction(broker, evm("Bsc", amount), asset, "Cbbtc")
    call = details["details"]
    assert (chain, call["value"]) == ("Bsc", amount if asset == "Bnb" else 0)
    assert call["to"] == broker.world.stored("Environment", "BscVaultAddress")
    sender = ("Bsc", b"\x5e" * 20)
    assert send(broker, (chain, details), sender=sender) == "Ok"
    finalised, requested = broker.event("DepositFinalised"), broker.event("SwapRequested")
    assert (finalised["asset"], finalised["amount"], finalised["ingress_fee"]) == (asset, amount, 0)
    assert (requested["input_asset"], requested["output_asset"]) == (asset, "Cbbtc")


def test_a_transaction_on_bsc_offers_one_price_for_gas(broker: Swapper) -> None:
    """Offer one gas price on BSC as both fees, and withhold the egress fee for it."""
    broker.deposit("Eth", "Bnb", 5 * ETHER)
    broker.blocks(3)
    sent = broker.event("TransactionBroadcastRequest")["transaction_payload"]
    price = 10_000_000_000 * 3 // 2
    assert (sent["max_priority_fee_per_gas"], sent["max_fee_per_gas"]) == (price, price)
    assert (sent["chain_id"], sent["contract"]) == (
        343,
        broker.world.stored("Environment", "BscVaultAddress"),
    )
    withheld = broker.world.stored("AssetBalances", "WithheldAssets", "Bnb")
    assert withheld == 106_000 * 10_000_000_000


def test_a_limit_order_is_not_left_with_less_than_the_least_amount(market: Market) -> None:
    """Refuse a limit order below the minimum amount, and a decrease that leaves less; closing is allowed."""
    least = market.world.stored("LiquidityPools", "MinimumLimitOrderAmount", "Eth")
    assert least == 3 * 10**15
    too_little = "LiquidityPools.BelowMinimumOrderAmount"
    assert market.limit("Sell", 0, least - 1) == too_little
    assert market.limit("Buy", 0, 5 * 10**6 - 1) == too_little
    assert market.limit("Sell", 0, least) == "Ok"
    decrease = {"side": "Sell", "id": 1, "option_tick": None, "dispatch_at": None}
    assert market.order("update_limit_order", **decrease, amount_change=("Decrease", 1)) == too_little
    assert market.order("update_limit_order", **decrease, amount_change=("Increase", 1)) == "Ok"
    assert market.limit("Sell", None, 0) == "Ok", "an order may be closed"

    update = ("SetMinimumLimitOrderAmount", {"asset": "Eth", "amount": 10})
    governed = ("LiquidityPools", ("update_pallet_config", {"updates": [update]}))
    assert market.dev("as_governance", call=governed) == "Ok"
    assert market.event("PalletConfigUpdated") == {"update": update}
    assert market.limit("Sell", 0, 10) == "Ok"


def test_pools_and_providers_name_a_missing_address_each_by_its_own_error(market: Market) -> None:
    """Return each pallet's own error for a missing refund address, as each release has it."""
    missing = market.limit("Sell", 0, ETHER, base_asset="Sol", quote_asset=PAIR["quote_asset"])
    assert missing == "AssetBalances.NoLiquidityRefundAddressRegistered"
    by_provider = "LiquidityProvider.NoLiquidityRefundAddressRegistered"
    assert market.provide("schedule_swap", **asked(output_asset="Sol")) == by_provider
    assert Market(OLDEST).limit("Sell", 0, 1, base_asset="Sol") == by_provider


def test_a_rejected_deposit_of_which_dust_is_left_is_not_sent_back(broker: Swapper) -> None:
    """Fail the rejection of a deposit of which fees leave less than the dust limit, and record it."""
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Ethereum"]).MinimumDeposit.put("Eth", 0)
    assert "EthereumIngressEgress.TransactionRejectionFailed" in rejected(broker, "Eth", 1)
    failed = broker.event("TransactionRejectionFailed")
    assert (list(failed), failed["reason"]) == (["tx_id", "reason"], "BelowDustLimit")
    assert len(broker.world.stored("EthereumIngressEgress", "FailedRejections")) == 1


def test_a_bound_broker_withdraws_to_no_other_address(broker: Swapper) -> None:
    """Refuse a bound broker's withdrawal to another address, and report the bound one."""
    assert broker.swapping("bind_broker_fee_withdrawal_address", address=OWN) == "Ok"
    assert (
        broker.swapping("bind_broker_fee_withdrawal_address", address=OTHER) == "Swapping.BrokerAlreadyBound"
    )
    with broker.arranging() as runtime:
        runtime.by_name["AssetBalances"].credit(broker.account, "Usdc", 100 * 10**6)
    elsewhere = broker.swapping("withdraw", asset="Usdc", destination_address=("Eth", OTHER))
    assert elsewhere == "AssetBalances.DestinationNotAllowed"
    info = broker.world.api("CustomRuntimeApi_cf_broker_info", broker.account)
    assert info["bound_fee_withdrawal_address"] == OWN


def test_a_provider_keeps_its_role_as_long_as_a_swap_is_its_own(market: Market) -> None:
    """Keep a provider's role as long as a swap of its own is pending."""
    swap = asked(amount=market.owned("Eth"), price_limits=NEVER_MET, retry_duration=3)
    assert market.provide("schedule_swap", **swap) == "Ok"
    with market.arranging() as runtime:
        runtime.by_name["AssetBalances"].FreeBalances.clear(BOB.account)
    assert market.provide("deregister_lp_account") == "Swapping.PendingSwapRequest"
    market.blocks(8)
    with market.arranging() as runtime:
        runtime.by_name["AssetBalances"].FreeBalances.clear(BOB.account)
    assert market.provide("deregister_lp_account") == "Ok"


def test_the_deposits_of_assethub_are_named_by_block_and_extrinsic(broker: Swapper) -> None:
    """Identify deposits of AssetHub by block and extrinsic."""
    broker.deposit("HubUsdt", "Eth", 500 * 10**6)
    details = broker.event("DepositFinalised")["deposit_details"]
    height = broker.world.stored("AssethubChainTracking", "CurrentChainState")["block_height"]
    assert details["extrinsic_index"] == 0
    assert 0 <= height - details["block_number"] <= 3
    kind, answer = broker.world.api("CustomRuntimeApi_cf_ingress_events", "Assethub")
    assert (kind, answer["deposits"][0]["deposit_details"]) == ("Ok", ("Assethub", details))
    assert broker.world.api("CustomRuntimeApi_cf_ingress_egress_events", "Assethub")[0] == "Ok"


def test_answers_about_validators_and_chains_have_the_members_of_2_3(broker: Swapper) -> None:
    """Answer about validators, chains and balances with the fields that 2.3 has added."""
    (authority,) = broker.world.stored("Validator", "CurrentAuthorities")
    validator = broker.world.api("CustomRuntimeApi_cf_validator_info", authority)
    assert (validator["bid"], validator["max_bid"]) == (validator["balance"], None)
    assert "bsc" in broker.world.api("MonitoringRuntimeApi_cf_external_chains_block_height")
    for method in ("pending_broadcasts_count", "open_deposit_channels_count", "fee_imbalance"):
        assert "bsc" in broker.world.api(f"MonitoringRuntimeApi_cf_{method}")
    assert broker.world.api("MonitoringRuntimeApi_cf_rotation_broadcast_ids")["bsc"] is None
    assert broker.world.api("CustomRuntimeApi_cf_transaction_screening_events")["bsc_events"] == []
    limits = broker.world.api("CustomRuntimeApi_cf_trading_strategy_limits")
    assert limits["minimum_deployment_amount"]["bsc"] == {"bnb": None, "usdt": 20_000 * ETHER}
    assert broker.world.api("CustomRuntimeApi_cf_free_balances", broker.account)["bsc"] == {
        "bnb": 0,
        "usdt": 0,
    }
