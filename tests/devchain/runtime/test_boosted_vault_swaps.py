"""The block in which the lenders of a boosted vault swap lose their funds."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.pallets.ingress_egress.boost import BOOSTER
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from tests.devchain.runtime.broker import address_on
from tests.devchain.runtime.swapper import BITCOIN, Swapper
from tests.support.devchain.vault_swaps import TRANSACTION, opened, send


@pytest.fixture
def broker() -> Swapper:
    """Return a broker on a new chain."""
    return Swapper()


def boosted_vault_swap(broker: Swapper) -> tuple[Any, dict[str, Any]]:
    """Return a boosted vault swap of one bitcoin that is not yet final, and how it was sent."""
    assert broker.dev("set_boost_depth", asset="Btc", amount=10 * BITCOIN) == "Ok"
    details, sent = opened(broker, boost_fee=10), {"amount": BITCOIN, "sender": address_on("Bitcoin")}
    assert send(broker, details, **sent, is_final=False) == "Ok"
    return details, sent


def timeouts(broker: Swapper) -> list[Any]:
    """Return the heights at which boosted vault swaps are given up."""
    by_block: list[Any] = broker.world.stored("BitcoinIngressEgress", "BoostedVaultTransactionTimeout")
    return by_block


def pass_height(broker: Swapper, height: int) -> None:
    """Witness Bitcoin up to a height."""
    with broker.arranging() as runtime:
        runtime.pallet(INGRESS_EGRESS["Bitcoin"]).ProcessedUpTo.put(height)
    broker.blocks(1)


def test_a_boosted_vault_swap_that_never_becomes_final_is_lost_after_two_lifetimes(broker: Swapper) -> None:
    """Give up a boosted vault swap after two channel lifetimes, at the very height, at the boosters' cost."""
    height = broker.world.stored("BitcoinChainTracking", "CurrentChainState")["block_height"]
    lifetime = broker.world.stored("BitcoinIngressEgress", "DepositChannelLifetime")
    details, sent = boosted_vault_swap(broker)
    at = height + 1 + lifetime + 1 + lifetime + 1
    assert timeouts(broker) == [(TRANSACTION, (at, "Btc"))]
    before = broker.balance(BOOSTER, "Btc")
    pass_height(broker, at - 1)
    assert broker.all_of("BoostedDepositLost") == []
    pass_height(broker, at)
    assert broker.event("BoostedDepositLost") == {"prewitnessed_deposit_id": 1, "amount": BITCOIN}
    assert (timeouts(broker), broker.balance(BOOSTER, "Btc")) == ([], before)
    assert (
        broker.world.stored("BitcoinIngressEgress", "BoostedVaultTransactions", TRANSACTION) == "NotBoosted"
    )
    assert send(broker, details, **sent) == "Ok"
    assert broker.event("DepositFinalised")["action"][0] != "BoostersCredited"


def test_a_boosted_vault_swap_that_is_final_is_not_lost_any_more(broker: Swapper) -> None:
    """Remove the deadline of a boosted vault swap that became final."""
    details, sent = boosted_vault_swap(broker)
    ((_, (at, _)),) = timeouts(broker)
    assert send(broker, details, **sent) == "Ok"
    assert timeouts(broker) == []
    pass_height(broker, at)
    assert broker.all_of("BoostedDepositLost") == []


def test_boosted_vault_swaps_are_lost_each_in_its_time(broker: Swapper) -> None:
    """Give up each boosted vault swap at its own height."""
    details, sent = boosted_vault_swap(broker)
    earlier = b"\x11" * 32
    assert send(broker, details, **sent, transaction=earlier, is_final=False) == "Ok"
    (first, (at, _)), (second, _) = timeouts(broker)
    assert (first, second) == (earlier, TRANSACTION), "in the order of their names"
    with broker.arranging() as runtime:
        queue = runtime.pallet(INGRESS_EGRESS["Bitcoin"]).BoostedVaultTransactionTimeout
        queue.put([(earlier, (at, "Btc")), (TRANSACTION, (at + 5, "Btc"))])
    pass_height(broker, at)
    assert broker.event("BoostedDepositLost")["prewitnessed_deposit_id"] == 2
    assert timeouts(broker) == [(TRANSACTION, (at + 5, "Btc"))]


def test_a_boosted_vault_swap_of_2_2_is_never_lost() -> None:
    """Never give up a boosted vault swap in 2.2, as that release has no deadline."""
    broker = Swapper(config=DevGenesis(release="2.2.9"))
    details, sent = boosted_vault_swap(broker)
    pass_height(broker, 2**40)
    assert broker.all_of("BoostedDepositLost") == []
    assert send(broker, details, **sent) == "Ok"
    assert broker.event("DepositFinalised")["action"][0] == "BoostersCredited"
