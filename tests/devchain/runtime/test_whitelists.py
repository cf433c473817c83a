"""Whitelists of destinations: without one anything is allowed, with one its entries, after a timelock."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.keys import Keypair
from cfnode.devchain.runtime.pallets.asset_balances import DAY, AssetBalances
from tests.devchain.runtime.broker import address_on
from tests.devchain.runtime.swapper import ETHER
from tests.devchain.runtime.world import BOB, FIRST_SLOT
from tests.support.devchain.market import Market

LISTED, OTHER = ("Eth", b"\x07" * 20), ("Eth", b"\x08" * 20)
CHARLIE = Keypair.from_suri("//Charlie")
REFUSED = "AssetBalances.DestinationNotAllowed"


@pytest.fixture
def market() -> Market:
    """Return a provider on a chain with pools."""
    return Market()


def change(market: Market, verb: str, destination: Any) -> str:
    """Change an entry of the whitelist; return the outcome."""
    return market.submit("AssetBalances", "update_whitelist", BOB, change=(verb, destination))


def lock(market: Market, seconds: int) -> str:
    """Set the timelock of the whitelist; return the outcome."""
    return market.submit("AssetBalances", "set_whitelist_timelock", BOB, duration=seconds)


def withdraw(market: Market, to: tuple[str, bytes]) -> str:
    """Withdraw an ether; return the outcome."""
    return market.provide("withdraw_asset", amount=ETHER, asset="Eth", destination_address=to)


def configure(market: Market, update: Any) -> None:
    """Change a setting as governance; assert its event."""
    governed = ("AssetBalances", ("update_pallet_config", {"update": update}))
    assert market.dev("as_governance", call=governed) == "Ok"
    assert market.event("PalletConfigUpdated") == {"update": update}


def now(market: Market) -> int:
    """Return the time of the best block in seconds."""
    return 6 * (FIRST_SLOT + market.world.header.number)


def whitelist(market: Market) -> Any:
    """Return the provider's whitelist."""
    return market.world.stored("AssetBalances", "WithdrawalWhitelists", BOB.account)


def test_only_listed_destinations_and_the_refund_address_are_allowed(market: Market) -> None:
    """Allow listed destinations and the refund address alone, and none but those once there is a list."""
    assert market.submit("LiquidityProvider", "register_lp_account", CHARLIE) == "Ok"
    to_ethereum = {"address": address_on("Ethereum")}
    assert (
        market.submit("LiquidityProvider", "register_liquidity_refund_address", CHARLIE, **to_ethereum)
        == "Ok"
    )
    gift = {"amount": 1, "asset": "Eth", "destination": CHARLIE.account}
    assert withdraw(market, OTHER) == market.provide("transfer_asset", **gift) == "Ok"
    assert change(market, "Allow", ("ExternalAddress", ("Btc", b"nowhere"))) == (
        "AssetBalances.InvalidEncodedAddress"
    )

    assert change(market, "Allow", ("ExternalAddress", LISTED)) == "Ok"
    listed = ("Allow", ("ExternalAddress", LISTED))
    scheduled = {"account_id": BOB.account, "change": listed, "apply_at": now(market)}
    assert market.event("WhitelistUpdateScheduled") == scheduled
    assert whitelist(market) == {"external": [("Ethereum", [LISTED])], "internal": [], "timelock": 0}
    assert withdraw(market, OTHER) == market.provide("transfer_asset", **gift) == REFUSED
    assert withdraw(market, LISTED) == withdraw(market, address_on("Ethereum")) == "Ok"
    assert change(market, "Allow", ("InternalAccount", CHARLIE.account)) == "Ok"
    assert market.provide("transfer_asset", **gift) == "Ok"

    with market.arranging() as runtime:
        runtime.pallet(AssetBalances).FreeBalances.clear(BOB.account)
    assert market.provide("deregister_lp_account") == "AssetBalances.WithdrawalWhitelistNotCleared"
    assert change(market, "Remove", ("InternalAccount", CHARLIE.account)) == "Ok"
    assert change(market, "Remove", ("ExternalAddress", LISTED)) == "Ok"
    assert (whitelist(market), market.provide("deregister_lp_account")) == (None, "Ok")


def test_a_change_waits_for_the_timelock_that_there_was_before_it(market: Market) -> None:
    """Delay a change by the timelock that held before it: a thief of the key could shorten it otherwise."""
    assert lock(market, 10 * DAY + 1) == "AssetBalances.TimelockExceedsMaximum"
    assert lock(market, 12) == "Ok"
    updated = {"account_id": BOB.account, "duration": 12, "effective_at": now(market)}
    assert market.event("WhitelistTimelockUpdated") == updated
    assert withdraw(market, OTHER) == REFUSED, "a timelock alone is a whitelist without entries"

    assert change(market, "Allow", ("ExternalAddress", OTHER)) == "Ok"
    assert market.event("WhitelistUpdateScheduled")["apply_at"] == now(market) + 12
    assert withdraw(market, OTHER) == REFUSED
    market.blocks(1)
    assert withdraw(market, OTHER) == "Ok"

    old, new = address_on("Ethereum"), ("Eth", b"\x09" * 20)
    for address in (LISTED, new):
        assert market.provide("register_liquidity_refund_address", address=address) == "Ok"
    arbitrum = address_on("Arbitrum")
    assert market.provide("register_liquidity_refund_address", address=arbitrum) == "Ok"
    registered = ("AssetBalances", "RefundAddresses", BOB.account)
    assert market.world.stored(*registered, "Ethereum") == old
    assert market.world.stored(*registered, "Arbitrum") is None
    assert market.limit("Sell", 0, ETHER, base_asset="ArbEth") == "AssetBalances.InsufficientBalance"
    assert market.limit("Sell", 0, ETHER, base_asset="Sol") == (
        "AssetBalances.NoLiquidityRefundAddressRegistered"
    )
    market.blocks(1)
    assert [market.world.stored(*registered, chain) for chain in ("Ethereum", "Arbitrum")] == [new, arbitrum]

    assert lock(market, 0) == "Ok"
    assert (whitelist(market)["timelock"], lock(market, 6)) == (12, "Ok")
    market.blocks(2)
    assert whitelist(market)["timelock"] == 6, "the change before it was dropped"
    assert market.world.stored("AssetBalances", "PendingChanges") == []


def test_entries_and_changes_that_wait_are_bounded(market: Market) -> None:
    """Limit entries, pending changes and the timelock, and report a change that is dropped."""
    configure(market, ("MaxWhitelistEntries", {"count": 1}))
    configure(market, ("MaxPendingWhitelistUpdates", {"count": 1}))
    configure(market, ("MaxWhitelistTimelock", {"seconds": 60}))
    assert lock(market, 61) == "AssetBalances.TimelockExceedsMaximum"
    assert change(market, "Allow", ("ExternalAddress", LISTED)) == "Ok"
    assert change(market, "Allow", ("ExternalAddress", OTHER)) == "Ok"
    dropped = {"account_id": BOB.account, "change": ("Allow", ("ExternalAddress", OTHER))}
    assert market.event("WhitelistUpdateDropped") == dropped
    assert lock(market, 60) == "Ok"
    assert change(market, "Remove", ("ExternalAddress", LISTED)) == "Ok"
    too_many = "AssetBalances.TooManyPendingUpdates"
    assert change(market, "Allow", ("ExternalAddress", OTHER)) == too_many
    assert lock(market, 6) == "Ok", "it counts whitelist changes only"
    for multiple, stored in ((7, 7), (None, 100)):
        configure(market, ("RefundFeeMultiple", {"chain": "Bsc", "multiple": multiple}))
        assert market.world.stored("AssetBalances", "RefundFeeMultiple", "Bsc") == stored
