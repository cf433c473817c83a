"""FLIP that goes from one account to another, and accounts that an account has of its own."""

from __future__ import annotations

from typing import Any

import pytest

from cfnode.core.hashing import blake2_256
from cfnode.core.keys import Keypair
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import FLIP
from cfnode.devchain.runtime.pallets.flip import Flip
from cfnode.devchain.runtime.pallets.funded_accounts import FundedAccounts
from tests.devchain.runtime.broker import Broker, request
from tests.devchain.runtime.world import ALICE, BOB

ADDRESS, OTHER = b"\xad" * 20, b"\xae" * 20
CHARLIE = Keypair.from_suri("//Charlie")
FIRST = blake2_256(b"chainflip/subaccount" + ALICE.account + b"\x00")


class Owner(Broker):
    """Alice, who is a broker and has accounts of her own."""

    def spawn(self, index: int = 0, amount: int = 10 * FLIP, pair: Keypair = ALICE) -> str:
        """Create a sub-account; return the outcome."""
        arguments = {"sub_account_index": index, "initial_amount": amount}
        return self.submit("AccountRoles", "spawn_sub_account", pair, **arguments)

    def as_sub_account(self, pallet: str, name: str, index: int = 0, /, **arguments: Any) -> str:
        """Make a call as a sub-account; return the outcome."""
        call = (pallet, (name, arguments) if arguments else name)
        return self.submit("AccountRoles", "as_sub_account", sub_account_index=index, call=call)

    def give(self, amount: Any, to: bytes = BOB.account, address: bytes | None = None) -> str:
        """Rebalance FLIP from Charlie to another account; return the outcome."""
        arguments = {"recipient_account_id": to, "redemption_address": address, "amount": amount}
        return self.submit("Funding", "rebalance", CHARLIE, **arguments)

    def flip(self, account: bytes) -> int:
        """Return the FLIP of an account."""
        balance: int = self.world.stored("Flip", "Account", account)["balance"]
        return balance

    def restricted(self, account: bytes) -> dict[bytes, int]:
        """Return the restricted FLIP of an account by address."""
        return dict(self.world.stored("Funding", "RestrictedBalances", account))


@pytest.fixture
def owner() -> Owner:
    """Return a broker on a new chain."""
    return Owner()


def test_a_sub_account_is_made_from_its_owners_flip(owner: Owner) -> None:
    """Create a sub-account from its owner's FLIP, bound to the owner's redeem address."""
    assert owner.submit("Funding", "bind_redeem_address", address=ADDRESS) == "Ok"
    before = owner.flip(ALICE.account)
    assert owner.spawn() == "Ok"
    assert owner.world.names(1)[:3] == [
        "System.NewAccount",
        "Funding.Rebalance",
        "AccountRoles.SubAccountCreated",
    ]
    created = {"account_id": ALICE.account, "sub_account_id": FIRST, "sub_account_index": 0}
    assert owner.event("SubAccountCreated") == created
    paid = owner.event("TransactionFeePaid")["actual_fee"]
    assert owner.flip(FIRST) == 10 * FLIP == before - paid - owner.flip(ALICE.account)
    assert owner.world.stored("Funding", "ParentAccount", FIRST) == ALICE.account
    assert owner.world.stored("Funding", "BoundRedeemAddress", FIRST) == ADDRESS


def test_it_is_used_like_any_other_and_its_owner_pays(owner: Owner) -> None:
    """Call as a sub-account with its own role; the owner pays and uses its nonce."""
    assert owner.spawn() == "Ok"
    assert owner.as_sub_account("LiquidityProvider", "register_lp_account") == "Ok"
    assert owner.event("SubAccountCallExecuted")["sub_account_id"] == FIRST
    assert owner.world.stored("AccountRoles", "AccountRoles", FIRST) == "LiquidityProvider"
    assert owner.world.stored("AccountRoles", "AccountRoles", ALICE.account) == "Broker"
    channel = "request_swap_deposit_address_with_affiliates"
    assert owner.as_sub_account("Swapping", channel, **request()) == "BadOrigin"
    assert owner.as_sub_account("System", "remark", 1, remark=b"") == "AccountRoles.UnknownAccount"
    assert owner.flip(FIRST) == 10 * FLIP
    assert owner.world.api("AccountNonceApi_account_nonce", FIRST) == 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"amount": FLIP - 1}, "Funding.MinimumRebalanceAmount"),
        ({"amount": 10**27}, "Funding.InsufficientBalance"),
        ({"index": 0}, "Funding.AccountAlreadyExists"),
    ],
)
def test_one_that_cannot_be_made(owner: Owner, arguments: dict[str, int], error: str) -> None:
    """Refuse a sub-account with too little or too much FLIP or a used index, and create nothing."""
    assert owner.spawn() == "Ok"
    assert owner.spawn(**({"index": 5} | arguments)) == error
    fifth = blake2_256(b"chainflip/subaccount" + ALICE.account + b"\x05")
    assert not owner.world.stored("System", "Account", fifth)["providers"]


def test_it_has_none_of_its_own(owner: Owner) -> None:
    """Refuse a sub-account of a sub-account."""
    assert owner.spawn() == "Ok"
    inner = {"sub_account_index": 0, "initial_amount": FLIP}
    refused = owner.as_sub_account("AccountRoles", "spawn_sub_account", **inner)
    assert refused == "Funding.CannotSpawnFromSubAccount"


def test_it_ends_when_its_last_flip_goes_back_and_frees_its_owner(owner: Owner) -> None:
    """Remove a sub-account that returns its last FLIP, and release its owner's consumer."""
    assert owner.spawn() == "Ok"
    consumers = owner.world.stored("System", "Account", ALICE.account)["consumers"]
    back = {"recipient_account_id": ALICE.account, "redemption_address": None, "amount": "Max"}
    assert owner.as_sub_account("LiquidityProvider", "register_lp_account") == "Ok"
    assert owner.as_sub_account("Funding", "rebalance", **back) == "Funding.AccountMustBeUnregistered"
    assert owner.as_sub_account("LiquidityProvider", "deregister_lp_account") == "Ok"
    assert owner.as_sub_account("Funding", "rebalance", **back) == "Ok"
    assert owner.event("KilledAccount") == {"account": FIRST}
    assert owner.world.stored("System", "Account", ALICE.account)["consumers"] == consumers - 1
    assert owner.world.stored("Funding", "ParentAccount", FIRST) is None


def test_flip_is_given_to_another_account(owner: Owner) -> None:
    """Rebalance FLIP to another account, with both in the event."""
    before = owner.flip(BOB.account)
    assert owner.give(("Exact", 5 * FLIP)) == "Ok"
    assert owner.event("Rebalance") == {
        "source_account_id": CHARLIE.account,
        "recipient_account_id": BOB.account,
        "amount": 5 * FLIP,
    }
    assert owner.flip(BOB.account) == before + 5 * FLIP


def test_transfers_that_the_chain_refuses(owner: Owner) -> None:
    """Refuse a rebalance that breaks a limit, a bond or a binding of either account."""
    owned = owner.flip(CHARLIE.account)
    assert owner.give("Max", b"\x77" * 32) == "Funding.AccountMustExist"
    assert owner.give(("Exact", FLIP - 1)) == "Funding.MinimumRebalanceAmount"
    assert owner.give(("Exact", owned + 1)) == "Funding.InsufficientBalance"
    assert owner.give(("Exact", owned - FLIP)) == "Funding.BelowMinimumFunding"
    assert owner.give(("Exact", FLIP), CHARLIE.account) == "Flip.CanNotTransferToSelf"
    with owner.arranging() as runtime:
        runtime.pallet(Flip).set_bond(CHARLIE.account, owned - 3 * FLIP)
    assert owner.give(("Exact", 4 * FLIP)) == "Funding.BondViolation"
    assert owner.submit("Funding", "bind_redeem_address", CHARLIE, address=ADDRESS) == "Ok"
    assert owner.give(("Exact", FLIP)) == "Funding.AccountBindingRestrictionViolated"
    assert owner.submit("Funding", "bind_executor_address", BOB, executor_address=OTHER) == "Ok"
    assert owner.give(("Exact", FLIP)) == "Funding.ExecutorBindingRestrictionViolated"


def test_who_gives_all_is_gone(owner: Owner) -> None:
    """Remove an account that gives away all of its FLIP."""
    assert owner.give("Max") == "Ok"
    assert owner.event("KilledAccount") == {"account": CHARLIE.account}


def test_a_restricted_balance_stays_restricted(owner: Owner) -> None:
    """Keep restricted FLIP restricted on the account that receives it."""
    with owner.arranging() as runtime:
        accounts = runtime.pallet(FundedAccounts)
        owned = runtime.pallet(Flip).balance(CHARLIE.account)
        accounts.funding.RestrictedAddresses.put(ADDRESS, ())
        source = values.FundingSourceEthTransaction(tx_hash=bytes(32), funder=ADDRESS)
        accounts.fund_account(CHARLIE.account, 100 * FLIP, source)
    info = owner.world.api("CustomRuntimeApi_cf_common_account_info", CHARLIE.account, "No")
    assert info["estimated_redeemable_balance"] == owned - FLIP // 2
    assert owner.give(("Exact", owned)) == "Funding.InsufficientUnrestrictedFunds"
    most = 100 * FLIP - FLIP // 2
    assert owner.give(("Exact", most), address=ADDRESS) == "Funding.RestrictedBalanceBelowMinimumFunding"
    assert owner.give(("Exact", 40 * FLIP), address=ADDRESS) == "Ok"
    assert owner.restricted(CHARLIE.account) == {ADDRESS: 60 * FLIP}
    assert owner.restricted(BOB.account) == {ADDRESS: 40 * FLIP}
    assert owner.give(("Exact", 60 * FLIP), address=ADDRESS) == "Ok"
    assert owner.restricted(CHARLIE.account) == {}
