"""A swap's life from the deposit to what is sent: events in order, amounts to the last unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.devchain.runtime.pallets.witnesses import Witnesses
from tests.devchain.runtime.broker import address_on, ccm, refund, request
from tests.devchain.runtime.swapper import BITCOIN, ETHER, USDC, Swapper
from tests.devchain.runtime.world import BOB
from tests.support.devchain.swaps import SwapsOnly

GWEI = 10**9
ETH_INGRESS = 50_000 * 2_100_000_000
ETH_EGRESS = 70_000 * 2_100_000_000
BTC_EGRESS = 880
IMPOSSIBLE = 2**200  # more of the output for one unit of the input than there is


@pytest.fixture
def broker() -> Swapper:
    """Return a broker whose block events leave out those of transport."""
    return SwapsOnly()


def part(millionths: int, amount: int) -> int:
    """Return a share to the nearest unit, halves down."""
    whole, remainder = divmod(millionths * amount, 10**6)
    return whole + (remainder > 500_000)


def error_of(broker: Swapper, pallet: str, name: str) -> Any:
    """Return an error of a pallet as an event has it."""
    runtime = broker.world.runtime.composition
    error = getattr(runtime.by_name[pallet].Error, name)
    return "Module", {
        "index": runtime.by_name[pallet].index,
        "error": bytes([runtime.by_name[pallet].declarations.errors[error], 0, 0, 0]),
    }


def test_a_deposit_becomes_a_swap_after_its_fee(broker: Swapper) -> None:
    """Schedule a swap of a deposit less its ingress fee, two blocks later."""
    opened = broker.opened(**request("Eth", "Btc"))
    assert broker.pay(opened["deposit_address"], "Eth", ETHER) == [
        "EthereumIngressEgress.DepositFetchesScheduled",
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
        "EthereumIngressEgress.DepositFinalised",
    ]
    requested, finalised = broker.event("SwapRequested"), broker.event("DepositFinalised")
    now = broker.world.header.number
    assert requested["input_amount"] == ETHER - ETH_INGRESS
    assert requested["origin"] == (
        "DepositChannel",
        {
            "deposit_address": opened["deposit_address"],
            "channel_id": 1,
            "deposit_block_height": finalised["block_height"],
            "broker_id": broker.account,
        },
    )
    assert requested["broker_fees"] == [{"account": broker.account, "bps": 10}]
    assert broker.event("SwapScheduled") == {
        "swap_request_id": 1,
        "swap_id": 1,
        "input_amount": ETHER - ETH_INGRESS,
        "swap_type": "Swap",
        "execute_at": now + 2,
    }
    assert (finalised["amount"], finalised["ingress_fee"]) == (ETHER, ETH_INGRESS)
    assert finalised["action"] == ("Swap", {"swap_request_id": 1})
    assert broker.world.stored("AssetBalances", "WithheldAssets", "Eth") == ETH_INGRESS


def test_a_swap_goes_through_usdc_and_pays_everybody(broker: Swapper) -> None:
    """Swap through USDC, and pay network and broker from there before the second leg."""
    broker.deposit("Eth", "Btc", ETHER)
    ether, bitcoin = broker.pool("Eth"), broker.pool("Btc")
    assert broker.blocks(1) == [[]]
    assert broker.blocks(1)[0][:6] == [
        "LiquidityPools.AssetSwapped",
        "AssetBalances.AccountCredited",
        "LiquidityPools.AssetSwapped",
        "Swapping.SwapExecuted",
        "Swapping.SwapEgressScheduled",
        "Swapping.SwapRequestCompleted",
    ]
    gross = ether.swap("base", ETHER - ETH_INGRESS).output
    network_fee = part(1_000, gross)
    broker_fee = part(1_000, gross - network_fee)  # 10 basis points
    net = gross - network_fee - broker_fee
    output = bitcoin.swap("quote", net).output
    assert broker.event("SwapExecuted") == {
        "swap_request_id": 1,
        "swap_id": 1,
        "input_asset": "Eth",
        "output_asset": "Btc",
        "input_amount": ETHER - ETH_INGRESS,
        "network_fee": network_fee,
        "broker_fee": broker_fee,
        "intermediate_amount": net,
        "output_amount": output,
        "oracle_delta": None,
        "oracle_delta_ex_fees": None,
    }
    assert broker.event("SwapEgressScheduled") == {
        "swap_request_id": 1,
        "egress_id": ("Bitcoin", 1),
        "asset": "Btc",
        "amount": output - BTC_EGRESS,
        "egress_fee": (BTC_EGRESS, "Btc"),
    }
    assert broker.event("SwapRequestCompleted") == {"swap_request_id": 1, "reason": "Executed"}
    assert broker.balance(broker.account) == broker_fee
    assert broker.world.stored("Swapping", "CollectedNetworkFee") == network_fee
    assert broker.world.stored("Swapping", "SwapRequests", 1) is None


def test_a_token_pays_for_its_transport_by_a_swap_of_its_own(broker: Swapper) -> None:
    """Swap a token's ingress fee for gas in a swap of its own, without a broker fee or minimum."""
    assert broker.deposit("Usdc", "Flip", 1_000 * USDC) == [
        "EthereumIngressEgress.DepositFetchesScheduled",
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
        "Swapping.SwapRequested",
        "Swapping.SwapScheduled",
        "EthereumIngressEgress.DepositFinalised",
    ]
    fee, user = broker.all_of("SwapRequested")
    assert (fee["request_type"], fee["origin"], fee["output_asset"]) == (
        "IngressEgressFee",
        "Internal",
        "Eth",
    )
    assert fee["input_amount"] + user["input_amount"] == 1_000 * USDC
    withheld = broker.world.stored("AssetBalances", "WithheldAssets", "Eth")
    broker.blocks(2)
    executed = {event["swap_id"]: event for event in broker.all_of("SwapExecuted")}
    # The rate, but no least fee; and no broker has a part in it.
    assert executed[1]["network_fee"] == part(1_000, fee["input_amount"]) < 500_000
    assert executed[1]["broker_fee"] == 0
    assert broker.world.stored("AssetBalances", "WithheldAssets", "Eth") == (
        withheld + executed[1]["output_amount"]
    )
    network_fee = part(1_000, user["input_amount"])
    broker_fee = part(1_000, user["input_amount"] - network_fee)
    assert executed[2]["input_amount"] == user["input_amount"] - network_fee - broker_fee
    assert (executed[2]["network_fee"], executed[2]["intermediate_amount"]) == (network_fee, None)


def test_a_small_swap_pays_the_least_network_fee(broker: Swapper) -> None:
    """Charge the minimum network fee to a small swap."""
    broker.deposit("Usdc", "ArbUsdc", 100 * USDC)
    broker.blocks(2)
    (executed,) = [event for event in broker.all_of("SwapExecuted") if event["output_asset"] == "ArbUsdc"]
    assert executed["network_fee"] == 500_000


def test_swaps_of_a_block_share_one_price(broker: Swapper) -> None:
    """Execute the swaps of a block and direction together, at one price for all."""
    channels = [broker.opened(**request("Eth", "Usdc"))["deposit_address"] for _ in range(2)]
    with broker.arranging() as runtime:
        runtime.pallet(Witnesses).see_deposit(channels[0], "Eth", 10 * ETHER, None)
    broker.pay(channels[1], "Eth", 30 * ETHER)
    pool = broker.pool("Eth")
    broker.blocks(2)
    inputs = [10 * ETHER - ETH_INGRESS, 30 * ETHER - ETH_INGRESS]
    gross = pool.swap("base", sum(inputs)).output
    assert broker.event("AssetSwapped") == {
        "from": "Eth",
        "to": "Usdc",
        "input_amount": sum(inputs),
        "output_amount": gross,
    }
    for executed, amount in zip(broker.all_of("SwapExecuted"), inputs, strict=True):
        fees = executed["network_fee"] + executed["broker_fee"]
        assert executed["output_amount"] + fees == gross * amount // sum(inputs)


def test_affiliates_earn_their_part_and_withdraw_it(broker: Swapper) -> None:
    """Credit affiliates their part of the commission, which they withdraw to their own address."""
    assert broker.swapping("register_affiliate", withdrawal_address=b"\x11" * 20) == "Ok"
    affiliate = broker.event("AffiliateRegistration")["affiliate_id"]
    broker.deposit("Eth", "Btc", ETHER, affiliate_fees=[{"account": affiliate, "bps": 25}])
    broker.blocks(2)
    executed = broker.event("SwapExecuted")
    after_network = executed["intermediate_amount"] + executed["broker_fee"]
    earned = part(2_500, after_network)
    assert [broker.balance(who) for who in (broker.account, affiliate)] == [
        part(1_000, after_network),
        earned,
    ]
    assert broker.swapping("affiliate_withdrawal_request", affiliate_account_id=affiliate) == "Ok"
    opened = broker.event("WithdrawalRequested")
    assert (opened["account_id"], opened["destination_address"]) == (affiliate, ("Eth", b"\x11" * 20))
    assert opened["egress_amount"] + opened["egress_fee"] == earned
    assert broker.balance(affiliate) == 0


# What goes wrong with a deposit


def test_too_small_a_deposit_is_kept_and_the_channel_stays(broker: Swapper) -> None:
    """Keep a deposit below the minimum, and the channel open for the next one."""
    opened = broker.opened(**request("Eth", "Btc"))
    assert broker.pay(opened["deposit_address"], "Eth", 4 * 10**15 - 1) == [
        "EthereumIngressEgress.DepositFailed"
    ]
    failed = broker.event("DepositFailed")
    assert failed["reason"] == "BelowMinimumDeposit"
    name, details = failed["details"]
    assert name == "DepositFailedDepositChannelVariantEthereum"
    assert details["deposit_witness"]["amount"] == 4 * 10**15 - 1
    assert broker.pay(opened["deposit_address"], "Eth", 4 * 10**15)[-1].endswith("DepositFinalised")


def test_another_asset_of_the_chain_is_swapped_as_that_asset(broker: Swapper) -> None:
    """Swap another asset of the channel's chain as the asset that it is."""
    opened = broker.opened(**request("Eth", "Btc"))
    broker.pay(opened["deposit_address"], "Usdc", 500 * USDC)
    assert broker.event("DepositFinalised")["asset"] == "Usdc"
    assert broker.all_of("SwapRequested")[1]["input_asset"] == "Usdc"


def test_a_deposit_of_an_asset_of_another_chain_is_refused(broker: Swapper) -> None:
    """Refuse to witness a deposit of an asset of another chain."""
    opened = broker.opened(**request("Eth", "Btc"))
    arguments = {"deposit_address": opened["deposit_address"], "amount": 1, "transaction": None}
    assert broker.dev("witness_deposit", asset="Sol", **arguments) == "Dev.WrongChain"


def test_a_deposit_at_an_unknown_address_is_an_error(broker: Swapper) -> None:
    """Fail a deposit to an unknown address with the runtime's error in the event."""
    assert broker.pay(("Eth", b"\x99" * 20), "Eth", ETHER) == ["EthereumIngressEgress.DepositFailed"]
    reason = error_of(broker, "EthereumIngressEgress", "InvalidDepositAddress")
    assert broker.event("DepositFailed")["reason"] == ("DepositWitnessRejected", reason)


def test_a_deposit_after_the_channels_time_is_not_noticed(broker: Swapper) -> None:
    """Refuse to witness a deposit after its channel expired: no event may follow."""
    opened = broker.opened(**request("Eth", "Btc"))
    address = opened["deposit_address"]
    with broker.arranging() as runtime:
        lookup = runtime.pallet(INGRESS_EGRESS["Ethereum"]).DepositChannelLookup
        channel = lookup.known(address[1])
        lookup.put(address[1], replace(channel, expires_at=channel.opened_at - 2))
    arguments = {"deposit_address": address, "asset": "Eth", "amount": ETHER, "transaction": None}
    assert broker.dev("witness_deposit", **arguments) == "Dev.ChannelExpired"
    assert broker.happened() == []


def test_a_deposit_while_witnessing_is_disabled_is_witnessed_later(broker: Swapper) -> None:
    """Witness a deposit later that came while safe mode disabled witnessing, and other chains at once."""
    ours, other = (broker.opened(**request(asset, "Usdc"))["deposit_address"] for asset in ("Eth", "Btc"))
    watch(broker, "ingress_egress_ethereum", on=False)
    assert broker.pay(ours, "Eth", ETHER) == []
    assert "BitcoinIngressEgress.DepositFinalised" in broker.pay(other, "Btc", BITCOIN)
    watch(broker, "ingress_egress_ethereum", on=True)
    broker.blocks(1)
    assert broker.event("DepositFinalised")["amount"] == ETHER
    assert broker.world.stored("Dev", "Seen") == []


def watch(broker: Swapper, member: str, on: bool) -> None:
    """Let the authorities look for deposits on a chain, or not."""
    with broker.arranging() as runtime:
        environment = runtime.pallet(EnvironmentStorage)
        modes = environment.RuntimeSafeMode.get()
        board = replace(getattr(modes, member), deposit_channel_witnessing_enabled=on)
        environment.RuntimeSafeMode.put(replace(modes, **{member: board}))


@pytest.mark.parametrize(
    ("asset", "amount", "fee"),
    [
        ("Btc", BITCOIN, 390),
        ("Sol", 10**9, 386_750),
        ("HubDot", 10**11, 197_300_000),
        ("Trx", 10**9, 5_136_000),
    ],
)
def test_every_chain_takes_deposits(broker: Swapper, asset: str, amount: int, fee: int) -> None:
    """Charge the ingress fee of each chain by its own rule."""
    broker.deposit(asset, "Usdc", amount)
    finalised = broker.event("DepositFinalised")
    assert (finalised["amount"], finalised["ingress_fee"]) == (amount, fee)
    broker.blocks(2)
    (executed,) = [event for event in broker.all_of("SwapExecuted") if event["input_asset"] == asset]
    assert executed["input_amount"] == amount - fee


# Prices that are not met


def test_a_swap_below_its_price_is_tried_again_and_then_refunded(broker: Swapper) -> None:
    """Retry a swap below its price until the retry duration ends; then refund it less fees."""
    limits = refund("Ethereum", retry_duration=10, min_price=IMPOSSIBLE)
    broker.deposit("Eth", "Btc", ETHER, refund_parameters=limits)
    before = broker.pool("Eth")
    amount = ETHER - ETH_INGRESS
    for execute_at in (10, 15):
        broker.blocks(execute_at - 5 - broker.world.header.number)
        assert broker.event("SwapRescheduled") == {
            "swap_id": 1,
            "execute_at": execute_at,
            "reason": "MinPriceViolation",
        }
    assert broker.happened() == ["Swapping.SwapRescheduled"]
    assert (
        broker.blocks(5)[-1][:6]
        == [
            "Swapping.SwapAborted",
            "Swapping.SwapRequested",
            "Swapping.SwapScheduled",
            "Swapping.RefundEgressScheduled",
            "Swapping.SwapRequestCompleted",
        ][:6]
    )
    assert broker.event("SwapAborted") == {"swap_id": 1, "reason": "MinPriceViolation"}
    refunded = broker.event("RefundEgressScheduled")
    network = broker.event("SwapRequested")
    assert (network["request_type"], network["output_asset"]) == ("NetworkFee", "Flip")
    assert network["input_amount"] == refunded["refund_fee"] > 0
    assert refunded["egress_fee"] == (ETH_EGRESS, "Eth")
    assert refunded["amount"] == amount - refunded["refund_fee"] - ETH_EGRESS
    worth = before.swap("base", refunded["refund_fee"]).output
    assert abs(worth - 500_000) <= 60  # half a dollar, at the price of twenty
    assert broker.event("SwapRequestCompleted")["reason"] == "Expired"
    assert broker.pool("Eth") == before
    assert broker.balance(broker.account) == 0


def test_without_retries_the_first_failure_refunds(broker: Swapper) -> None:
    """Refund at the first failure where the retry duration is zero."""
    limits = refund("Ethereum", retry_duration=0, min_price=IMPOSSIBLE)
    broker.deposit("Eth", "Btc", ETHER, refund_parameters=limits)
    assert broker.blocks(2)[-1][0] == "Swapping.SwapAborted"


def test_a_price_that_comes_back_in_time_saves_the_swap(broker: Swapper) -> None:
    """Execute a swap whose price comes back before the retry duration ends."""
    fair = ((86_500 * USDC) << 128) // BITCOIN * 97 // 100
    limits = refund("Bitcoin", retry_duration=100, min_price=fair)
    broker.dev("set_pool", asset="Btc", price=60_000 * USDC, depth=None)
    broker.deposit("Btc", "Usdc", BITCOIN, refund_parameters=limits)
    assert broker.blocks(2)[-1] == ["Swapping.SwapRescheduled"]
    broker.dev("set_pool", asset="Btc", price=86_500 * USDC, depth=None)
    broker.blocks(4)
    assert broker.event("SwapExecuted")["output_amount"] > 86_500 * USDC * 97 // 100


def test_one_swap_that_fails_takes_no_other_with_it(broker: Swapper) -> None:
    """Execute a swap as if alone where another one of its batch fails."""
    picky = refund("Ethereum", min_price=IMPOSSIBLE)
    channels = [
        broker.opened(**request("Eth", "Usdc", **changes))["deposit_address"]
        for changes in ({}, {"refund_parameters": picky})
    ]
    with broker.arranging() as runtime:
        runtime.pallet(Witnesses).see_deposit(channels[0], "Eth", ETHER, None)
    broker.pay(channels[1], "Eth", 5 * ETHER)
    pool = broker.pool("Eth")
    broker.blocks(2)
    assert broker.event("SwapRescheduled")["swap_id"] == 2
    alone = pool.swap("base", ETHER - ETH_INGRESS).output
    executed = broker.event("SwapExecuted")
    assert executed["output_amount"] + executed["network_fee"] + executed["broker_fee"] == alone


def test_a_pool_without_liquidity_fails_the_batch_that_needs_it(broker: Swapper) -> None:
    """Fail the batch that needs a pool without liquidity, and reschedule its swaps."""
    broker.dev("set_pool", asset="Btc", price=None, depth=0)
    broker.deposit("Eth", "Btc", ETHER)
    assert broker.blocks(2)[-1] == ["Swapping.BatchSwapFailed", "Swapping.SwapRescheduled"]
    failed = broker.event("BatchSwapFailed")
    assert (failed["asset"], failed["direction"]) == ("Btc", "FromStable")
    assert broker.event("SwapRescheduled")["reason"] == "PriceImpactLimit"


def test_switched_off_swaps_wait(broker: Swapper) -> None:
    """Reschedule swaps while safe mode disables them."""
    broker.deposit("Eth", "Btc", ETHER)
    with broker.arranging() as runtime:
        environment = runtime.pallet(EnvironmentStorage)
        modes = environment.RuntimeSafeMode.get()
        off = replace(modes.swapping, swaps_enabled=False)
        environment.RuntimeSafeMode.put(replace(modes, swapping=off))
    assert broker.blocks(2)[-1] == ["Swapping.SwapRescheduled"]
    assert broker.event("SwapRescheduled")["reason"] == "SafeModeActive"


# In pieces


def test_a_swap_in_pieces_gives_all_of_its_output_at_the_end(broker: Swapper) -> None:
    """Send the output of all chunks at the end, together; the chunks add up to the deposit."""
    pieces = {"number_of_chunks": 3, "chunk_interval": 4}
    broker.deposit("Eth", "Usdc", 10 * ETHER, dca_parameters=pieces)
    amount = 10 * ETHER - ETH_INGRESS
    chunks, output, network = [], 0, 0
    start = broker.world.header.number
    for due in (2, 6, 10):
        broker.blocks(start + due - broker.world.header.number)
        executed = broker.event("SwapExecuted")
        chunks.append(executed["input_amount"])
        output += executed["output_amount"]
        network += executed["network_fee"]
    assert chunks[0] == amount // 3
    assert sum(chunks) == amount
    assert broker.event("SwapRequestCompleted")["reason"] == "Executed"
    sent = broker.event("SwapEgressScheduled")
    assert sent["amount"] + sent["egress_fee"][0] == output
    assert network > 500_000


def test_the_least_network_fee_is_paid_once(broker: Swapper) -> None:
    """Charge the minimum network fee once for all chunks."""
    pieces = {"number_of_chunks": 4, "chunk_interval": 2}
    broker.deposit("Eth", "Usdc", ETHER // 50, dca_parameters=pieces)
    fees = []
    for _ in range(4):
        broker.blocks(2)
        fees.append(broker.event("SwapExecuted")["network_fee"])
    assert fees == [500_000, 0, 0, 0]


def test_with_an_interval_of_one_a_chunk_runs_in_every_block(broker: Swapper) -> None:
    """Execute a chunk in every block where the interval is one."""
    pieces = {"number_of_chunks": 5, "chunk_interval": 1}
    broker.deposit("Eth", "Usdc", ETHER, dca_parameters=pieces)
    broker.blocks(1)
    assert [len([n for n in names if n.endswith("SwapExecuted")]) for names in broker.blocks(6)] == [
        1, 1, 1, 1, 1, 0,
    ]  # fmt: skip


def test_a_chunk_that_misses_its_price_ends_the_swap(broker: Swapper) -> None:
    """End a swap at the chunk that misses its price: send the output so far, refund the others."""
    fair = ((2_800 * USDC) << 128) // ETHER * 98 // 100
    pieces = {"number_of_chunks": 3, "chunk_interval": 3}
    limits = refund("Ethereum", retry_duration=5, min_price=fair)
    broker.deposit("Eth", "Usdc", 3 * ETHER, dca_parameters=pieces, refund_parameters=limits)
    amount = 3 * ETHER - ETH_INGRESS
    broker.blocks(2)
    first = broker.event("SwapExecuted")
    broker.dev("set_pool", asset="Eth", price=2_000 * USDC, depth=None)
    broker.blocks(2)
    assert broker.event("SwapRescheduled")["reason"] == "MinPriceViolation"
    broker.blocks(5)
    names = [event for event in broker.happened() if event.startswith("Swapping")]
    assert names == [
        "Swapping.SwapAborted",
        "Swapping.SwapRequested",  # of the refund's fee
        "Swapping.SwapScheduled",
        "Swapping.RefundEgressScheduled",
        "Swapping.SwapRequested",  # of the transport's fee
        "Swapping.SwapScheduled",
        "Swapping.SwapEgressScheduled",
        "Swapping.SwapRequestCompleted",
    ]
    back, sent = broker.event("RefundEgressScheduled"), broker.event("SwapEgressScheduled")
    assert back["amount"] + back["refund_fee"] + back["egress_fee"][0] == amount - first["input_amount"]
    assert sent["amount"] + sent["egress_fee"][0] == first["output_amount"]


def test_chunks_are_never_smaller_than_the_chain_wants_them(broker: Swapper) -> None:
    """Reduce the number of chunks until each has the minimum size."""
    with broker.arranging() as runtime:
        runtime.pallet(SwappingStorage).MinimumChunkSize.put("Eth", ETHER // 2)
    broker.deposit("Eth", "Usdc", ETHER, dca_parameters={"number_of_chunks": 100, "chunk_interval": 2})
    requested = broker.event("SwapRequested")
    assert requested["dca_parameters"] == {"number_of_chunks": 1, "chunk_interval": 2}


# Limits, messages, and the network's own swaps


def test_more_than_the_greatest_amount_is_confiscated(broker: Swapper) -> None:
    """Confiscate what exceeds the maximum amount of a swap."""
    with broker.arranging() as runtime:
        runtime.pallet(SwappingStorage).MaximumSwapAmount.put("Eth", ETHER)
    broker.deposit("Eth", "Usdc", 2 * ETHER)
    excess = ETHER - ETH_INGRESS
    assert broker.event("SwapAmountConfiscated")["confiscated_amount"] == excess
    assert broker.event("SwapScheduled")["input_amount"] == ETHER
    assert broker.world.stored("Swapping", "CollectedRejectedFunds", "Eth") == excess


def test_a_message_goes_with_the_output_and_pays_its_gas(broker: Swapper) -> None:
    """Send a message with the output, and charge its gas as the egress fee."""
    broker.deposit("Btc", "Eth", BITCOIN, channel_metadata=ccm(b"hello"))
    requested = broker.event("SwapRequested")
    _, kind = requested["request_type"]
    message = kind["output_action"][1]["ccm_deposit_metadata"]
    assert (message["source_chain"], message["source_address"]) == ("Bitcoin", None)
    assert message["channel_metadata"]["message"] == b"hello"
    broker.blocks(2)
    sent = broker.event("SwapEgressScheduled")
    assert sent["egress_fee"] == ((100_000 + 90_000 + 5) * 2_100_000_000, "Eth")


def test_an_output_too_small_to_send_stays(broker: Swapper) -> None:
    """Send no output below the dust limit; the request is complete all the same."""
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Ethereum"]).EgressDustLimit.put("Eth", 10 * ETHER)
    broker.deposit("Btc", "Eth", BITCOIN // 1_000)
    broker.blocks(2)
    ignored = broker.event("SwapEgressIgnored")
    assert ignored["amount"] == broker.event("SwapExecuted")["output_amount"]
    assert ignored["reason"] == error_of(broker, "EthereumIngressEgress", "BelowEgressDustLimit")
    assert broker.event("SwapRequestCompleted")["reason"] == "Executed"


def test_the_networks_earnings_buy_flip_now_and_then(broker: Swapper) -> None:
    """Buy FLIP with the collected network fees every 100 blocks."""
    broker.deposit("Eth", "Usdc", 10 * ETHER)
    broker.blocks(4)  # the swap, and that of its transport's fee
    earned = broker.world.stored("Swapping", "CollectedNetworkFee")
    broker.blocks(100 - broker.world.header.number)
    bought = broker.event("SwapRequested")
    assert (bought["request_type"], bought["input_asset"], bought["input_amount"]) == (
        "NetworkFee",
        "Usdc",
        earned,
    )
    assert broker.world.stored("Swapping", "CollectedNetworkFee") == 0
    broker.blocks(2)
    assert broker.world.stored("Swapping", "FlipToBurn") == broker.event("SwapExecuted")["output_amount"]


@pytest.mark.parametrize(
    ("asset", "amount"), [("Btc", 0), ("Btc", 2**64), ("Eth", 2**128 - 1), ("Btc", 2**60 + 1)]
)
def test_an_amount_that_no_chain_could_count_is_refused(broker: Swapper, asset: str, amount: int) -> None:
    """Refuse to witness an amount that the asset's chain cannot hold."""
    address = broker.opened(**request(asset, "Usdc"))["deposit_address"]
    arguments = {"deposit_address": address, "asset": asset, "amount": amount, "transaction": None}
    assert broker.dev("witness_deposit", **arguments) == "Dev.InvalidAmount"
    assert broker.dev("prewitness_deposit", **arguments) == "Dev.InvalidAmount"


@pytest.mark.parametrize(
    ("asset", "price", "depth"),
    [("Usdc", 1, 1), ("Btc", 0, None), ("Btc", 1, 10**15), ("Eth", None, 2**127), ("Sol", 1, 10**14)],
)
def test_a_pool_that_holds_more_than_there_is_is_refused(
    broker: Swapper, asset: str, price: int | None, depth: int | None
) -> None:
    """Refuse to set a pool beyond the asset's supply, and leave the pools as they are."""
    before = broker.world.stored("LiquidityPools", "Pools", {"assets": {"base": "Btc", "quote": "Usdc"}})
    assert broker.dev("set_pool", asset=asset, price=price, depth=depth) == "Dev.InvalidPool"
    after = broker.world.stored("LiquidityPools", "Pools", {"assets": {"base": "Btc", "quote": "Usdc"}})
    assert before == after


def test_the_largest_deposits_of_all_do_no_harm(broker: Swapper) -> None:
    """Swap the largest deposits for no more than the pools hold, and ordinary ones after them."""
    channels = [broker.opened(**request("Eth", "Btc"))["deposit_address"] for _ in range(3)]
    executed: list[Mapping[str, Any]] = []
    completed: list[Mapping[str, Any]] = []
    for step in range(6):
        if step < 3:
            broker.pay(channels[step], "Eth", 2**110)
        else:
            broker.world.block()
        executed += broker.all_of("SwapExecuted")
        completed += broker.all_of("SwapRequestCompleted")
    assert [(row["swap_request_id"], row["reason"]) for row in completed] == [
        (number, "Executed") for number in (1, 2, 3)
    ]
    assert [row["input_amount"] for row in executed] == [2**110 - ETH_INGRESS] * 3
    dollars = [row["network_fee"] + row["broker_fee"] + row["intermediate_amount"] for row in executed]
    assert 0 < sum(dollars) <= 10**7 * USDC
    assert executed[0]["output_amount"] > 0
    assert [row["output_amount"] for row in executed[1:]] == [0, 0], "nothing is left in the pool"
    assert broker.scheduled() == {}
    broker.deposit("Btc", "Usdc", BITCOIN)
    broker.blocks(2)
    assert broker.event("SwapRequestCompleted")["reason"] == "Executed"
    assert broker.event("SwapExecuted")["output_amount"] > 0


def test_only_the_author_itself_can_see_deposits(broker: Swapper) -> None:
    """Accept a witnessed deposit from the author alone, neither from a peer nor an account."""
    from cfnode.core.extrinsic import bare_extrinsic

    arguments = {"deposit_address": address_on("Ethereum"), "asset": "Eth", "amount": 1, "transaction": None}
    call = broker.world.call("Dev", "witness_deposit", **arguments)
    assert broker.world.validate(bare_extrinsic(call)) == ("Err", ("Invalid", "Call"))
    assert broker.submit("Dev", "witness_deposit", BOB, **arguments) == "BadOrigin"
