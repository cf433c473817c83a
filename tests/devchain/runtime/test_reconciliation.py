"""What accounts that have paid for transactions get back when an epoch begins."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from tests.devchain.runtime.swapper import ETHER, Swapper
from tests.support.devchain.broadcasts import until
from tests.support.devchain.safe_mode import safe_mode

SMALL, LARGE = ("Account", ("Eth", b"\x01" * 20)), ("Account", ("Eth", b"\x02" * 20))
MONITORING = "MonitoringRuntimeApi_cf_fee_imbalance"


def arrange(broker: Swapper, asset: str, withheld: int, *debts: tuple[Any, int]) -> None:
    """Set the withheld fees of an asset, and what is owed of it."""
    with broker.arranging() as runtime:
        balances = runtime.pallet(AssetBalances)
        balances.Liabilities.put(asset, [(owner_of(owner), owed) for owner, owed in debts])
        balances.WithheldAssets.put(asset, withheld)


def owner_of(stated: Any) -> values.ExternalOwner:
    """Return an owner of a debt as the runtime's type."""
    owner: values.ExternalOwner = stated if stated == "Vault" else values.ExternalOwnerAccount(stated[1])
    return owner


def begin_epoch(broker: Swapper) -> list[str]:
    """Return the names of what happens, up to the new epoch, and of refunds."""
    assert broker.dev("end_epoch") == "Ok"
    until(broker, "NewEpoch")
    return [name for name in broker.world.names() if name.partition(".")[0] in ("AssetBalances", "Validator")]


def test_the_largest_debt_is_paid_first_and_the_rest_is_a_deficit() -> None:
    """Pay the largest debt first, and report what the withheld fees do not cover as a deficit."""
    broker = Swapper()
    arrange(broker, "Eth", 12 * ETHER, (SMALL, 3 * ETHER), (LARGE, 10 * ETHER))
    assert begin_epoch(broker) == [
        "Validator.NewEpoch", "AssetBalances.RefundScheduled", "AssetBalances.VaultDeficitDetected",
    ]  # fmt: skip
    refund = broker.event("RefundScheduled")
    assert (refund["destination"], refund["amount"]) == (LARGE[1], 10 * ETHER)
    assert broker.event("VaultDeficitDetected") == {
        "chain": "Ethereum", "amount_owed": 3 * ETHER, "available": 2 * ETHER,
    }  # fmt: skip
    assert broker.world.stored("AssetBalances", "Liabilities", "Eth") == [(SMALL, 3 * ETHER)]
    assert broker.world.stored("AssetBalances", "WithheldAssets", "Eth") == 2 * ETHER
    assert broker.world.api(MONITORING)["ethereum"] == ("Deficit", ETHER)
    batch = broker.event("BatchBroadcastRequested")
    assert batch["egress_ids"] == [refund["egress_id"]]


def test_a_vault_is_paid_from_the_withheld_fees_and_nothing_is_sent() -> None:
    """Settle a vault's debt from the withheld fees without a transfer."""
    broker = Swapper()
    arrange(broker, "Btc", 700, ("Vault", 1_000))
    assert begin_epoch(broker) == ["Validator.NewEpoch", "AssetBalances.VaultDeficitDetected"]
    assert broker.world.stored("AssetBalances", "Liabilities", "Btc") == [("Vault", 300)]
    assert broker.world.stored("AssetBalances", "WithheldAssets", "Btc") == 0
    arrange(broker, "Btc", 700, ("Vault", 300))
    assert begin_epoch(broker) == ["Validator.NewEpoch"]
    assert broker.world.stored("AssetBalances", "Liabilities", "Btc") == []
    assert broker.world.stored("AssetBalances", "WithheldAssets", "Btc") == 400


@pytest.mark.parametrize(
    ("release", "multiple", "fee"), [("2.2.3", 100, 5_668_000), ("2.2.9", 15, 6_168_000)]
)
def test_a_refund_that_costs_too_much_is_left_out(release: str, multiple: int, fee: int) -> None:
    """On Tron, where 2.2.9 changed the fee, and how many times that a refund has to be."""
    broker = Swapper(config=DevGenesis(release=release))
    owner = "Account", ("Tron", b"\x01" * 20)
    if release != "2.2.3":  # set by the upgrade to 2.2.9
        with broker.arranging() as runtime:
            runtime.pallet(AssetBalances).RefundFeeMultiple.put("Tron", multiple)
    for owed, paid in (((multiple + 1) * fee - 1, False), ((multiple + 1) * fee, True)):
        arrange(broker, "Trx", 10**12, (owner, owed))
        counter = broker.world.stored("TronIngressEgress", "EgressIdCounter")
        names = begin_epoch(broker)
        assert ("AssetBalances.RefundScheduled" in names) is paid
        assert ("AssetBalances.RefundSkipped" in names) is not paid
        assert broker.world.stored("TronIngressEgress", "EgressIdCounter") == counter + paid
        assert broker.world.stored("AssetBalances", "WithheldAssets", "Trx") == 10**12 - owed * paid
        if not paid:
            skipped = broker.event("RefundSkipped")
            assert (skipped["chain"], skipped["address"]) == ("Tron", owner[1])
            assert broker.world.stored("AssetBalances", "Liabilities", "Trx") == [(owner, owed)]


def test_safe_mode_stops_refunds() -> None:
    """Refund nothing while safe mode disables reconciliation; the debts stay."""
    broker = Swapper()
    arrange(broker, "Eth", 12 * ETHER, (LARGE, 10 * ETHER))
    safe_mode(broker, "asset_balances", "reconciliation_enabled")
    assert begin_epoch(broker) == ["Validator.NewEpoch"]
    assert broker.world.stored("AssetBalances", "Liabilities", "Eth") == [(LARGE, 10 * ETHER)]
