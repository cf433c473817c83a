"""A quote of 2.2.3 takes the network fee from the input, and its errors do not name the leg."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.devchain.runtime.config import DevGenesis
from tests.devchain.runtime.world import OLDEST, World

NO_FEES = ["IngressDepositChannel", "IngressVaultSwap", "Egress"]
BITCOIN, ETHER = 10**8, 10**18


@pytest.fixture
def world() -> World:
    """Return a new chain of 2.2.3."""
    return World(OLDEST)


def quote(
    world: World, source: str, target: str, amount: int, commission: int = 0, chunks: int = 1, **terms: Any
) -> Any:
    """Return the answer of a simulated swap, or the text of its error."""
    without = NO_FEES + terms.get("without", [])
    dca = {"number_of_chunks": chunks, "chunk_interval": 2}
    asked = (source, target, amount, commission, dca, None, without, None, None)
    kind, answer = world.api("CustomRuntimeApi_cf_pool_simulate_swap", *asked)
    return answer if kind == "Ok" else bytes(answer[1]).decode()


def rate(world: World) -> int:
    """Return the network fee of a swap, in parts per million."""
    return int(world.stored("Swapping", "NetworkFee")["rate"])


@pytest.mark.parametrize("chunks", [1, 4])
def test_the_rate_is_taken_from_the_input_and_stated_as_that_of_the_dollars(
    world: World, chunks: int
) -> None:
    """Take the network fee of a 2.2.3 quote from the input, and state it in dollars."""
    amount = 2 * BITCOIN
    answer = quote(world, "Btc", "Eth", amount, chunks=chunks)
    taken = round(amount * rate(world) / 10**6)
    quoted = quote(world, "Btc", "Eth", amount - taken, chunks=chunks, without=["Network"])
    assert (answer["output"], answer["intermediary"]) == (quoted["output"], quoted["intermediary"])
    dollars = quote(world, "Btc", "Usdc", amount, chunks=chunks, without=["Network"])["output"]
    assert answer["network_fee"] == pytest.approx(dollars * rate(world) / 10**6, abs=chunks)


def test_the_least_fee_is_taken_in_the_input_where_it_is_more_than_the_rate(world: World) -> None:
    """Take the minimum network fee where it exceeds the rate."""
    least = world.stored("Swapping", "NetworkFee")["minimum"]
    amount = ETHER // 100
    answer, free = (quote(world, "Eth", "Usdc", amount, without=left_out) for left_out in ([], ["Network"]))
    assert answer["network_fee"] == least > 0
    assert free["output"] - answer["output"] == pytest.approx(least, rel=0.02)


def test_a_commission_is_taken_of_what_the_first_leg_gives(world: World) -> None:
    """Take a commission of what the first leg gives."""
    dollars = quote(world, "Btc", "Usdc", BITCOIN, without=["Network"])["output"]
    answer = quote(world, "Btc", "Usdc", BITCOIN, commission=100, without=["Network"])
    assert answer["broker_fee"] == pytest.approx(dollars / 100, abs=1)
    assert answer["output"] + answer["broker_fee"] == dollars


@pytest.mark.parametrize(("source", "target", "leg"), [("Dot", "Eth", "input"), ("Eth", "Dot", "output")])
def test_a_quote_that_fails_names_no_leg(world: World, source: str, target: str, leg: str) -> None:
    """Name no leg in the error of a 2.2.3 quote; 2.2.9 names it."""
    much = 100 * ETHER
    assert quote(world, source, target, much) == "Failed to calculate network fee: Swap leg failed."
    assert quote(world, source, target, much, without=["Network"]) == "Swap leg failed."
    later = World(DevGenesis(release="2.2.9"))
    failed = f"Simulated swap failed on the {leg} leg: swap leg failed."
    assert quote(later, source, target, much) == failed


def test_the_two_ways_agree_but_for_rounding_where_the_price_does_not_move(world: World) -> None:
    """Quote in both releases alike, but for rounding, where the price does not move."""
    later = World(DevGenesis(release="2.2.9"))
    small = BITCOIN // 100
    old, new = (quote(moment, "Btc", "Eth", small, commission=10) for moment in (world, later))
    assert old["output"] == pytest.approx(new["output"], rel=1e-2)
