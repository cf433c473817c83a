"""Accounts and their FLIP: funding, restrictions, bindings, rebalancing and sub-accounts.

Funding (5): a holder who sends FLIP to the gateway contract on Ethereum names an account; the first FLIP
creates it. The contract enforces a minimum there; the pallet's own `MinimumFunding` is 1 FLIP on a
development chain. FLIP of an account may be restricted to an address, and an account bound to one address for
withdrawals. Accounts can rebalance FLIP to each other, and have sub-accounts.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.core.hashing import blake2_256
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import Origin, call

from .flip import Flip
from .funding_storage import FundingStorage
from .redemption import Redemption, planned
from .system import System

FUNDED_AT_GENESIS = values.FundingSourceEthTransaction(tx_hash=bytes(32), funder=bytes(20))


def sub_account_of(parent: bytes, index: int) -> bytes:
    """Return the sub-account (32 bytes) that an account has under a number from 0 to 255."""
    return blake2_256(b"chainflip/subaccount" + parent + bytes([index]))


class FundedAccounts:
    """FLIP of accounts that stays on the chain."""

    def __init__(self, funding: FundingStorage) -> None:
        self.funding = funding

    @call(6, minimum_funding="u128")
    def update_minimum_funding(self, origin: Origin, minimum_funding: int) -> None:
        """Set the least FLIP that an account may hold. Governance."""
        funding = self.funding
        origin.ensure_governance()
        funding.ensure(
            minimum_funding > funding.RedemptionTax.get(), funding.Error.InvalidMinimumFundingUpdate
        )
        funding.MinimumFunding.put(minimum_funding)
        funding.deposit(funding.Event.MinimumFundingUpdated, new_minimum=minimum_funding)

    @call(7, addresses_to_add="Vec<H160>", addresses_to_remove="Vec<H160>")
    def update_restricted_addresses(
        self, origin: Origin, addresses_to_add: Sequence[bytes], addresses_to_remove: Sequence[bytes]
    ) -> None:
        """FLIP that comes from these addresses may only go back to them. Governance."""
        funding = self.funding
        origin.ensure_governance()
        for address in addresses_to_add:
            funding.RestrictedAddresses.put(address, ())
            funding.deposit(funding.Event.AddedRestrictedAddress, address=address)
        for address in addresses_to_remove:
            funding.RestrictedAddresses.remove(address)
            for who, restricted in list(funding.RestrictedBalances.items()):
                funding.RestrictedBalances.put(who, [entry for entry in restricted if entry[0] != address])
            funding.deposit(funding.Event.RemovedRestrictedAddress, address=address)

    @call(8, address="H160")
    def bind_redeem_address(self, origin: Origin, address: bytes) -> None:
        """Bind the account's withdrawals to one Ethereum address, for ever."""
        funding = self.funding
        who = origin.ensure_signed()
        funding.ensure(not funding.BoundRedeemAddress.contains(who), funding.Error.AccountAlreadyBound)
        funding.BoundRedeemAddress.put(who, address)
        funding.deposit(funding.Event.BoundRedeemAddress, account_id=who, address=address)

    @call(9, amount="u128")
    def update_redemption_tax(self, origin: Origin, amount: int) -> None:
        """Set what a withdrawal costs. Governance."""
        funding = self.funding
        origin.ensure_governance()
        funding.ensure(amount < funding.MinimumFunding.get(), funding.Error.InvalidRedemptionTaxUpdate)
        funding.RedemptionTax.put(amount)
        funding.deposit(funding.Event.RedemptionTaxAmountUpdated, amount=amount)

    @call(10, executor_address="H160")
    def bind_executor_address(self, origin: Origin, executor_address: bytes) -> None:
        """Bind who may execute the account's withdrawals on Ethereum, for ever."""
        funding = self.funding
        who = origin.ensure_signed()
        funding.ensure(
            not funding.BoundExecutorAddress.contains(who), funding.Error.ExecutorAddressAlreadyBound
        )
        funding.BoundExecutorAddress.put(who, executor_address)
        funding.deposit(funding.Event.BoundExecutorAddress, account_id=who, address=executor_address)

    @call(
        11,
        recipient_account_id="AccountId32",
        redemption_address="Option<H160>",
        amount="RedemptionAmount<u128>",
    )
    def rebalance(
        self,
        origin: Origin,
        recipient_account_id: bytes,
        redemption_address: bytes | None,
        amount: values.RedemptionAmount[int],
    ) -> None:
        """Give FLIP to another account, which must exist and be bound to the same addresses.

        What came from the restricted `redemption_address` stays restricted there.
        """
        funding = self.funding
        who, error = origin.ensure_signed(), funding.Error
        funding.ensure(funding.other(System).exists(recipient_account_id), error.AccountMustExist)
        enough = amount == "Max" or amount.value >= funding.MinimumFunding.get()
        funding.ensure(enough, error.MinimumRebalanceAmount)
        for binding, violated in (
            (funding.BoundExecutorAddress, error.ExecutorBindingRestrictionViolated),
            (funding.BoundRedeemAddress, error.AccountBindingRestrictionViolated),
        ):
            funding.ensure(binding.get(who) == binding.get(recipient_account_id), violated)
        redemption = planned(funding, who, amount, redemption_address)
        self.release(redemption)
        if redemption.restricted and redemption.address is not None:
            self.restrict(recipient_account_id, redemption.amount, redemption.address)
        funding.other(Flip).transfer(who, recipient_account_id, redemption.amount)
        funding.deposit(
            funding.Event.Rebalance,
            source_account_id=who,
            recipient_account_id=recipient_account_id,
            amount=redemption.amount,
        )
        self.reap_if_empty(who)

    def spawn_sub_account(self, parent: bytes, index: int, amount: int) -> bytes:
        """Create a sub-account of `parent`, with some of its FLIP. Return the sub-account."""
        funding = self.funding
        funding.ensure(not funding.ParentAccount.contains(parent), funding.Error.CannotSpawnFromSubAccount)
        who, system = sub_account_of(parent, index), funding.other(System)
        funding.ensure(not system.exists(who), funding.Error.AccountAlreadyExists)
        system.inc_providers(who)
        system.inc_consumers(parent)
        funding.ParentAccount.put(who, parent)
        for binding in (funding.BoundExecutorAddress, funding.BoundRedeemAddress):
            if (address := binding.get(parent)) is not None:
                binding.put(who, address)
        self.rebalance(Origin.signed(parent), who, None, values.RedemptionAmountExact(amount))
        return who

    def release(self, moved: Redemption) -> None:
        """Lift the restriction of FLIP that leaves. Fails with RestrictedBalanceBelowMinimumFunding."""
        funding = self.funding
        restricted = dict(funding.RestrictedBalances.get(moved.who))
        if moved.address is None or moved.address not in restricted:
            return
        remaining = max(0, restricted[moved.address] - moved.debit)
        enough = not remaining or remaining >= funding.MinimumFunding.get()
        funding.ensure(enough, funding.Error.RestrictedBalanceBelowMinimumFunding)
        restricted[moved.address] = remaining
        still_restricted = sorted((address, amount) for address, amount in restricted.items() if amount)
        funding.RestrictedBalances.put(moved.who, still_restricted)

    def reap_if_empty(self, who: bytes) -> None:
        """End an account that has no FLIP left."""
        funding = self.funding
        if funding.other(Flip).balance(who):
            return
        parent = funding.ParentAccount.get(who)
        funding.other(System).dec_providers(who)
        if parent is not None:
            funding.other(System).dec_consumers(parent)

    def fund_account(self, who: bytes, amount: int, source: values.FundingSource) -> None:
        """Add FLIP that has come in to an account, and create the account if it is new."""
        funding = self.funding
        if not funding.other(System).exists(who):
            funding.other(System).inc_providers(who)
        total = funding.other(Flip).fund(who, amount)
        if isinstance(source, values.FundingSourceEthTransaction):
            self._note_restriction(who, amount, source.funder)
        funding.deposit(
            funding.Event.Funded, account_id=who, source=source, funds_added=amount, total_balance=total
        )

    def _note_restriction(self, who: bytes, amount: int, funder: bytes) -> None:
        if self.funding.RestrictedAddresses.contains(funder):
            self.restrict(who, amount, funder)

    def restrict(self, who: bytes, amount: int, address: bytes) -> None:
        """Restrict FLIP of an account to one address."""
        funding = self.funding
        restricted = dict(funding.RestrictedBalances.get(who))
        restricted[address] = restricted.get(address, 0) + amount
        funding.RestrictedBalances.put(who, sorted(restricted.items()))
