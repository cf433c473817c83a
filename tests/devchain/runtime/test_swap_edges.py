"""Where a swap's rules just hold, and where they just do not: to the unit and to the block."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeTrap
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.swap_requests.fees import share
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage
from cfnode.devchain.runtime.pallets.witnesses import Witnesses
from tests.devchain.runtime.broker import ccm, refund, request
from tests.devchain.runtime.swapper import BITCOIN, ETHER, USDC, Swapper

ETH_INGRESS = 50_000 * 2_100_000_000
MIN_NETWORK_FEE = 500_000
IMPOSSIBLE = 2**200


@pytest.fixture
def broker() -> Swapper:
    """Return a broker on a new chain."""
    return Swapper()


def safe_mode(broker: Swapper, member: str, switch: str, on: bool) -> None:
    """Set a switch of safe mode."""
    with broker.arranging() as runtime:
        environment = runtime.pallet(EnvironmentStorage)
        modes = environment.RuntimeSafeMode.get()
        board = replace(getattr(modes, member), **{switch: on})
        environment.RuntimeSafeMode.put(replace(modes, **{member: board}))


def swapped(broker: Swapper, swap_id: int) -> Any:
    """Return the `SwapExecuted` of a swap in this block, if any."""
    return next((event for event in broker.all_of("SwapExecuted") if event["swap_id"] == swap_id), None)


def postponed(broker: Swapper) -> dict[int, tuple[int, str]]:
    """Return the swaps that were put back in this block: until when, and why."""
    return {
        event["swap_id"]: (event["execute_at"], event["reason"]) for event in broker.all_of("SwapRescheduled")
    }


# Prices


def price_for(output: int, amount: int) -> int:
    """Return the least price (X128) that asks for exactly this output."""
    return -(-(output << 128) // amount)


@pytest.mark.parametrize(("more", "runs"), [(0, True), (1, False)])
def test_an_output_equal_to_the_least_is_enough_and_one_unit_less_is_not(
    broker: Swapper, more: int, runs: bool
) -> None:
    """Execute a swap whose output equals its minimum, and abort it for one unit more."""
    amount = ETHER - ETH_INGRESS
    stable = broker.pool("Eth").swap("base", amount).output
    network = share(1_000, stable)
    left = stable - network - share(1_000, stable - network)
    output = broker.pool("Btc").swap("quote", left).output
    limits = refund("Ethereum", retry_duration=0, min_price=price_for(output + more, amount))
    broker.deposit("Eth", "Btc", ETHER, refund_parameters=limits)
    broker.blocks(2)
    swap = swapped(broker, 1)
    assert (swap is not None) is runs
    if runs:
        assert swap["output_amount"] == output
    else:
        assert broker.event("SwapAborted")["reason"] == "MinPriceViolation"


def test_of_equal_swaps_that_are_too_much_for_a_pool_the_last_is_taken_out_first(broker: Swapper) -> None:
    """Take the last of equal swaps out of a batch first when the pool cannot execute them all."""
    broker.dev("set_pool", asset="Eth", price=None, depth=0)
    channels = [broker.opened(**request("Eth", "Usdc"))["deposit_address"] for _ in range(2)]
    with broker.arranging() as runtime:
        runtime.pallet(Witnesses).see_deposit(channels[0], "Eth", ETHER, None)
    broker.pay(channels[1], "Eth", ETHER)
    broker.blocks(2)
    assert [event["amount"] for event in broker.all_of("BatchSwapFailed")] == [
        2 * (ETHER - ETH_INGRESS),
        ETHER - ETH_INGRESS,
    ]
    assert list(postponed(broker)) == [2, 1]


# Nothing left


def test_a_swap_that_the_network_fee_eats_up_gives_nothing_and_is_over(broker: Swapper) -> None:
    """No pool refuses to change nothing: the swap runs, and there is nothing to send."""
    with broker.arranging() as runtime:
        runtime.pallet(SwappingStorage).NetworkFee.put(values.FeeRateAndMinimum(rate=1_000, minimum=10**12))
    broker.deposit("Eth", "Btc", ETHER)
    broker.blocks(2)
    done = swapped(broker, 1)
    gross = done["network_fee"]
    assert (done["broker_fee"], done["intermediate_amount"], done["output_amount"]) == (0, 0, 0)
    assert gross == broker.all_of("AssetSwapped")[0]["output_amount"]
    assert broker.all_of("AssetSwapped")[1]["input_amount"] == 0
    assert broker.event("SwapEgressIgnored")["amount"] == 0
    assert broker.event("SwapRequestCompleted")["reason"] == "Executed"
    assert broker.world.stored("Swapping", "CollectedNetworkFee") == gross


def test_a_refund_that_its_fee_eats_up_is_not_sent(broker: Swapper) -> None:
    """Send no refund where its fee takes all; the network gets the amount."""
    with broker.arranging() as runtime:
        runtime.pallet(SwappingStorage).NetworkFee.put(values.FeeRateAndMinimum(rate=1_000, minimum=10**12))
    limits = refund("Bitcoin", retry_duration=0, min_price=IMPOSSIBLE)
    broker.deposit("Btc", "Usdc", BITCOIN // 100, refund_parameters=limits)
    broker.blocks(2)
    ignored, fee = broker.event("RefundEgressIgnored"), broker.event("SwapRequested")
    assert (ignored["amount"], ignored["asset"]) == (0, "Btc")
    error = broker.error_name(ignored["reason"])
    assert error == "Swapping.NoRefundAmountRemaining"
    assert (fee["request_type"], fee["input_amount"]) == ("NetworkFee", BITCOIN // 100 - 390)
    assert broker.event("SwapRequestCompleted")["reason"] == "Expired"


def test_the_fee_of_a_refund_in_flip_is_swapped_like_any_other(broker: Swapper) -> None:
    """Swap a refund's fee in FLIP as that of any other asset, and burn what it buys."""
    limits = refund("Ethereum", retry_duration=0, min_price=IMPOSSIBLE)
    broker.deposit("Flip", "Usdc", 1_000 * ETHER, refund_parameters=limits)
    broker.blocks(2)
    fee = next(event for event in broker.all_of("SwapRequested") if event["request_type"] == "NetworkFee")
    assert (fee["input_asset"], fee["output_asset"]) == ("Flip", "Flip")
    assert fee["input_amount"] == broker.event("RefundEgressScheduled")["refund_fee"]
    broker.blocks(2)
    assert broker.world.stored("Swapping", "FlipToBurn") > 0


# Channels


@pytest.mark.parametrize(("after", "outcome"), [(0, "Ok"), (1, "Dev.ChannelExpired")])
def test_a_deposit_counts_up_to_the_last_block_of_its_channel(
    broker: Swapper, after: int, outcome: str
) -> None:
    """Count a deposit in the last block of its channel, and refuse it one block later."""
    address = broker.opened(**request("Btc", "Eth"))["deposit_address"]
    with broker.arranging() as runtime:
        pallet = runtime.pallet(INGRESS_EGRESS["Bitcoin"])
        ((script, channel),) = pallet.DepositChannelLookup.items()
        last = pallet.tracking.height() - after
        pallet.DepositChannelLookup.put(script, replace(channel, expires_at=last))
    deposit = {"deposit_address": address, "asset": "Btc", "amount": BITCOIN, "transaction": None}
    assert broker.dev("witness_deposit", **deposit) == outcome
    assert broker.dev("prewitness_deposit", **deposit) == outcome


# Messages of what does not run


def test_a_refund_may_carry_a_message_and_pays_for_it(broker: Swapper) -> None:
    """Send a refund with the message that its request asks for, and charge the message's gas."""
    back = ccm(b"back") | {"gas_budget": 50_000}
    limits = refund("Ethereum", retry_duration=0, min_price=IMPOSSIBLE, refund_ccm_metadata=back)
    broker.deposit("Eth", "Btc", ETHER, refund_parameters=limits)
    broker.blocks(2)
    sent = broker.event("RefundEgressScheduled")
    assert sent["egress_fee"] == ((50_000 + 90_000 + 4) * 2_100_000_000, "Eth")
    assert broker.event("CcmBroadcastRequested")["egress_id"] == sent["egress_id"]
    broker.blocks(1)
    data = broker.event("TransactionBroadcastRequest")["transaction_payload"]["data"]
    assert data[:4].hex() == "5293178e"
    assert sent["amount"].to_bytes(32, "big") in data
    assert b"back" in data


def test_a_message_goes_with_the_output_and_not_with_the_refund(broker: Swapper) -> None:
    """Send the message with the output only; the refund of the other chunks goes without it."""
    fair = ((86_500 * USDC) << 128) // BITCOIN * 98 // 100
    limits = refund("Bitcoin", retry_duration=0, min_price=fair)
    pieces = {"number_of_chunks": 2, "chunk_interval": 3}
    terms = {"dca_parameters": pieces, "refund_parameters": limits, "channel_metadata": ccm(b"hello")}
    broker.deposit("Btc", "Usdc", BITCOIN, **terms)
    broker.blocks(2)
    first = broker.event("SwapExecuted")["output_amount"]
    broker.dev("set_pool", asset="Btc", price=60_000 * USDC, depth=None)
    broker.blocks(2)
    sent, back = broker.event("SwapEgressScheduled"), broker.event("RefundEgressScheduled")
    assert sent["amount"] + sent["egress_fee"][0] == first
    assert broker.event("CcmBroadcastRequested")["egress_id"] == sent["egress_id"]
    assert back["egress_id"] in broker.all_of("BatchBroadcastRequested")[0]["egress_ids"]


# Pieces


def test_the_remainder_of_a_division_is_in_the_last_chunks(broker: Swapper) -> None:
    """Add the remainder of a division to the last chunks, so that the sum is exact."""
    pieces = {"number_of_chunks": 4, "chunk_interval": 2}
    broker.deposit("Btc", "Usdc", BITCOIN + 390 + 3, dca_parameters=pieces)
    chunks = [broker.event("SwapScheduled")["input_amount"]]
    for _ in range(3):
        broker.blocks(2)
        chunks += [event["input_amount"] for event in broker.all_of("SwapScheduled")]
    quarter = BITCOIN // 4
    assert chunks == [quarter, quarter + 1, quarter + 1, quarter + 1]


def test_a_failing_chunk_keeps_the_one_behind_it_at_its_distance(broker: Swapper) -> None:
    """With an interval of one, two chunks are on their way; and each is tried until its own refund block."""
    pieces = {"number_of_chunks": 5, "chunk_interval": 1}
    limits = refund("Ethereum", retry_duration=5, min_price=IMPOSSIBLE)
    broker.deposit("Eth", "Usdc", 5 * ETHER, dca_parameters=pieces, refund_parameters=limits)
    due = broker.world.header.number + 2
    broker.blocks(2)
    assert postponed(broker) == {
        1: (due + 5, "MinPriceViolation"),
        2: (due + 6, "PredecessorSwapFailure"),
    }
    broker.blocks(5)
    aborted = [(event["swap_id"], event["reason"]) for event in broker.all_of("SwapAborted")]
    assert aborted == [(1, "MinPriceViolation"), (2, "PredecessorSwapFailure")]
    back = broker.event("RefundEgressScheduled")
    assert back["amount"] + back["egress_fee"][0] + back["refund_fee"] == 5 * ETHER - ETH_INGRESS
    assert broker.world.stored("Swapping", "SwapRequests", 1) is None


def test_switching_swaps_off_keeps_the_distance_of_chunks_too(broker: Swapper) -> None:
    """Keep the distance between chunks when safe mode postpones them."""
    pieces = {"number_of_chunks": 5, "chunk_interval": 1}
    broker.deposit("Eth", "Usdc", 5 * ETHER, dca_parameters=pieces)
    due = broker.world.header.number + 2
    safe_mode(broker, "swapping", "swaps_enabled", on=False)
    assert broker.world.api("CustomRuntimeApi_cf_scheduled_swaps", "Eth", "Usdc") == []
    broker.blocks(2)
    assert postponed(broker) == {1: (due + 5, "SafeModeActive"), 2: (due + 6, "PredecessorSwapFailure")}
    safe_mode(broker, "swapping", "swaps_enabled", on=True)
    ran = [names.count("Swapping.SwapExecuted") for names in broker.blocks(9)]
    assert ran == [0, 0, 0, 0, 1, 1, 1, 1, 1]


def test_a_delay_of_no_blocks_is_one(broker: Swapper) -> None:
    """Retry a block later where the retry delay is zero: the same block would never end."""
    with broker.arranging() as runtime:
        runtime.pallet(SwappingStorage).SwapRetryDelay.put(0)
    limits = refund("Ethereum", retry_duration=1, min_price=IMPOSSIBLE)
    broker.deposit("Eth", "Usdc", ETHER, refund_parameters=limits)
    broker.blocks(2)
    now = broker.world.header.number
    assert postponed(broker) == {1: (now + 1, "MinPriceViolation")}
    broker.blocks(1)
    assert broker.event("SwapRequestCompleted")["reason"] == "Expired"


def test_chunks_are_counted_by_all_that_was_paid(broker: Swapper) -> None:
    """Even by what is confiscated."""
    with broker.arranging() as runtime:
        swapping = runtime.pallet(SwappingStorage)
        swapping.MinimumChunkSize.put("Eth", ETHER)
        swapping.MaximumSwapAmount.put("Eth", 2 * ETHER)
    broker.deposit("Eth", "Usdc", 5 * ETHER, dca_parameters={"number_of_chunks": 9, "chunk_interval": 2})
    assert broker.event("SwapRequested")["dca_parameters"]["number_of_chunks"] == 4
    assert broker.event("SwapScheduled")["input_amount"] == ETHER // 2


# Events and APIs about swaps that wait


def test_the_second_leg_of_a_scheduled_swap_is_listed_at_the_pools_price_without_the_network_fee(
    broker: Swapper,
) -> None:
    """List the second leg of a scheduled swap at the pool's or the oracle's price, less the network fee."""
    broker.deposit("Eth", "Btc", ETHER)
    ((sold, at),) = broker.world.api("CustomRuntimeApi_cf_scheduled_swaps", "Eth", "Usdc")
    ((bought, _),) = broker.world.api("CustomRuntimeApi_cf_scheduled_swaps", "Btc", "Usdc")
    amount = ETHER - ETH_INGRESS
    assert at == broker.world.header.number + 2
    assert (sold["side"], sold["amount"], sold["source_asset"]) == ("Sell", amount, None)
    price = broker.world.api("CustomRuntimeApi_cf_pool_price", "Eth", "Usdc")["price"]
    worth = -(-amount * price >> 128)
    assert (bought["side"], bought["source_asset"], bought["source_amount"]) == ("Buy", "Eth", amount)
    assert bought["amount"] == worth - max(share(1_000, worth), MIN_NETWORK_FEE)

    unit = 10 ** ASSETS["Eth"].decimals
    for feed, dollars in (("Eth", 3_000 * USDC), ("Usdc", USDC)):
        broker.dev("read_oracle", feed=feed, price=dollars, is_stale=False)
    broker.deposit("Eth", "Btc", ETHER)
    legs = broker.world.api("CustomRuntimeApi_cf_scheduled_swaps", "Btc", "Usdc")
    worth = -(-amount * ((3_000 * USDC << 128) // unit) >> 128)
    assert legs[-1][0]["amount"] == worth - share(1_000, worth)


def test_a_pool_without_usdc_has_no_scheduled_swaps_to_tell(broker: Swapper) -> None:
    """Trap on a question for scheduled swaps of a pair without USDC, with the official text."""
    for base, quote, fault in (
        ("Eth", "Btc", "Only USDC is supported as quote asset\n  left: Btc\n right: Usdc"),
        ("Usdc", "Usdc", "base and quote asset must be different\n  left: Usdc\n right: Usdc"),
    ):
        with pytest.raises(RuntimeTrap, match=fault):
            broker.world.api("CustomRuntimeApi_cf_scheduled_swaps", base, quote)
