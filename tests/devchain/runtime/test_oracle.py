"""What an oracle says about prices, and the swaps that do not run because of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.devchain.runtime.broker import refund
from tests.devchain.runtime.swapper import ETHER, USDC, Swapper

PROTECTED = {"max_oracle_price_slippage": 30, "retry_duration": 0}


@pytest.fixture
def broker() -> Swapper:
    """Return a broker on a new chain."""
    return Swapper()


def says(broker: Swapper, feed: str, dollars: float | None, *, is_stale: bool = False) -> str:
    """Set the price of a feed in dollars, or remove it; return the outcome."""
    price = None if dollars is None else int(dollars * USDC)
    return broker.dev("read_oracle", feed=feed, price=price, is_stale=is_stale)


def swapped(broker: Swapper, source: str, target: str, amount: int, **terms: Any) -> list[str]:
    """Swap an amount; what happens in the block in which it is due."""
    broker.deposit(source, target, amount, refund_parameters=refund("Ethereum", **terms))
    return broker.blocks(2)[-1]


def executed(broker: Swapper, target: str) -> Any:
    """Return the only executed swap into an asset."""
    (swap_event,) = [event for event in broker.all_of("SwapExecuted") if event["output_asset"] == target]
    return swap_event


def test_without_a_price_nothing_is_compared(broker: Swapper) -> None:
    """Execute a swap without comparison where the oracle has no price."""
    assert "Swapping.SwapExecuted" in swapped(broker, "Eth", "Usdc", ETHER, **PROTECTED)
    swap = executed(broker, "Usdc")
    assert (swap["oracle_delta"], swap["oracle_delta_ex_fees"]) == (None, None)
    assert broker.world.api("CustomRuntimeApi_cf_oracle_prices", None) == []


def test_the_event_of_a_swap_has_its_distance_from_the_oracle(broker: Swapper) -> None:
    """Report a swap's distance from the oracle's price in basis points, with and without fees."""
    assert (says(broker, "Eth", 2_800), says(broker, "Usdc", 1)) == ("Ok", "Ok")
    swapped(broker, "Eth", "Usdc", ETHER, **PROTECTED)
    swap = executed(broker, "Usdc")
    gross = swap["output_amount"] + swap["network_fee"] + swap["broker_fee"]
    expected = swap["input_amount"] * 2_800 * USDC / ETHER
    assert swap["oracle_delta_ex_fees"] == -int(1 + (1 - gross / expected) * 10_000)
    assert swap["oracle_delta"] == -int(1 + (1 - swap["output_amount"] / expected) * 10_000)
    assert swap["oracle_delta"] < swap["oracle_delta_ex_fees"] <= -3


def test_a_swap_that_loses_too_much_against_the_oracle_is_refunded(broker: Swapper) -> None:
    """Refund a swap that loses more against the oracle than its request allows."""
    assert (says(broker, "Eth", 2_850), says(broker, "Usdc", 1)) == ("Ok", "Ok")  # the pool gives 1.8 % less
    happened = swapped(broker, "Eth", "Usdc", ETHER, **PROTECTED)
    assert "Swapping.RefundEgressScheduled" in happened
    assert broker.event("SwapAborted")["reason"] == "OraclePriceSlippageExceeded"
    assert "Swapping.SwapExecuted" in swapped(
        broker, "Eth", "Usdc", ETHER, max_oracle_price_slippage=300, retry_duration=0
    )


def test_who_asks_for_nothing_is_protected_by_the_pools_own_limit(broker: Swapper) -> None:
    """Protect a swap without a limit of its own by the pool's default, leg by leg."""
    assert (says(broker, "Eth", 2_850), says(broker, "Usdc", 1)) == ("Ok", "Ok")
    swapped(broker, "Eth", "Usdc", ETHER, retry_duration=0)
    assert broker.event("SwapAborted")["reason"] == "OraclePriceSlippageExceeded"  # 100 basis points
    assert says(broker, "Eth", 2_815) == "Ok"
    assert "Swapping.SwapExecuted" in swapped(broker, "Eth", "Usdc", ETHER, retry_duration=0)
    assert says(broker, "Btc", 86_000) == "Ok"
    assert "Swapping.SwapExecuted" in swapped(broker, "Eth", "Btc", ETHER, retry_duration=0)
    through = executed(broker, "Btc")
    assert -130 < through["oracle_delta_ex_fees"] < -110  # both legs: some 58 basis points each


def test_an_old_price_stops_only_those_who_ask_for_protection(broker: Swapper) -> None:
    """Refuse a swap over a stale price only where its request asks for protection."""
    assert (says(broker, "Eth", 2_800, is_stale=True), says(broker, "Usdc", 1)) == ("Ok", "Ok")
    swapped(broker, "Eth", "Usdc", ETHER, **PROTECTED)
    assert broker.event("SwapAborted")["reason"] == "OraclePriceStale"
    assert "Swapping.SwapExecuted" in swapped(broker, "Eth", "Usdc", ETHER, retry_duration=0)
    assert executed(broker, "Usdc")["oracle_delta"] is None


def test_a_fee_in_a_token_is_taken_at_the_oracles_price(broker: Swapper) -> None:
    """Charge the ingress fee of a token at the oracle's price."""
    assert (says(broker, "Eth", 2_000), says(broker, "Usdc", 1)) == ("Ok", "Ok")
    broker.deposit("Usdc", "Sol", 1_000 * USDC)
    fee = broker.event("DepositFinalised")["ingress_fee"]
    gas = 80_000 * 2_100_000_000
    dollars = -(-gas * 2_000 * USDC * 10_040 // 10_000 // ETHER)
    assert fee == dollars * 1_000_000 // 999_000


def test_the_prices_are_listed_and_taken_back(broker: Swapper) -> None:
    """List the oracle's prices by pair, remove one, and refuse an unknown feed and a price of zero."""
    assert (says(broker, "Usdt", 0.9998), says(broker, "Eth", 2_800)) == ("Ok", "Ok")
    eth, usdt = broker.world.api("CustomRuntimeApi_cf_oracle_prices", None)
    assert (eth["base_asset"], eth["quote_asset"], eth["price_status"]) == ("Eth", "Usd", "UpToDate")
    assert eth["price"] == (2_800 * USDC << 128) // ETHER
    assert eth["updated_at_statechain_block"] == broker.world.header.number
    assert broker.world.api("CustomRuntimeApi_cf_oracle_prices", ("Usdt", "Usd")) == [usdt]
    assert broker.world.api("CustomRuntimeApi_cf_oracle_prices", ("Eth", "Usdt")) == []
    assert says(broker, "Eth", None) == "Ok"
    assert broker.world.api("CustomRuntimeApi_cf_oracle_prices", None) == [usdt]
    assert says(broker, "Fine", 1) == "Dev.InvalidPrice"
    assert says(broker, "Eth", 0) == "Dev.InvalidPrice"
