"""Accounts: where their FLIP comes from, what they may be called, and what governance decides about them."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.keys import Keypair
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import FLIP
from cfnode.devchain.runtime.frame import DispatchError
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.flip import Flip
from cfnode.devchain.runtime.pallets.funded_accounts import FundedAccounts
from cfnode.devchain.runtime.pallets.system import System
from tests.devchain.runtime.world import ALICE, BOB, World, bare_extrinsic

STRANGER = Keypair.from_suri("//Nobody").account
FUNDER, ADDRESS = b"\xfe" * 20, b"\xad" * 20


@pytest.fixture
def world() -> World:
    """Return a new chain."""
    return World()


def governance(world: World, pallet: str, name: str, /, **arguments: Any) -> Any:
    """Make a call as governance; return its outcome."""
    call = world.call("Dev", "as_governance", call=(pallet, (name, arguments) if arguments else name))
    [(_, outcome)] = world.block(bare_extrinsic(call))
    return error_name(world, outcome)


def signed(world: World, pallet: str, name: str, /, **arguments: Any) -> Any:
    """Make a call as Alice; return its outcome."""
    [(_, outcome)] = world.block(world.sign(world.call(pallet, name, **arguments)))
    return error_name(world, outcome)


def error_name(world: World, outcome: Any) -> str | None:
    """Return none for success, else the error's name."""
    if outcome[0] == "Ok":
        return None
    if outcome[1][0] != "Module":
        return str(outcome[1])
    error = outcome[1][1]
    return world.metadata.error(error["index"], error["error"])[1]


def test_minimum_funding_stays_above_the_redemption_tax(world: World) -> None:
    """Keep the minimum funding above the redemption tax: a redemption could not pay its tax otherwise."""
    assert world.api("CustomRuntimeApi_cf_min_funding") == FLIP
    low = {"minimum_funding": FLIP // 2}
    assert governance(world, "Funding", "update_minimum_funding", **low) == "InvalidMinimumFundingUpdate"
    assert governance(world, "Funding", "update_minimum_funding", minimum_funding=3 * FLIP) is None
    high = {"amount": 3 * FLIP}
    assert governance(world, "Funding", "update_redemption_tax", **high) == "InvalidRedemptionTaxUpdate"
    assert governance(world, "Funding", "update_redemption_tax", amount=2 * FLIP) is None
    assert world.api("CustomRuntimeApi_cf_redemption_tax") == 2 * FLIP
    assert signed(world, "Funding", "update_redemption_tax", amount=1) == "BadOrigin"


def test_an_account_is_bound_to_an_address_once(world: World) -> None:
    """Bind an account to a redeem address and to an executor address once only."""
    assert signed(world, "Funding", "bind_redeem_address", address=ADDRESS) is None
    assert signed(world, "Funding", "bind_redeem_address", address=FUNDER) == "AccountAlreadyBound"
    assert world.stored("Funding", "BoundRedeemAddress", ALICE.account) == ADDRESS
    assert signed(world, "Funding", "bind_executor_address", executor_address=ADDRESS) is None
    again = signed(world, "Funding", "bind_executor_address", executor_address=ADDRESS)
    assert again == "ExecutorAddressAlreadyBound"


def test_flip_from_a_restricted_address_is_remembered_as_such(world: World) -> None:
    """Count FLIP from a restricted address by address, and none from an address that was removed."""
    lists = {"addresses_to_add": [FUNDER, ADDRESS], "addresses_to_remove": [ADDRESS]}
    assert governance(world, "Funding", "update_restricted_addresses", **lists) is None
    accounts = world.runtime.composition.pallet(FundedAccounts)
    with world.runtime.composition.on(world.journal):
        for funder in (FUNDER, FUNDER, ADDRESS):
            source = values.FundingSourceEthTransaction(tx_hash=bytes(32), funder=funder)
            accounts.fund_account(BOB.account, FLIP, source)
        assert accounts.funding.RestrictedBalances.get(BOB.account) == [(FUNDER, 2 * FLIP)]


def test_names_for_people_are_utf_8_and_listed(world: World) -> None:
    """Accept vanity names in UTF-8 only, and list them with their accounts."""
    assert signed(world, "AccountRoles", "set_vanity_name", name="Zoë".encode()) is None
    assert signed(world, "AccountRoles", "set_vanity_name", name=b"\xff") == "InvalidCharactersInName"
    assert dict(world.api("CustomRuntimeApi_cf_accounts"))[ALICE.account] == "Zoë".encode()


def test_a_role_is_taken_once_and_keeps_the_account_alive(world: World) -> None:
    """Register one role per account, keep its provider meanwhile, and refuse to leave another role."""
    runtime = world.runtime.composition
    roles, system = runtime.pallet(AccountRoles), runtime.pallet(System)
    with runtime.on(world.journal):
        with pytest.raises(DispatchError, match="never been created"):
            roles.register(STRANGER, "Broker")
        roles.register(ALICE.account, "Broker")
        with pytest.raises(DispatchError, match="already has a registered role"):
            roles.register(ALICE.account, "LiquidityProvider")
        with pytest.raises(DispatchError, match="ConsumerRemaining"):
            system.dec_providers(ALICE.account)
        with pytest.raises(DispatchError, match="BadOrigin"):
            roles.deregister(ALICE.account, "Validator")
        roles.deregister(ALICE.account, "Broker")
        system.dec_providers(ALICE.account)
        assert roles.role(ALICE.account) is None
        assert runtime.pallet(Flip).balance(ALICE.account) == 0


def test_bonded_flip_pays_fees_and_is_not_liquid(world: World) -> None:
    """Exclude bonded FLIP from fees and transfers; only a direct burn takes of it."""
    runtime = world.runtime.composition
    flip = runtime.pallet(Flip)
    with runtime.on(world.journal):
        balance = flip.balance(BOB.account)
        flip.set_bond(BOB.account, 2 * balance)
        assert (flip.bond(BOB.account), flip.liquid(BOB.account)) == (balance, 0)
        with pytest.raises(DispatchError, match="Not enough liquid funds"):
            flip.burn_liquid(BOB.account, 1)
        flip.burn(BOB.account, 1)
        assert flip.balance(BOB.account) == balance - 1
        with pytest.raises(DispatchError, match="Not enough liquid funds"):
            flip.transfer(BOB.account, ALICE.account, 1)
        flip.set_bond(BOB.account, 0)
        flip.transfer(BOB.account, ALICE.account, 5)
        assert flip.balance(BOB.account) == balance - 6
        with pytest.raises(DispatchError, match="transfer to the sender"):
            flip.transfer(BOB.account, BOB.account, 1)


def test_the_chain_tells_its_epochs_contracts_and_supply(world: World) -> None:
    """Answer the runtime API for epoch, auction, version, contracts, supply and assets of the genesis."""
    assert world.api("CustomRuntimeApi_cf_current_epoch") == 1
    assert world.api("CustomRuntimeApi_cf_epoch_duration") == 43_200
    assert world.api("CustomRuntimeApi_cf_current_epoch_started_at") == 0
    assert world.api("CustomRuntimeApi_cf_is_auction_phase") is False
    assert world.api("CustomRuntimeApi_cf_auction_state")["auction_size_range"] == (1, 150)
    assert world.api("CustomRuntimeApi_cf_current_compatibility_version") == {
        "major": 2,
        "minor": 3,
        "patch": 0,
    }
    assert world.api("CustomRuntimeApi_cf_eth_key_manager_address").hex()[:8] == "a16e02e8"
    assert world.api("CustomRuntimeApi_cf_eth_chain_id") == 10_997
    assert world.api("CustomRuntimeApi_cf_flip_supply")[0] == 90_000_000 * FLIP
    assert len(world.api("CustomRuntimeApi_cf_supported_assets")) == 21


def test_only_governance_changes_shared_settings(world: World) -> None:
    """Change shared settings by governance alone, and refuse parameters that contradict each other."""
    update = ("SetSlashingRate", 10)
    assert signed(world, "Flip", "update_pallet_config", updates=[update]) == "BadOrigin"
    assert governance(world, "Flip", "update_pallet_config", updates=[update]) is None
    assert world.stored("Flip", "SlashingRate") == 10
    params = {"consolidation_threshold": 10, "consolidation_size": 20}
    refused = governance(world, "Environment", "update_consolidation_parameters", params=params)
    assert refused == "InvalidUtxoParameters"
