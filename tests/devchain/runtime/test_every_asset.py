"""Every asset of every chain comes in, is swapped and goes out: not a unit is lost on the way."""

from __future__ import annotations

import pytest

from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime.config import DOLLAR, USD_PRICES
from tests.devchain.runtime.swapper import Swapper
from tests.support.devchain.assets import ASSET_NAMES
from tests.support.devchain.swaps import SwapsOnly

NETWORK, BROKER = 1_000, 1_000
"""The network's fee and the broker's of ten basis points, both in millionths."""


def worth(asset: str, dollars: int) -> int:
    """Return an amount of dollars in the smallest unit of an asset."""
    return dollars * DOLLAR * 10 ** ASSETS[asset].decimals // USD_PRICES.get(asset, DOLLAR)


def fee(millionths: int, amount: int) -> int:
    """Return a share to the nearest unit, halves down."""
    return (amount * millionths * 2 + 10**6 - 1) // (2 * 10**6)


@pytest.mark.parametrize("asset", ASSET_NAMES)
def test_an_asset_comes_in_and_goes_out_whole(asset: str) -> None:
    """Bring an asset in and out through two swaps: each fee is exact, and no unit is lost between them."""
    broker: Swapper = SwapsOnly()
    other = "Eth" if asset != "Eth" else "Btc"
    for source, destination in ((asset, other), (other, asset)):
        amount = worth(source, 5_000)
        earned = broker.balance(broker.account)
        names = broker.deposit(source, destination, amount)
        assert f"{ASSETS[source].chain}IngressEgress.DepositFinalised" in names
        finalised = broker.event("DepositFinalised")
        swap = finalised["action"][1]["swap_request_id"]
        broker.blocks(2)
        (executed,) = [event for event in broker.all_of("SwapExecuted") if event["swap_request_id"] == swap]
        (sent,) = [
            event for event in broker.all_of("SwapEgressScheduled") if event["swap_request_id"] == swap
        ]
        assert (sent["asset"], sent["egress_fee"][1]) == (destination, destination)
        assert sent["amount"] + sent["egress_fee"][0] == executed["output_amount"]
        assert sent["egress_id"][0] == ASSETS[destination].chain
        # Fees are taken in USDC, the network's first, the broker's of what it leaves. The event of a
        # swap of USDC has its input without them.
        fees = executed["network_fee"] + executed["broker_fee"]
        stable = {source: executed["input_amount"], destination: executed["output_amount"]}
        gross = stable.get("Usdc", executed["intermediate_amount"]) + fees
        swapped = gross if source == "Usdc" else executed["input_amount"]
        assert swapped + finalised["ingress_fee"] == amount
        assert executed["network_fee"] == fee(NETWORK, gross)
        assert executed["broker_fee"] == fee(BROKER, gross - executed["network_fee"])
        assert broker.balance(broker.account) == earned + executed["broker_fee"]
