"""FLIP that leaves the chain: what is asked of the gateway contract, who may, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from eth_abi.abi import decode

from cfnode.core.aura import SLOT_MS
from cfnode.core.keys import Keypair
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import FLIP
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.flip import Flip
from cfnode.devchain.runtime.pallets.funded_accounts import FundedAccounts
from tests.devchain.runtime.swapper import Swapper
from tests.devchain.runtime.world import FIRST_SLOT

ADDRESS, OTHER, EXECUTOR = b"\xad" * 20, b"\xae" * 20, b"\xee" * 20
CHARLIE = Keypair.from_suri("//Charlie")
TAX, TTL = FLIP // 2, 72 * 3_600
ARGUMENTS = ["(uint256,uint256,address)", "bytes32", "uint256", "address", "uint48", "address"]


class Owner(Swapper):
    """Charlie, who has FLIP and no role."""

    def redeem(self, amount: Any, address: bytes = ADDRESS, executor: bytes | None = None) -> str:
        """Redeem FLIP; return the outcome."""
        arguments = {"amount": amount, "address": address, "executor": executor}
        return self.submit("Funding", "redeem", CHARLIE, **arguments)

    def settle(self, expired: bool = False) -> str:
        """Settle the redemption as the gateway contract would, or let it expire; return the outcome."""
        return self.dev("settle_redemption", account_id=CHARLIE.account, expired=expired)

    @property
    def flip(self) -> int:
        """The account's FLIP."""
        balance: int = self.world.stored("Flip", "Account", CHARLIE.account)["balance"]
        return balance

    @property
    def pending(self) -> Any:
        """The pending redemption, if there is one."""
        return self.world.stored("Funding", "PendingRedemptions", CHARLIE.account)

    def supply(self) -> tuple[int, int]:
        """Return all FLIP there is, and what is outside of the chain."""
        stored = self.world.stored
        return stored("Flip", "TotalIssuance"), stored("Flip", "OffchainFunds")


@pytest.fixture
def owner() -> Owner:
    """Return an account with FLIP on a new chain."""
    return Owner()


def test_flip_is_signed_away_and_paid_out(owner: Owner) -> None:
    """Sign a redemption for the gateway contract, and count its FLIP as off the chain once it is settled."""
    before, (issued, outside) = owner.flip, owner.supply()
    assert owner.redeem(("Exact", 10 * FLIP), executor=EXECUTOR) == "Ok"
    fee = owner.event("TransactionFeePaid")["actual_fee"]
    asked = owner.event("RedemptionRequested")
    now = (FIRST_SLOT + owner.world.header.number) * SLOT_MS // 1_000
    assert (asked["amount"], asked["expiry_time"]) == (10 * FLIP, now + TTL)
    assert owner.flip == before - fee - TAX - 10 * FLIP
    assert owner.pending == {"total": 10 * FLIP, "restricted": 0, "redeem_address": ADDRESS}
    assert owner.supply() == (issued - fee - TAX, outside)

    owner.world.block()
    transaction = owner.event("TransactionBroadcastRequest")["transaction_payload"]
    gateway = owner.world.stored("Environment", "EthereumStateChainGatewayAddress")
    assert transaction["contract"] == gateway
    _, *arguments = decode(ARGUMENTS, transaction["data"][4:])
    texts = [f"0x{address.hex()}" for address in (ADDRESS, EXECUTOR)]
    assert arguments == [CHARLIE.account, 10 * FLIP, texts[0], asked["expiry_time"], texts[1]]

    assert owner.settle() == "Ok"
    settled = owner.event("RedemptionSettled")
    assert (settled["account_id"], settled["amount"]) == (CHARLIE.account, 10 * FLIP)
    assert owner.supply() == (issued - fee - TAX, outside + 10 * FLIP)
    assert owner.pending is None
    assert owner.settle() == "Funding.NoPendingRedemption"


def test_who_takes_everything_pays_no_tax_and_is_gone_once_it_is_paid_out(owner: Owner) -> None:
    """Charge no tax for redeeming everything, and remove the account once it is settled."""
    before = owner.flip
    assert owner.redeem("Max") == "Ok"
    assert (
        owner.event("RedemptionRequested")["amount"]
        == before - owner.event("TransactionFeePaid")["actual_fee"]
    )
    assert owner.flip == 0
    assert owner.settle() == "Ok"
    assert owner.event("KilledAccount") == {"account": CHARLIE.account}


def test_an_expired_redemption_is_credited_again(owner: Owner) -> None:
    """Credit an expired redemption again, and allow no second one before that."""
    assert owner.redeem(("Exact", 10 * FLIP)) == "Ok"
    assert owner.redeem(("Exact", FLIP)) == "Funding.PendingRedemption"
    left = owner.flip
    assert owner.settle(expired=True) == "Ok"
    assert owner.event("RedemptionExpired")["account_id"] == CHARLIE.account
    assert owner.flip == left + 10 * FLIP
    assert owner.redeem(("Exact", FLIP)) == "Ok"


def test_redemptions_of_too_much_are_refused(owner: Owner) -> None:
    """Refuse redemptions above the balance, below the minimum funding that stays, and of bonded FLIP."""
    owned = owner.flip
    assert owner.redeem(("Exact", owned)) == "Funding.InsufficientBalance"
    assert owner.redeem(("Exact", owned - FLIP)) == "Funding.BelowMinimumFunding"
    with owner.arranging() as runtime:
        runtime.pallet(Flip).set_bond(CHARLIE.account, owned - 3 * FLIP)
    assert owner.redeem(("Exact", 4 * FLIP)) == "Funding.BondViolation"
    assert owner.redeem("Max") == "Ok"  # what is not bonded, less the tax
    assert owner.flip == owned - 3 * FLIP


def test_a_bound_account_redeems_as_it_is_bound(owner: Owner) -> None:
    """Refuse a redemption to another address or executor than the bound ones."""
    assert owner.submit("Funding", "bind_redeem_address", CHARLIE, address=ADDRESS) == "Ok"
    assert owner.redeem(("Exact", FLIP), OTHER) == "Funding.AccountBindingRestrictionViolated"
    assert owner.submit("Funding", "bind_executor_address", CHARLIE, executor_address=EXECUTOR) == "Ok"
    assert owner.redeem(("Exact", FLIP)) == "Funding.ExecutorBindingRestrictionViolated"
    assert owner.redeem(("Exact", FLIP), executor=EXECUTOR) == "Ok"


def test_a_redemption_of_all_fails_with_a_role_and_in_safe_mode(owner: Owner) -> None:
    """Refuse to redeem everything with a role, and anything while safe mode disables redemptions."""
    assert owner.submit("LiquidityProvider", "register_lp_account", CHARLIE) == "Ok"
    assert owner.redeem("Max") == "Funding.AccountMustBeUnregistered"
    with owner.arranging() as runtime:
        modes = runtime.pallet(EnvironmentStorage).RuntimeSafeMode
        modes.put(replace(modes.get(), funding=values.FundingPalletSafeMode(redeem_enabled=False)))
    assert owner.redeem(("Exact", FLIP)) == "Funding.RedeemDisabled"


def test_restricted_flip_goes_back_to_where_it_came_from_and_nowhere_else(owner: Owner) -> None:
    """Redeem restricted FLIP only to the address that it came from; an expired one is restricted again."""
    with owner.arranging() as runtime:
        accounts, free = runtime.pallet(FundedAccounts), runtime.pallet(Flip).balance(CHARLIE.account)
        accounts.funding.RestrictedAddresses.put(ADDRESS, ())
        source = values.FundingSourceEthTransaction(tx_hash=bytes(32), funder=ADDRESS)
        accounts.fund_account(CHARLIE.account, 100 * FLIP, source)
    assert owner.redeem(("Exact", free), OTHER) == "Funding.InsufficientUnrestrictedFunds"
    assert owner.redeem(("Exact", 40 * FLIP), ADDRESS) == "Ok"
    assert owner.pending["restricted"] == 40 * FLIP
    left = 60 * FLIP - TAX
    assert dict(owner.world.stored("Funding", "RestrictedBalances", CHARLIE.account)) == {ADDRESS: left}
    assert owner.settle(expired=True) == "Ok"
    again = dict(owner.world.stored("Funding", "RestrictedBalances", CHARLIE.account))
    assert again == {ADDRESS: left + 40 * FLIP}


def test_the_account_info_has_the_redeemable_balance(owner: Owner) -> None:
    """Report the redeemable balance with the account."""
    info = owner.world.api("CustomRuntimeApi_cf_common_account_info", CHARLIE.account, "No")
    assert info["estimated_redeemable_balance"] == owner.flip
