"""Deposits that count before they are final, and deposits that a broker refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets.boost_funding import boost_fees, split
from cfnode.devchain.runtime.pallets.ingress_egress.boost import BOOSTER
from cfnode.devchain.runtime.pallets.ingress_egress.rejection import SCREENING_ID
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from tests.devchain.runtime.broker import address_on, ccm, refund, request
from tests.devchain.runtime.swapper import BITCOIN, ETHER, USDC, Swapper
from tests.devchain.runtime.world import BOB, OLDEST
from tests.support.devchain.rejections import rejected

TRANSACTION = b"\x77" * 32
BTC_INGRESS = 390
FEE = BITCOIN * 5 // 10_000


@pytest.fixture
def broker() -> Swapper:
    """Return a broker on a new chain."""
    return Swapper()


def boosted_channel(broker: Swapper, depth: int = 10 * BITCOIN) -> tuple[str, bytes]:
    """Fund the boost pool of Bitcoin; return the address of a channel with a boost fee."""
    assert broker.dev("set_boost_depth", asset="Btc", amount=depth) == "Ok"
    address: tuple[str, bytes] = broker.opened(**request("Btc", "Eth", boost_fee=10))["deposit_address"]
    return address


def channels(broker: Swapper) -> list[tuple[bytes, Any]]:
    """Return the open Ethereum channels by address."""
    with broker.arranging() as runtime:
        return list(runtime.pallet(INGRESS_EGRESS["Ethereum"]).DepositChannelLookup.items())


def status(broker: Swapper) -> object:
    """Return the boost status of the only Bitcoin channel."""
    channels = broker.world.runtime.composition
    with broker.arranging():
        ((_, channel),) = channels.pallet(INGRESS_EGRESS["Bitcoin"]).DepositChannelLookup.items()
    return channel.boost_status


def test_a_boosted_deposit_is_swapped_at_once_and_paid_back_when_it_is_final(broker: Swapper) -> None:
    """Swap a boosted deposit at once, and pay booster and network back when the deposit is final."""
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
    assert status(broker) == values.BoostStatusBoosted(prewitnessed_deposit_id=1, amount=BITCOIN)

    assert broker.pay(address, "Btc", BITCOIN, TRANSACTION) == [
        "BitcoinIngressEgress.DepositFetchesScheduled",
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
        "BitcoinIngressEgress.DepositFinalised",
    ]
    finalised, network = broker.event("DepositFinalised"), broker.event("SwapRequested")
    assert finalised["ingress_fee"] == 0
    assert finalised["action"] == (
        "BoostersCredited",
        {"prewitnessed_deposit_id": 1, "network_fee_from_boost": FEE // 2, "network_fee_swap_request_id": 2},
    )
    assert (network["request_type"], network["input_amount"]) == ("NetworkFee", FEE // 2)
    assert broker.balance(BOOSTER, "Btc") == 10 * BITCOIN + FEE // 2
    assert status(broker) == "NotBoosted"
    broker.blocks(1)
    assert broker.event("SwapExecuted")["input_amount"] == BITCOIN - FEE - BTC_INGRESS


@pytest.mark.parametrize(
    ("amount", "fee", "for_network"),
    [
        (1_000_000, 500, 250),
        (1_000_999, 500, 250),  # half a unit is dropped
        (1_001_001, 501, 250),  # half of an odd fee too
        (1_002_000, 501, 250),
    ],
)
def test_the_fee_of_a_boost_is_to_the_nearest_unit(amount: int, fee: int, for_network: int) -> None:
    """Round the boost fee to the nearest unit, and the network's half of it down."""
    assert boost_fees(amount) == (fee, for_network)


def test_exactly_the_required_amount_is_enough_to_boost(broker: Swapper) -> None:
    """Boost a deposit that the pool covers to the satoshi, and none twice at a time."""
    address = boosted_channel(broker, depth=BITCOIN - FEE - 1)
    assert broker.announce(address, "Btc", BITCOIN) == ["BitcoinIngressEgress.InsufficientBoostLiquidity"]
    broker.dev("set_boost_depth", asset="Btc", amount=BITCOIN - FEE)
    assert broker.announce(address, "Btc", BITCOIN)[-1] == "BitcoinIngressEgress.DepositBoosted"
    assert broker.balance(BOOSTER, "Btc") == 0
    # A deposit that is boosted already is not boosted again before that has ended.
    broker.dev("set_boost_depth", asset="Btc", amount=10 * BITCOIN)
    assert not any("Boost" in name for name in broker.announce(address, "Btc", BITCOIN))


@pytest.mark.parametrize(("short", "names"), [(1, []), (0, ["BitcoinIngressEgress.DepositBoosted"])])
def test_less_than_the_least_deposit_is_not_boosted(broker: Swapper, short: int, names: list[str]) -> None:
    """Boost no deposit below the minimum: it will never count as one."""
    address = boosted_channel(broker)
    assert broker.announce(address, "Btc", 20_000 - short)[-1:] == names


def forget_channels(broker: Swapper) -> None:
    """Let the time of all Bitcoin channels be over."""
    with broker.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS["Bitcoin"])
        pallet.DepositChannelRecycleBlocks.mutate(lambda queue: [(0, where) for _, where in queue])
    broker.blocks(1)


def test_a_boosted_deposit_that_never_comes_is_lost_to_those_who_paid(broker: Swapper) -> None:
    """Charge a boosted deposit that never arrives to the boosters, once its channel is recycled."""
    address = boosted_channel(broker)
    broker.announce(address, "Btc", BITCOIN)
    forget_channels(broker)
    assert broker.event("BoostedDepositLost") == {"prewitnessed_deposit_id": 1, "amount": BITCOIN}
    assert broker.balance(BOOSTER, "Btc") == 9 * BITCOIN + FEE
    assert "BitcoinIngressEgress.DepositFailed" in broker.pay(address, "Btc", BITCOIN)


# The lending pool's part


def lend(broker: Swapper, amount: int) -> None:
    """Fund the lending pool of Bitcoin."""
    assert broker.dev("set_lending_depth", asset="Btc", amount=amount) == "Ok"


def lending_pool(broker: Swapper) -> tuple[int, int]:
    """Return the amount that the pool owns, and the available part of it."""
    (pool,) = broker.world.api("CustomRuntimeApi_cf_lending_pools", "Btc")
    return pool["total_amount"], pool["available_amount"]


def test_a_boost_is_divided_by_the_pools_balances_and_each_is_paid_back(broker: Swapper) -> None:
    """Split a boost between lending and boost pool by their balances, and repay each its part."""
    address = boosted_channel(broker, depth=BITCOIN)
    lend(broker, 3 * BITCOIN)
    assert broker.announce(address, "Btc", BITCOIN, TRANSACTION) == [
        "LendingPools.LoanCreated",
        "LendingPools.OriginationFeeTaken",
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
        "BitcoinIngressEgress.DepositBoosted",
    ]
    principal, fee = (BITCOIN - FEE) * 3 // 4, FEE * 3 // 4
    assert broker.event("LoanCreated") == {
        "loan_id": 0,
        "asset": "Btc",
        "loan_type": ("Boost", 1),
        "principal_amount": principal,
        "broker": None,
    }
    taken = {"loan_id": 0, "pool_fee": fee // 2, "network_fee": fee // 2}
    assert broker.event("OriginationFeeTaken") == taken
    boosted = broker.event("DepositBoosted")
    assert boosted["amounts"] == [("LendingPool", BITCOIN * 3 // 4), ("BoostPool", BITCOIN // 4)]
    assert boosted["boost_fee"] == [("LendingPool", fee), ("BoostPool", FEE // 4)]
    assert broker.event("SwapScheduled")["input_amount"] == BITCOIN - FEE - BTC_INGRESS
    assert lending_pool(broker) == (3 * BITCOIN + fee // 2, 3 * BITCOIN - principal - fee // 2)
    (loan,) = broker.world.api("CustomRuntimeApi_cf_all_loans")
    assert (loan["loan_type"], loan["principal_amount"]) == (("Boost", 1), principal + fee)
    ((_, details),) = broker.world.api("CustomRuntimeApi_cf_boost_pool_details", "Btc")
    half = FEE // 4 // 2
    owed = {"total": BITCOIN // 4 - half, "fee": half}
    assert details["pending_boosts"] == [(1, [(BOOSTER, owed)])]

    assert broker.pay(address, "Btc", BITCOIN, TRANSACTION) == [
        "BitcoinIngressEgress.DepositFetchesScheduled",
        "LendingPools.LoanRepaid",
        "LendingPools.LoanSettled",
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
        "BitcoinIngressEgress.DepositFinalised",
    ]
    repaid = {"loan_id": 0, "amount": principal + fee, "action_type": "BoostFinalisation"}
    assert broker.event("LoanRepaid") == repaid
    settled = {"loan_id": 0, "outstanding_principal": 0, "via_liquidation": False}
    assert broker.event("LoanSettled") == settled
    credited = broker.event("DepositFinalised")["action"][1]
    assert credited["network_fee_from_boost"] == half
    assert lending_pool(broker) == (3 * BITCOIN + fee // 2,) * 2
    assert broker.balance(BOOSTER, "Btc") == BITCOIN + FEE // 4 - half
    assert broker.world.api("CustomRuntimeApi_cf_all_loans") == []


def test_the_networks_part_of_a_loans_fee_is_swapped_when_it_is_worth_enough(broker: Swapper) -> None:
    """Swap the network's part of a loan's fee once it is worth twenty dollars, at the oracle's price."""
    address = boosted_channel(broker, depth=0)
    lend(broker, 3 * BITCOIN)
    broker.announce(address, "Btc", BITCOIN)
    assert broker.world.stored("LendingPools", "PendingNetworkFees", "Btc") == FEE // 2
    for price, swapped in ((79_999, []), (80_000, [{"swap_request_id": 2}])):  # of 25,000 satoshi: $20
        assert broker.dev("read_oracle", feed="Btc", price=price * 10**6, is_stale=False) == "Ok"
        broker.blocks(-broker.world.header.number % 10 or 10)
        assert broker.all_of("LendingNetworkFeeSwapInitiated") == swapped
    (request,) = broker.all_of("SwapRequested")
    assert (request["request_type"], request["input_amount"]) == ("NetworkFee", FEE // 2)
    assert broker.world.stored("LendingPools", "PendingNetworkFees", "Btc") == 0


@pytest.mark.parametrize(
    ("lending", "boost", "paid"),
    [
        (BITCOIN, 10 * BITCOIN, 29_985_000),  # at least 30 percent
        (10_000_000, 10 * BITCOIN, 9_997_499),  # less the room for its part of the network's fee
        (BITCOIN - FEE + FEE // 2, 0, BITCOIN - FEE),
        (BITCOIN - FEE + FEE // 2 - 1, 0, None),  # the network's fee comes from the pool, too
        (BITCOIN - FEE, 1_000_000, 98_959_895),
        (0, BITCOIN - FEE, 0),
        (0, BITCOIN - FEE - 1, None),
    ],
)
def test_the_part_that_the_lending_pool_pays(lending: int, boost: int, paid: int | None) -> None:
    """Compute what the lending pool pays of a boost; amounts and fees of both parts add up to the deposit."""
    divided = split(BITCOIN, lending, boost)
    assert (None if divided is None else divided.lending) == paid
    if divided is not None:
        assert divided.lending + divided.boost == BITCOIN - FEE
        assert divided.lending_fee + divided.boost_fee == FEE
        assert sum(amount for _, amount in divided.amounts) == BITCOIN


def test_a_loan_for_a_deposit_that_never_comes_is_written_off(broker: Swapper) -> None:
    """Write off a loan for a deposit that never arrives: the lending pool loses that amount."""
    address = boosted_channel(broker, depth=0)
    lend(broker, 3 * BITCOIN)
    broker.announce(address, "Btc", BITCOIN)
    total, available = lending_pool(broker)
    forget_channels(broker)
    assert broker.event("LoanSettled")["outstanding_principal"] == BITCOIN
    assert broker.event("BoostedDepositLost") == {"prewitnessed_deposit_id": 1, "amount": BITCOIN}
    assert lending_pool(broker) == (total - BITCOIN, available)


def test_without_enough_put_up_the_deposit_waits_for_its_confirmation(broker: Swapper) -> None:
    """Leave a deposit unboosted where the pool does not cover it; it is swapped once it is final."""
    address = boosted_channel(broker, depth=BITCOIN // 2)
    assert broker.announce(address, "Btc", BITCOIN) == ["BitcoinIngressEgress.InsufficientBoostLiquidity"]
    assert broker.event("InsufficientBoostLiquidity")["amount_attempted"] == BITCOIN
    assert "Swapping.SwapRequested" in broker.pay(address, "Btc", BITCOIN)


def test_another_amount_than_the_boosted_one_is_a_deposit_of_its_own(broker: Swapper) -> None:
    """Swap a final deposit of another amount as one of its own, and leave the boosted one pending."""
    address = boosted_channel(broker)
    broker.announce(address, "Btc", BITCOIN)
    assert "Swapping.SwapRequested" in broker.pay(address, "Btc", 2 * BITCOIN)
    assert status(broker) == values.BoostStatusBoosted(prewitnessed_deposit_id=1, amount=BITCOIN)


def test_a_channel_without_a_boost_fee_is_not_boosted(broker: Swapper) -> None:
    """Boost nothing on a channel that allows no boost fee."""
    broker.dev("set_boost_depth", asset="Btc", amount=10 * BITCOIN)
    address = broker.opened(**request("Btc", "Eth"))["deposit_address"]
    assert broker.announce(address, "Btc", BITCOIN) == []
    assert status(broker) == "NotBoosted"


def test_a_fee_below_the_tier_is_not_enough(broker: Swapper) -> None:
    """Boost nothing where the channel allows less than the pool's fee tier."""
    broker.dev("set_boost_depth", asset="Btc", amount=10 * BITCOIN)
    address = broker.opened(**request("Btc", "Eth", boost_fee=4))["deposit_address"]
    assert broker.announce(address, "Btc", BITCOIN) == ["BitcoinIngressEgress.InsufficientBoostLiquidity"]


# Boosting later


def delayed(broker: Swapper, blocks: int = 3) -> tuple[str, bytes]:
    """Return a boosted channel of a chain that waits so many blocks before it boosts."""
    update = ("SetBoostDelayBitcoin", {"delay_blocks": blocks})
    governed = ("BitcoinIngressEgress", ("update_pallet_config", {"updates": [update]}))
    assert broker.dev("as_governance", call=governed) == "Ok"
    return boosted_channel(broker)


def test_a_deposit_waits_for_its_boost_as_long_as_governance_wants(broker: Swapper) -> None:
    """Boost a deposit after the delay that governance set, once, and pay the boosters back as ever."""
    address = delayed(broker)
    assert broker.announce(address, "Btc", BITCOIN, TRANSACTION) == []
    due = broker.world.header.number + 3
    assert status(broker) == values.BoostStatusBoostPending(amount=BITCOIN, process_at_block=due)
    ((place, waiting),) = [
        (deposit["boost_status_lookup"], deposit["deposit"])
        for deposit in broker.world.stored("BitcoinIngressEgress", "PendingPrewitnessedDeposits", due)
    ]
    assert place[0] == "Channel"
    assert place[1] == {"deposit_address": waiting["deposit_address"]}
    assert (waiting["amount"], waiting["boost_fee"], waiting["origin"][0]) == (BITCOIN, 10, "DepositChannel")
    broker.announce(address, "Btc", 2 * BITCOIN)  # one waits already
    broker.blocks(2)
    boosted = broker.event("DepositBoosted")
    assert broker.world.header.number == due
    assert (boosted["amounts"], boosted["prewitnessed_deposit_id"]) == ([("BoostPool", BITCOIN)], 1)
    assert broker.event("SwapScheduled")["input_amount"] == BITCOIN - FEE - BTC_INGRESS
    assert broker.event("SwapRequested")["origin"][1]["deposit_address"] == address
    assert "BitcoinIngressEgress.DepositFinalised" in broker.pay(address, "Btc", BITCOIN, TRANSACTION)
    assert broker.event("DepositFinalised")["action"][0] == "BoostersCredited"


def test_a_boost_that_waits_for_ever_stops_no_block(broker: Swapper) -> None:
    """Accept a boost delay of 2^32 - 1 blocks: a block number that overflows would stop the chain."""
    address = delayed(broker, 2**32 - 1)
    broker.announce(address, "Btc", BITCOIN, TRANSACTION)
    assert status(broker) == values.BoostStatusBoostPending(amount=BITCOIN, process_at_block=2**32 - 1)
    assert "BitcoinIngressEgress.DepositFinalised" in broker.pay(address, "Btc", BITCOIN, TRANSACTION)
    assert status(broker) == "NotBoosted"


def test_a_deposit_that_is_final_before_its_boost_is_not_boosted_any_more(broker: Swapper) -> None:
    """Boost nothing that became final during the delay: the pool's funds stay untouched."""
    address = delayed(broker)
    broker.announce(address, "Btc", BITCOIN, TRANSACTION)
    broker.pay(address, "Btc", BITCOIN, TRANSACTION)
    assert broker.event("DepositFinalised")["action"][0] == "Swap"
    assert status(broker) == "NotBoosted"
    for _ in range(3):
        broker.blocks(1)
        assert broker.all_of("DepositBoosted") == []
    assert broker.balance(BOOSTER, "Btc") == 10 * BITCOIN


def test_another_deposit_that_is_final_leaves_the_boost_that_waits(broker: Swapper) -> None:
    """Keep a pending boost when another deposit of the channel becomes final."""
    address = delayed(broker)
    broker.announce(address, "Btc", BITCOIN)
    broker.pay(address, "Btc", 2 * BITCOIN)
    assert broker.event("DepositFinalised")["action"][0] == "Swap"
    assert isinstance(status(broker), values.BoostStatusBoostPending)
    broker.blocks(2)
    assert broker.event("DepositBoosted")["amounts"] == [("BoostPool", BITCOIN)]


def test_a_mark_is_in_time_as_long_as_the_boost_waits(broker: Swapper) -> None:
    """Accept a broker's mark until the boost happens: the deposit is neither boosted nor swapped."""
    address = delayed(broker)
    broker.announce(address, "Btc", BITCOIN, TRANSACTION)
    mark = "mark_transaction_for_rejection"
    assert broker.submit("BitcoinIngressEgress", mark, tx_id=TRANSACTION) == "Ok"
    broker.blocks(2)
    assert broker.all_of("DepositBoosted") == []
    assert status(broker) == "NotBoosted"
    assert broker.pay(address, "Btc", BITCOIN, TRANSACTION)[0] == "BitcoinIngressEgress.DepositFailed"


def test_a_channel_that_is_gone_is_not_boosted(broker: Swapper) -> None:
    """Skip a pending boost whose channel no longer exists."""
    address = delayed(broker)
    broker.announce(address, "Btc", BITCOIN)
    with broker.arranging() as runtime:
        lookup = runtime.pallet(INGRESS_EGRESS["Bitcoin"]).DepositChannelLookup
        ((script, _),) = lookup.items()
        lookup.remove(script)
    for _ in range(3):
        broker.blocks(1)
        assert broker.all_of("DepositBoosted") == []


# Rejection


def marks_due(broker: Swapper, chain: str) -> list[int]:
    """Return the blocks in which marks are looked at."""
    with broker.arranging() as runtime:
        return list(runtime.pallet(INGRESS_EGRESS[chain]).ReportExpiresAt.keys())


def due_now(broker: Swapper, chain: str, owner: bytes | None) -> None:
    """Have the only entry looked at in the next block; the mark of an owner expires then, too."""
    soon = broker.world.header.number + 1
    with broker.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS[chain])
        (later,) = pallet.ReportExpiresAt.keys()
        pallet.ReportExpiresAt.put(soon, pallet.ReportExpiresAt.take(later))
        if owner is not None:
            marks = pallet.TransactionsMarkedForRejection
            mark = marks.known(owner, TRANSACTION)
            marks.put(owner, TRANSACTION, replace(mark, expires_at=soon))


def test_a_marked_transaction_is_sent_back(broker: Swapper) -> None:
    """Refund a marked transaction less the fees of both ways, and use up the mark."""
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
    refund = ETHER - (50_000 + 70_000) * 2_100_000_000  # both ways
    assert data.endswith(address_on("Ethereum")[1].rjust(32, b"\0") + refund.to_bytes(32, "big"))
    # the mark is used up
    assert "Swapping.SwapRequested" in broker.pay(address, "Eth", ETHER, TRANSACTION)


def test_a_mark_that_was_used_counts_until_the_next_block_and_is_not_renewed_meanwhile(
    broker: Swapper,
) -> None:
    """Keep a used mark until the next block; marking again in that block does not renew it."""
    address = broker.opened(**request("Eth", "Btc"))["deposit_address"]
    held = ("EthereumIngressEgress", "TransactionsMarkedForRejection", broker.account, TRANSACTION)
    mark = "mark_transaction_for_rejection"
    assert broker.submit("EthereumIngressEgress", mark, tx_id=TRANSACTION) == "Ok"
    (first,) = marks_due(broker, "Ethereum")
    assert broker.pay(address, "Eth", ETHER, TRANSACTION)[0] == "EthereumIngressEgress.DepositFailed"
    assert broker.world.stored(*held) == {"expires_at": 0, "prewitnessed": False}
    assert sorted(marks_due(broker, "Ethereum")) == [broker.world.header.number + 1, first]
    assert broker.submit("EthereumIngressEgress", mark, tx_id=TRANSACTION) == "Ok"
    assert broker.world.stored(*held) is None
    assert broker.all_of("TransactionRejectionRequestExpired") == []
    assert marks_due(broker, "Ethereum") == [first], "the entry of a mark that is gone does nothing"
    assert "Swapping.SwapRequested" in broker.pay(address, "Eth", ETHER, TRANSACTION)


def test_brokers_that_screen_mark_in_one_name_and_for_all(broker: Swapper) -> None:
    """Store the marks of screening brokers under one account, valid for the channels of every broker."""
    address = broker.opened(**request("Eth", "Btc"))["deposit_address"]
    assert broker.submit("Swapping", "register_as_broker", pair=BOB) == "Ok"
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Ethereum"]).WhitelistedBrokers.put(BOB.account, ())
    mark = "mark_transaction_for_rejection"
    assert broker.submit("EthereumIngressEgress", mark, pair=BOB, tx_id=TRANSACTION) == "Ok"
    assert broker.event("TransactionRejectionRequestReceived")["account_id"] == BOB.account
    held = ("EthereumIngressEgress", "TransactionsMarkedForRejection")
    assert broker.world.stored(*held, SCREENING_ID, TRANSACTION) is not None
    assert broker.world.stored(*held, BOB.account, TRANSACTION) is None
    assert broker.pay(address, "Eth", ETHER, TRANSACTION)[0] == "EthereumIngressEgress.DepositFailed"
    name = "mark_deposit_channel_for_rejection"
    other = broker.opened(**request("Eth", "Btc"))["deposit_address"]
    assert broker.submit("EthereumIngressEgress", name, pair=BOB, deposit_address=other[1]) == "Ok"


def test_a_mark_is_for_the_brokers_own_channels_and_for_an_hour(broker: Swapper) -> None:
    """Apply a mark to channels of its own broker only, and expire it after an hour."""
    address = broker.opened(**request("Eth", "Btc"))["deposit_address"]
    assert broker.submit("Swapping", "register_as_broker", pair=BOB) == "Ok"
    mark = "mark_transaction_for_rejection"
    assert broker.submit("EthereumIngressEgress", mark, pair=BOB, tx_id=TRANSACTION) == "Ok"
    assert "Swapping.SwapRequested" in broker.pay(address, "Eth", ETHER, TRANSACTION)
    due_now(broker, "Ethereum", BOB.account)
    broker.world.block()
    assert broker.event("TransactionRejectionRequestExpired") == {
        "account_id": BOB.account,
        "tx_id": TRANSACTION,
    }


def test_a_mark_does_nothing_to_a_boosted_deposit(broker: Swapper) -> None:
    """Ignore a mark that comes after the boost: the deposit has been swapped already."""
    address = boosted_channel(broker)
    broker.announce(address, "Btc", BITCOIN, TRANSACTION)
    mark, channel = "mark_transaction_for_rejection", "mark_deposit_channel_for_rejection"
    assert broker.submit("BitcoinIngressEgress", mark, tx_id=TRANSACTION) == "Ok"
    with broker.arranging() as runtime:
        ((script, _),) = runtime.pallet(INGRESS_EGRESS["Bitcoin"]).DepositChannelLookup.items()
    refused = broker.submit("BitcoinIngressEgress", channel, deposit_address=script)
    assert refused == "BitcoinIngressEgress.TransactionAlreadyPrewitnessed"
    assert "BitcoinIngressEgress.DepositFinalised" in broker.pay(address, "Btc", BITCOIN, TRANSACTION)


def test_a_mark_in_time_keeps_a_deposit_from_being_boosted_and_then_waits_for_it(broker: Swapper) -> None:
    """Prevent a boost by a mark in time, and keep that mark until the deposit comes."""
    address, mark = boosted_channel(broker), "mark_transaction_for_rejection"
    assert broker.submit("BitcoinIngressEgress", mark, tx_id=TRANSACTION) == "Ok"
    assert broker.announce(address, "Btc", BITCOIN, TRANSACTION) == []
    again = broker.submit("BitcoinIngressEgress", mark, tx_id=TRANSACTION)
    assert again == "BitcoinIngressEgress.TransactionAlreadyPrewitnessed"
    due_now(broker, "Bitcoin", broker.account)
    broker.world.block()
    assert broker.all_of("TransactionRejectionRequestExpired") == []
    assert broker.pay(address, "Btc", BITCOIN, TRANSACTION) == [
        "BitcoinIngressEgress.DepositFailed",
        "BitcoinIngressEgress.TransactionRejectedByBroker",
    ]


def test_a_mark_that_was_renewed_lasts_an_hour_from_then(broker: Swapper) -> None:
    """Count the hour of a renewed mark from its renewal."""
    mark = "mark_transaction_for_rejection"
    for _ in range(2):
        assert broker.submit("EthereumIngressEgress", mark, tx_id=TRANSACTION) == "Ok"
    (first,) = marks_due(broker, "Ethereum")
    due_now(broker, "Ethereum", None)
    broker.world.block()
    assert broker.all_of("TransactionRejectionRequestExpired") == []
    assert marks_due(broker, "Ethereum") == [first + 1]


def test_a_broker_closes_a_channel_of_its_own_to_deposits(broker: Swapper) -> None:
    """Let a broker close a channel of its own to deposits, and no other broker's."""
    address = broker.opened(**request("Eth", "Btc"))["deposit_address"]
    name = "mark_deposit_channel_for_rejection"
    broker.submit("Swapping", "register_as_broker", pair=BOB)
    refused = broker.submit("EthereumIngressEgress", name, pair=BOB, deposit_address=address[1])
    assert refused == "EthereumIngressEgress.CannotMarkChannel"
    assert broker.submit("EthereumIngressEgress", name, deposit_address=address[1]) == "Ok"
    assert broker.pay(address, "Eth", ETHER)[0] == "EthereumIngressEgress.DepositFailed"


@pytest.mark.parametrize("amount", [ETHER, 1])
def test_a_rejected_deposit_goes_back_however_little_is_left_of_it_in_2_2(amount: int) -> None:
    """Refund a rejected deposit of 2.2 even where fees leave nothing of it: no dust limit holds there."""
    broker = Swapper(config=OLDEST)
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Ethereum"]).EgressDustLimit.put("Eth", ETHER)
        runtime.pallet(INGRESS_EGRESS["Ethereum"]).MinimumDeposit.put("Eth", 0)
    assert rejected(broker, "Eth", amount) == [
        "EthereumIngressEgress.DepositFailed",
        "EvmThresholdSigner.ThresholdSignatureRequest",
        "EthereumIngressEgress.TransactionRejectedByBroker",
    ]
    broker.blocks(1)
    data = broker.event("TransactionBroadcastRequest")["transaction_payload"]["data"]
    fees = 120_000 * 2_100_000_000
    assert data.endswith(
        address_on("Ethereum")[1].rjust(32, b"\0") + max(0, amount - fees).to_bytes(32, "big")
    )
    assert broker.world.stored("AssetBalances", "WithheldAssets", "Eth") == min(amount, fees)


def test_a_rejected_token_pays_both_ways_by_swaps_and_deploys_its_contract(broker: Swapper) -> None:
    """Swap the fees of a rejected token for gas, and deploy the deposit contract with the fetch."""
    assert rejected(broker, "Usdc", 1_000 * USDC) == [
        "EthereumIngressEgress.DepositFailed",
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
        "EvmThresholdSigner.ThresholdSignatureRequest",
        "EthereumIngressEgress.TransactionRejectedByBroker",
    ]
    broadcast_id = broker.event("TransactionRejectedByBroker")["broadcast_id"]
    action = broker.world.stored("EthereumIngressEgress", "BroadcastActions", broadcast_id)
    ((address, channel),) = channels(broker)
    assert action == ("FinaliseFetch", [address])
    assert channel.deposit_channel.state == "Pending"
    broker.blocks(2)
    ((_, channel),) = channels(broker)
    assert isinstance(channel.deposit_channel.state, values.DeploymentStatusDeployed)


def test_a_second_rejected_deposit_waits_until_the_contract_is_there(broker: Swapper) -> None:
    """Delay a second rejection until the deposit contract is deployed: it could not be fetched before."""
    rejected(broker, "Usdc", 1_000 * USDC)
    ((address, _),) = channels(broker)
    assert broker.pay(("Eth", address), "Usdc", 500 * USDC)[0] == "EthereumIngressEgress.DepositFailed"
    assert broker.all_of("TransactionRejectedByBroker") == []
    broker.blocks(1)
    assert len(broker.all_of("TransactionRejectedByBroker")) == 1
    assert broker.world.stored("EthereumIngressEgress", "ScheduledTransactionsForRejection") == []


def test_a_refund_with_a_message_fetches_first_and_then_calls(broker: Swapper) -> None:
    """Fetch in one transaction and call the refund address in a second where the refund has a message."""
    limits = refund("Ethereum", refund_ccm_metadata=ccm(b"back"))
    names = rejected(broker, "Eth", ETHER, refund_parameters=limits)
    assert names.count("EvmThresholdSigner.ThresholdSignatureRequest") == 2
    assert broker.event("TransactionRejectedByBroker")["broadcast_id"] == 2
    broker.blocks(1)
    first, second = (event["transaction_payload"] for event in broker.all_of("TransactionBroadcastRequest"))
    assert (first["data"][:4].hex(), second["data"][:4].hex()) == ("5f8c0f9a", "5293178e")
    assert second["gas_limit"] == 100_000 + 90_000 + 4
    ways = (50_000 + 100_000 + 90_000 + 4) * 2_100_000_000
    assert (ETHER - ways).to_bytes(32, "big") in second["data"]


def test_transactions_of_polkadot_chains_cannot_be_marked(broker: Swapper) -> None:
    """Refuse marks on AssetHub: its transactions cannot be rejected."""
    transaction = {"block_number": 1, "extrinsic_index": 2}
    refused = broker.submit("AssethubIngressEgress", "mark_transaction_for_rejection", tx_id=transaction)
    assert refused == "AssethubIngressEgress.UnsupportedChain"
    mark = "mark_deposit_channel_for_rejection"
    refused = broker.submit("AssethubIngressEgress", mark, deposit_address=bytes(32))
    assert refused == "AssethubIngressEgress.UnsupportedChain"
