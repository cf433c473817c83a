"""Deposits that count before they are final, and deposits that a broker refuses."""

from __future__ import annotations

import pytest

from cfnode.runtime.dev.pallets.ingress_egress.boost import BOOSTER
from cfnode.runtime.dev.pallets.ingress_egress.pallet import INGRESS_EGRESS
from tests.runtime.dev.broker import address_on, request
from tests.runtime.dev.swapper import BITCOIN, ETHER, Swapper
from tests.runtime.dev.world import BOB

TRANSACTION = b"\x77" * 32
BTC_INGRESS = 390
FEE = BITCOIN * 5 // 10_000


@pytest.fixture
def broker() -> Swapper:
    return Swapper()


def boosted_channel(broker: Swapper, depth: int = 10 * BITCOIN) -> tuple[str, bytes]:
    assert broker.dev("set_boost_depth", asset="Btc", amount=depth) == "Ok"
    address: tuple[str, bytes] = broker.opened(**request("Btc", "Eth", boost_fee=10))["deposit_address"]
    return address


def status(broker: Swapper) -> object:
    channels = broker.world.runtime.composition
    with broker.arranging():
        ((_, channel),) = channels.pallet(INGRESS_EGRESS["Bitcoin"]).DepositChannelLookup.items()
    return channel["boost_status"]


def test_a_boosted_deposit_is_swapped_at_once_and_paid_back_when_it_is_final(broker: Swapper) -> None:
    address = boosted_channel(broker)
    assert broker.announce(address, "Btc", BITCOIN, TRANSACTION) == [
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
        "BitcoinIngressEgress.DepositBoosted",
    ]
    boosted = broker.event("DepositBoosted")
    assert boosted["amounts"] == [("BoostPool", BITCOIN)]
    assert boosted["boost_fee"] == [("BoostPool", FEE)]
    assert (boosted["ingress_fee"], boosted["prewitnessed_deposit_id"]) == (BTC_INGRESS, 1)
    assert boosted["deposit_details"]["id"]["tx_id"] == TRANSACTION
    assert boosted["action"] == ("Swap", {"swap_request_id": 1})
    assert broker.event("SwapScheduled")["input_amount"] == BITCOIN - FEE - BTC_INGRESS
    assert broker.balance(BOOSTER, "Btc") == 10 * BITCOIN - (BITCOIN - FEE)
    assert status(broker) == ("Boosted", {"prewitnessed_deposit_id": 1, "amount": BITCOIN})

    assert broker.pay(address, "Btc", BITCOIN, TRANSACTION) == [
        "BitcoinIngressEgress.DepositFetchesScheduled",
        "BitcoinIngressEgress.DepositFinalised",
    ]
    finalised = broker.event("DepositFinalised")
    assert finalised["ingress_fee"] == 0
    assert finalised["action"] == (
        "BoostersCredited",
        {"prewitnessed_deposit_id": 1, "network_fee_from_boost": 0, "network_fee_swap_request_id": None},
    )
    assert broker.balance(BOOSTER, "Btc") == 10 * BITCOIN + FEE
    assert status(broker) == "NotBoosted"
    broker.blocks(1)
    assert broker.event("SwapExecuted")["input_amount"] == BITCOIN - FEE - BTC_INGRESS


def test_without_enough_put_up_the_deposit_waits_for_its_confirmation(broker: Swapper) -> None:
    address = boosted_channel(broker, depth=BITCOIN // 2)
    assert broker.announce(address, "Btc", BITCOIN) == ["BitcoinIngressEgress.InsufficientBoostLiquidity"]
    assert broker.event("InsufficientBoostLiquidity")["amount_attempted"] == BITCOIN
    assert "Swapping.SwapRequested" in broker.pay(address, "Btc", BITCOIN)


def test_another_amount_than_the_boosted_one_is_a_deposit_of_its_own(broker: Swapper) -> None:
    address = boosted_channel(broker)
    broker.announce(address, "Btc", BITCOIN)
    assert "Swapping.SwapRequested" in broker.pay(address, "Btc", 2 * BITCOIN)
    assert status(broker) == ("Boosted", {"prewitnessed_deposit_id": 1, "amount": BITCOIN})


def test_a_channel_without_a_boost_fee_is_not_boosted(broker: Swapper) -> None:
    broker.dev("set_boost_depth", asset="Btc", amount=10 * BITCOIN)
    address = broker.opened(**request("Btc", "Eth"))["deposit_address"]
    assert broker.announce(address, "Btc", BITCOIN) == []
    assert status(broker) == "NotBoosted"


def test_a_fee_below_the_tier_is_not_enough(broker: Swapper) -> None:
    broker.dev("set_boost_depth", asset="Btc", amount=10 * BITCOIN)
    address = broker.opened(**request("Btc", "Eth", boost_fee=4))["deposit_address"]
    assert broker.announce(address, "Btc", BITCOIN) == ["BitcoinIngressEgress.InsufficientBoostLiquidity"]


# Rejection


def test_a_marked_transaction_is_sent_back(broker: Swapper) -> None:
    address = broker.opened(**request("Eth", "Btc"))["deposit_address"]
    assert broker.submit("EthereumIngressEgress", "mark_transaction_for_rejection", tx_id=TRANSACTION) == "Ok"
    received = broker.event("TransactionRejectionRequestReceived")
    assert received == {
        "account_id": broker.account,
        "tx_id": TRANSACTION,
        "expires_at": broker.world.header.number + 600,
    }
    assert broker.pay(address, "Eth", ETHER, TRANSACTION) == [
        "EthereumIngressEgress.DepositFailed",
        "EvmThresholdSigner.ThresholdSignatureRequest",
        "EthereumIngressEgress.TransactionRejectedByBroker",
    ]
    assert broker.event("DepositFailed")["reason"] == "TransactionRejectedByBroker"
    assert broker.event("TransactionRejectedByBroker")["tx_id"] == {"tx_hashes": [TRANSACTION]}
    broker.blocks(1)
    data = broker.event("TransactionBroadcastRequest")["transaction_payload"]["data"]
    refund = ETHER - 70_000 * 2_100_000_000
    assert data.endswith(address_on("Ethereum")[1].rjust(32, b"\0") + refund.to_bytes(32, "big"))
    # the mark is used up
    assert "Swapping.SwapRequested" in broker.pay(address, "Eth", ETHER, TRANSACTION)


def test_a_mark_is_for_the_brokers_own_channels_and_for_an_hour(broker: Swapper) -> None:
    address = broker.opened(**request("Eth", "Btc"))["deposit_address"]
    assert broker.submit("Swapping", "register_as_broker", pair=BOB) == "Ok"
    mark = "mark_transaction_for_rejection"
    assert broker.submit("EthereumIngressEgress", mark, pair=BOB, tx_id=TRANSACTION) == "Ok"
    assert "Swapping.SwapRequested" in broker.pay(address, "Eth", ETHER, TRANSACTION)
    with broker.arranging() as runtime:
        runtime.by_name["System"].Number.put(broker.world.header.number)  # type: ignore[attr-defined]
        pallet = runtime.pallet(INGRESS_EGRESS["Ethereum"])
        (expires_at,) = pallet.ReportExpiresAt.keys()
        entries = pallet.ReportExpiresAt.take(expires_at)
        key = (BOB.account, TRANSACTION)
        soon = broker.world.header.number + 1
        pallet.ReportExpiresAt.put(soon, entries)
        pallet.TransactionsMarkedForRejection.put(*key, {"expires_at": soon, "prewitnessed": False})
    broker.world.block()
    assert broker.event("TransactionRejectionRequestExpired") == {
        "account_id": BOB.account,
        "tx_id": TRANSACTION,
    }


def test_it_is_too_late_to_mark_what_has_been_boosted(broker: Swapper) -> None:
    address = boosted_channel(broker)
    broker.announce(address, "Btc", BITCOIN, TRANSACTION)
    mark = broker.submit("BitcoinIngressEgress", "mark_transaction_for_rejection", tx_id=TRANSACTION)
    assert mark == "BitcoinIngressEgress.TransactionAlreadyPrewitnessed"
    marked_before = b"\x78" * 32
    other = broker.opened(**request("Btc", "Eth", boost_fee=10))["deposit_address"]
    assert (
        broker.submit("BitcoinIngressEgress", "mark_transaction_for_rejection", tx_id=marked_before) == "Ok"
    )
    broker.blocks(4)
    assert broker.announce(other, "Btc", BITCOIN, marked_before) == []
    assert broker.pay(other, "Btc", BITCOIN, marked_before) == [
        "BitcoinIngressEgress.DepositFailed",
        "BitcoinIngressEgress.TransactionRejectedByBroker",
    ]


def test_a_broker_closes_a_channel_of_its_own_to_deposits(broker: Swapper) -> None:
    address = broker.opened(**request("Eth", "Btc"))["deposit_address"]
    name = "mark_deposit_channel_for_rejection"
    broker.submit("Swapping", "register_as_broker", pair=BOB)
    refused = broker.submit("EthereumIngressEgress", name, pair=BOB, deposit_address=address[1])
    assert refused == "EthereumIngressEgress.CannotMarkChannel"
    assert broker.submit("EthereumIngressEgress", name, deposit_address=address[1]) == "Ok"
    assert broker.pay(address, "Eth", ETHER)[0] == "EthereumIngressEgress.DepositFailed"


def test_transactions_cannot_be_marked_where_nobody_screens_them(broker: Swapper) -> None:
    transaction = {"block_number": 1, "extrinsic_index": 2}
    refused = broker.submit("AssethubIngressEgress", "mark_transaction_for_rejection", tx_id=transaction)
    assert refused == "AssethubIngressEgress.UnsupportedChain"
