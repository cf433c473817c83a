"""Swaps that go well, are boosted, cut into pieces, or refunded: events in order, money to the last unit."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest

from tests.rpc.scenarios.books import GAS, LENDER, NETWORK, POOLS, USER
from tests.rpc.scenarios.happenings import (
    DONE,
    QUIET,
    REQUESTED,
    SENT,
    WITHDRAWN,
    batched,
    deposited,
    landed,
    signed,
    swapped,
    together,
)
from tests.rpc.scenarios.rules import (
    BTC_EGRESS,
    BTC_INGRESS,
    DOLLAR,
    ETH_EGRESS,
    ETH_INGRESS,
    NETWORK_MINIMUM,
    NO_FEE,
    USDC_EGRESS,
    NetworkFee,
    Swapped,
)
from tests.rpc.scenarios.story import BITCOIN, ETHER, IMPOSSIBLE, USDC, Story
from tests.support.rpc.assets import BTC, BTC_ADDRESS, ETH, EVM_ADDRESS

SWAPPING = ETHER - ETH_INGRESS


async def test_a_regular_swap(story: Story) -> None:
    """Swap ether for bitcoin, with each event in order and every unit accounted for."""
    address = await story.open()
    await story.deposit(address, ETH, ETHER)
    (scheduled,) = await story.call("cf_scheduled_swaps", ETH, USDC)
    assert (scheduled["swap_id"], int(scheduled["amount"], 16)) == (1, SWAPPING)
    assert (await story.get(f"/v2/swaps/{story.channels[0]}"))["state"] == "SWAPPING"
    await story.seal(4)
    emitted = await story.new_events()
    emitted.check(
        together(deposited("Ethereum"), batched("Ethereum")),
        signed("Ethereum"),
        together(landed("Ethereum"), swapped(), SENT, batched("Bitcoin")),
        QUIET,
        landed("Bitcoin"),
    )
    assert emitted.one("DepositFinalised")["ingress_fee"] == ETH_INGRESS
    swap = story.rules.swap("Eth", "Btc", SWAPPING, 10)
    executed = emitted.one("SwapExecuted")
    assert (executed["input_amount"], executed["output_amount"]) == (SWAPPING, swap.output)
    assert (executed["network_fee"], executed["broker_fee"]) == (swap.network, *swap.shares)
    status = await story.get(f"/v2/swaps/{story.channels[0]}")
    assert status["state"] == "COMPLETED"
    assert int(status["swapEgress"]["amount"]) == swap.output - BTC_EGRESS
    arrived, gas = await withdrawn(story, swap.shares[0])
    await story.closes(
        {
            USER: {"Eth": -ETHER},
            BTC_ADDRESS: {"Btc": swap.output - BTC_EGRESS},
            EVM_ADDRESS: {"Usdc": arrived},
            NETWORK: {"Usdc": swap.network + gas.network},
            GAS: {"Eth": ETH_INGRESS + gas.output, "Btc": BTC_EGRESS},
            POOLS: story.rules.moved,
        }
    )


async def withdrawn(story: Story, earned: int) -> tuple[int, Swapped]:
    """Withdraw what the broker has earned; return what arrives, and the swap of the fee into ether."""
    fee = story.rules.convert("Usdc", "Eth", USDC_EGRESS)
    paid = await story.call("broker_withdraw_fees", USDC, EVM_ADDRESS)
    assert (int(paid["egress_amount"], 16), int(paid["egress_fee"], 16)) == (earned - fee, fee)
    await story.seal(2)
    (await story.new_events()).check(
        together(WITHDRAWN, batched("Ethereum")),
        signed("Ethereum"),
        together(landed("Ethereum"), swapped(legs=1, shares=0), DONE),
    )
    return earned - fee, story.rules.swap("Usdc", "Eth", fee, fee=NetworkFee(minimum=0))


@pytest.mark.world
async def test_a_boosted_bitcoin_swap(story: Story) -> None:
    """Boost a Bitcoin deposit before it is final, and credit the boosters after it."""
    await story.lend(BTC, 5 * BITCOIN)
    address = await story.open(BTC, ETH, boost_fee=30)
    transaction = "0x" + "5a" * 32
    await story.call("dev_announceDeposit", address, BTC, BITCOIN, transaction)
    emitted = await story.new_events()
    emitted.check([*REQUESTED, "BitcoinIngressEgress.DepositBoosted"])
    fee = BITCOIN * 5 // 10_000
    boosted, swapping = emitted.one("DepositBoosted"), BITCOIN - fee - BTC_INGRESS
    assert boosted["boost_fee"] == [("BoostPool", fee)]
    assert emitted.one("SwapRequested")["input_amount"] == swapping
    assert (await story.call("cf_boost_pools_depth"))[0]["available_amount"] == hex(4 * BITCOIN + fee)
    await story.deposit(address, BTC, BITCOIN, transaction)
    await story.seal(4)
    emitted = await story.new_events()
    pallet = "BitcoinIngressEgress"
    emitted.check(
        [f"{pallet}.DepositFetchesScheduled", *REQUESTED, f"{pallet}.DepositFinalised"],
        together(swapped(), SENT, batched("Ethereum")),
        together(signed("Ethereum"), swapped(shares=0), DONE),
        landed("Ethereum"),
        QUIET,
    )
    for_network = fee // 2
    credited = {"network_fee_from_boost": for_network, "network_fee_swap_request_id": 2}
    credited["prewitnessed_deposit_id"] = boosted["prewitnessed_deposit_id"]
    assert emitted.one("DepositFinalised")["action"] == ("BoostersCredited", credited)
    swap = story.rules.swap("Btc", "Eth", swapping, 10)
    flip = story.rules.swap("Btc", "Flip", for_network, fee=NO_FEE)
    await story.closes(
        {
            USER: {"Btc": -BITCOIN},
            LENDER: {"Btc": -5 * BITCOIN},
            "boosters": {"Btc": 5 * BITCOIN + fee - for_network},
            EVM_ADDRESS: {"Eth": swap.output - ETH_EGRESS},
            "broker": {"Usdc": swap.shares[0]},
            NETWORK: {"Usdc": swap.network, "Flip": flip.output},
            GAS: {"Btc": BTC_INGRESS, "Eth": ETH_EGRESS},
            POOLS: story.rules.moved,
        }
    )


async def test_fill_or_kill_a_price_that_is_not_met(story: Story) -> None:
    """Retry a swap whose price is not met, then refund it less the fees."""
    address = await story.open(terms={"min_price": IMPOSSIBLE})
    await story.deposit(address, ETH, ETHER)
    await story.seal(2)
    tried = (await story.get(f"/v2/swaps/{story.channels[0]}"))["swap"]["regular"]
    assert (tried["retryCount"], tried["latestSwapRescheduledReason"]) == (1, "MinPriceViolation")
    await story.seal(14)
    emitted = await story.new_events()
    again = ["Swapping.SwapRescheduled"]
    emitted.check(
        together(deposited("Ethereum"), batched("Ethereum")),
        signed("Ethereum"),
        together(landed("Ethereum"), again),
        *[QUIET] * 4,
        again,
        *[QUIET] * 4,
        together(
            "Swapping.SwapAborted",
            REQUESTED,
            "Swapping.RefundEgressScheduled",
            DONE,
            batched("Ethereum"),
        ),
        signed("Ethereum"),
        together(landed("Ethereum"), swapped(shares=0), DONE),
        QUIET,
        QUIET,
    )
    assert {event["reason"] for event in emitted.of("SwapRescheduled")} == {"MinPriceViolation"}
    assert emitted.one("SwapAborted") == {"swap_id": 1, "reason": "MinPriceViolation"}
    assert [event["reason"] for event in emitted.of("SwapRequestCompleted")] == ["Expired", "Executed"]
    fee = story.rules.convert("Eth", "Usdc", NETWORK_MINIMUM, rate=0)
    assert emitted.one("RefundEgressScheduled")["refund_fee"] == fee
    burned = story.rules.swap("Eth", "Flip", fee, fee=NO_FEE)
    await story.closes(
        {
            USER: {"Eth": -ETHER},
            EVM_ADDRESS: {"Eth": SWAPPING - fee - ETH_EGRESS},
            NETWORK: {"Flip": burned.output},
            GAS: {"Eth": ETH_INGRESS + ETH_EGRESS},
            POOLS: story.rules.moved,
        }
    )


async def test_protection_by_the_oracle(story: Story) -> None:
    """Hold a swap back while the oracle's price is too far away, and execute it when it comes near."""
    await story.call("dev_setOracle", "Usdc", DOLLAR)
    await story.call("dev_setOracle", "Eth", 2_850 * DOLLAR)  # the pool gives 2,800
    address = await story.open(terms={"max_oracle_price_slippage": 100})
    await story.deposit(address, ETH, ETHER)
    await story.seal(3)
    emitted = await story.new_events()
    emitted.check(
        together(deposited("Ethereum"), batched("Ethereum")),
        signed("Ethereum"),
        together(landed("Ethereum"), "Swapping.SwapRescheduled"),
        QUIET,
    )
    assert emitted.one("SwapRescheduled")["reason"] == "OraclePriceSlippageExceeded"
    await story.call("dev_setOracle", "Eth", 2_820 * DOLLAR)
    await story.seal(5)
    emitted = await story.new_events()
    emitted.check(*[QUIET] * 3, together(swapped(), SENT, batched("Bitcoin")), QUIET, landed("Bitcoin"))
    swap = story.rules.swap("Eth", "Btc", SWAPPING, 10)
    gross = swap.stable + swap.network + sum(swap.shares)
    worse = below_oracle(2_820 * DOLLAR, SWAPPING, gross)
    executed = emitted.one("SwapExecuted")
    assert (executed["oracle_delta_ex_fees"], executed["oracle_delta"]) == (-worse, None)  # Bitcoin has none
    await story.closes(
        {
            USER: {"Eth": -ETHER},
            BTC_ADDRESS: {"Btc": swap.output - BTC_EGRESS},
            "broker": {"Usdc": swap.shares[0]},
            NETWORK: {"Usdc": swap.network},
            GAS: {"Eth": ETH_INGRESS, "Btc": BTC_EGRESS},
            POOLS: story.rules.moved,
        }
    )


def below_oracle(price: int, ether: int, dollars: int) -> int:
    """Return by how many basis points, rounded up, ether brought less than at a price for a whole one."""
    expected = Fraction(price * ether, ETHER)
    return ceil((expected - dollars) * 10_000 / expected)


@pytest.mark.world
async def test_in_pieces_dca_to_the_end(story: Story) -> None:
    """Swap in chunks to the end, with one network fee over all of them."""
    address = await story.open(dca_parameters={"number_of_chunks": 3, "chunk_interval": 4})
    await story.deposit(address, ETH, 10 * ETHER)
    await story.seal(2)
    (second,) = await story.call("cf_scheduled_swaps", ETH, USDC)
    assert (second["remaining_chunks"], second["chunk_interval"]) == (1, 4)
    progress = (await story.get(f"/v2/swaps/{story.channels[0]}"))["swap"]["dca"]
    assert (progress["executedChunks"], progress["remainingChunks"]) == (1, 2)
    await story.seal(10)
    emitted = await story.new_events()
    next_one = "Swapping.SwapScheduled"
    emitted.check(
        together(deposited("Ethereum"), batched("Ethereum")),
        signed("Ethereum"),
        together(landed("Ethereum"), swapped(), next_one),
        *[QUIET] * 3,
        together(swapped(), next_one),
        *[QUIET] * 3,
        together(swapped(), SENT, batched("Bitcoin")),
        QUIET,
        landed("Bitcoin"),
    )
    assert emitted.one("SwapRequestCompleted")["reason"] == "Executed"
    left, fee, chunks = 10 * ETHER - ETH_INGRESS, NetworkFee(), []
    for remaining in (3, 2, 1):
        chunks.append(story.rules.swap("Eth", "Btc", left // remaining, 10, fee=fee))
        left -= left // remaining
    assert [event["output_amount"] for event in emitted.of("SwapExecuted")] == [
        chunk.output for chunk in chunks
    ]
    assert int(second["amount"], 16) == emitted.of("SwapExecuted")[1]["input_amount"]
    await story.closes(
        {
            USER: {"Eth": -10 * ETHER},
            BTC_ADDRESS: {"Btc": sum(chunk.output for chunk in chunks) - BTC_EGRESS},
            "broker": {"Usdc": sum(chunk.shares[0] for chunk in chunks)},
            NETWORK: {"Usdc": fee.paid},
            GAS: {"Eth": ETH_INGRESS, "Btc": BTC_EGRESS},
            POOLS: story.rules.moved,
        }
    )


@pytest.mark.world
async def test_in_pieces_dca_stopped_and_refunded(story: Story) -> None:
    """Stop between chunks when the price leaves the limit, pay what was swapped and refund the rest."""
    least = 10**8 * 2**128 // (40 * ETHER)  # a bitcoin for at most 40 ether
    chunks = {"number_of_chunks": 4, "chunk_interval": 2}
    address = await story.open(dca_parameters=chunks, terms={"min_price": hex(least)})
    await story.deposit(address, ETH, 4 * ETHER)
    await story.seal(2)
    (await story.new_events()).check(
        together(deposited("Ethereum"), batched("Ethereum")),
        signed("Ethereum"),
        together(landed("Ethereum"), swapped(), "Swapping.SwapScheduled"),
    )
    chunk = (4 * ETHER - ETH_INGRESS) // 4
    swap = story.rules.swap("Eth", "Btc", chunk, 10)
    await story.fill(ETH, 1_000 * 10**6)
    await story.seal(15)
    emitted = await story.new_events()
    again = ["Swapping.SwapRescheduled"]
    emitted.check(
        QUIET,
        again,
        *[QUIET] * 4,
        again,
        *[QUIET] * 4,
        together(
            "Swapping.SwapAborted",
            REQUESTED,
            "Swapping.RefundEgressScheduled",
            SENT,
            batched("Ethereum"),
            batched("Bitcoin"),
        ),
        signed("Ethereum"),
        together(landed("Ethereum"), landed("Bitcoin"), swapped(shares=0), DONE),
        QUIET,
        QUIET,
    )
    assert emitted.of("SwapRequestCompleted")[0]["reason"] == "Expired"
    fee = story.rules.convert("Eth", "Usdc", NETWORK_MINIMUM, rate=0)
    burned = story.rules.swap("Eth", "Flip", fee, fee=NO_FEE)
    await story.closes(
        {
            USER: {"Eth": -4 * ETHER},
            BTC_ADDRESS: {"Btc": swap.output - BTC_EGRESS},
            EVM_ADDRESS: {"Eth": 4 * ETHER - ETH_INGRESS - chunk - fee - ETH_EGRESS},
            "broker": {"Usdc": swap.shares[0]},
            NETWORK: {"Usdc": swap.network, "Flip": burned.output},
            GAS: {"Eth": ETH_INGRESS + ETH_EGRESS, "Btc": BTC_EGRESS},
            POOLS: story.rules.moved,
        }
    )
