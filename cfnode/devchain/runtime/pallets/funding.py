"""How do accounts come into being?

Funding (5): a holder who sends FLIP to the gateway contract on Ethereum names an account; the first FLIP
creates it. The contract enforces a minimum there; the pallet's own `MinimumFunding` is 1 FLIP on a
development chain. Addresses may be restricted, and accounts bound to one address for withdrawals. FLIP goes
from one account to another, and an account may have accounts of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.core.hashing import blake2_256
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import FLIP, MINIMUM_FUNDING, DevGenesis
from cfnode.devchain.runtime.frame import Origin, call

from .flip import Flip
from .funding_storage import FundingStorage
from .redemption import Redemption, planned
from .system import System

FUNDED_AT_GENESIS = values.FundingSourceEthTransaction(tx_hash=bytes(32), funder=bytes(20))
REDEMPTION_TTL_SECONDS = 72 * 3_600
REDEMPTION_TAX = FLIP // 2
"""Below the minimum funding, as the chain demands; on the main net 5 FLIP."""


def sub_account_of(parent: bytes, index: int) -> bytes:
    """The account that an account has under a number from 0 to 255."""
    return blake2_256(b"chainflip/subaccount" + parent + bytes([index]))


class Funding(FundingStorage):
    """FLIP in and out of accounts."""

    index = 5

    @call(6, minimum_funding="u128")
    def update_minimum_funding(self, origin: Origin, minimum_funding: int) -> None:
        """Set the least FLIP that an account may hold. Governance."""
        origin.ensure_governance()
        self.ensure(minimum_funding > self.RedemptionTax.get(), self.Error.InvalidMinimumFundingUpdate)
        self.MinimumFunding.put(minimum_funding)
        self.deposit(self.Event.MinimumFundingUpdated, new_minimum=minimum_funding)

    @call(7, addresses_to_add="Vec<H160>", addresses_to_remove="Vec<H160>")
    def update_restricted_addresses(
        self, origin: Origin, addresses_to_add: Sequence[bytes], addresses_to_remove: Sequence[bytes]
    ) -> None:
        """FLIP that comes from these addresses may only go back to them. Governance."""
        origin.ensure_governance()
        for address in addresses_to_add:
            self.RestrictedAddresses.put(address, ())
            self.deposit(self.Event.AddedRestrictedAddress, address=address)
        for address in addresses_to_remove:
            self.RestrictedAddresses.remove(address)
            for who, restricted in list(self.RestrictedBalances.items()):
                self.RestrictedBalances.put(who, [each for each in restricted if each[0] != address])
            self.deposit(self.Event.RemovedRestrictedAddress, address=address)

    @call(8, address="H160")
    def bind_redeem_address(self, origin: Origin, address: bytes) -> None:
        """Bind the account's withdrawals to one Ethereum address, for ever."""
        who = origin.ensure_signed()
        self.ensure(not self.BoundRedeemAddress.contains(who), self.Error.AccountAlreadyBound)
        self.BoundRedeemAddress.put(who, address)
        self.deposit(self.Event.BoundRedeemAddress, account_id=who, address=address)

    @call(9, amount="u128")
    def update_redemption_tax(self, origin: Origin, amount: int) -> None:
        """Set what a withdrawal costs. Governance."""
        origin.ensure_governance()
        self.ensure(amount < self.MinimumFunding.get(), self.Error.InvalidRedemptionTaxUpdate)
        self.RedemptionTax.put(amount)
        self.deposit(self.Event.RedemptionTaxAmountUpdated, amount=amount)

    @call(10, executor_address="H160")
    def bind_executor_address(self, origin: Origin, executor_address: bytes) -> None:
        """Bind who may execute the account's withdrawals on Ethereum, for ever."""
        who = origin.ensure_signed()
        self.ensure(not self.BoundExecutorAddress.contains(who), self.Error.ExecutorAddressAlreadyBound)
        self.BoundExecutorAddress.put(who, executor_address)
        self.deposit(self.Event.BoundExecutorAddress, account_id=who, address=executor_address)

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
        who, error = origin.ensure_signed(), self.Error
        self.ensure(self.other(System).exists(recipient_account_id), error.AccountMustExist)
        enough = amount == "Max" or amount.value >= self.MinimumFunding.get()
        self.ensure(enough, error.MinimumRebalanceAmount)
        for bound, violated in (
            (self.BoundExecutorAddress, error.ExecutorBindingRestrictionViolated),
            (self.BoundRedeemAddress, error.AccountBindingRestrictionViolated),
        ):
            self.ensure(bound.get(who) == bound.get(recipient_account_id), violated)
        moved = planned(self, who, amount, redemption_address)
        self.release(moved)
        if moved.restricted and moved.address is not None:
            self.restrict(recipient_account_id, moved.amount, moved.address)
        self.other(Flip).transfer(who, recipient_account_id, moved.amount)
        self.deposit(
            self.Event.Rebalance,
            source_account_id=who,
            recipient_account_id=recipient_account_id,
            amount=moved.amount,
        )
        self.reap_if_empty(who)

    def spawn_sub_account(self, parent: bytes, index: int, amount: int) -> bytes:
        """Create an account that belongs to `parent`, with FLIP of its; returns it."""
        self.ensure(not self.ParentAccount.contains(parent), self.Error.CannotSpawnFromSubAccount)
        who, system = sub_account_of(parent, index), self.other(System)
        self.ensure(not system.exists(who), self.Error.AccountAlreadyExists)
        system.inc_providers(who)
        system.inc_consumers(parent)
        self.ParentAccount.put(who, parent)
        for bound in (self.BoundExecutorAddress, self.BoundRedeemAddress):
            if (address := bound.get(parent)) is not None:
                bound.put(who, address)
        self.rebalance(Origin.signed(parent), who, None, values.RedemptionAmountExact(amount))
        return who

    def release(self, moved: Redemption) -> None:
        """Free FLIP that leaves of its restriction. RestrictedBalanceBelowMinimumFunding."""
        restricted = dict(self.RestrictedBalances.get(moved.who))
        if moved.address is None or moved.address not in restricted:
            return
        left = max(0, restricted[moved.address] - moved.debit)
        enough = not left or left >= self.MinimumFunding.get()
        self.ensure(enough, self.Error.RestrictedBalanceBelowMinimumFunding)
        restricted[moved.address] = left
        kept = sorted((address, amount) for address, amount in restricted.items() if amount)
        self.RestrictedBalances.put(moved.who, kept)

    def reap_if_empty(self, who: bytes) -> None:
        """End an account that has nothing left."""
        if self.other(Flip).balance(who):
            return
        parent = self.ParentAccount.get(who)
        self.other(System).dec_providers(who)
        if parent is not None:
            self.other(System).dec_consumers(parent)

    def genesis(self, config: DevGenesis) -> None:
        self.MinimumFunding.put(MINIMUM_FUNDING)
        self.RedemptionTax.put(REDEMPTION_TAX)
        self.RedemptionTTLSeconds.put(REDEMPTION_TTL_SECONDS)
        for account, amount in config.funded:
            self.fund_account(account, amount, FUNDED_AT_GENESIS)

    def fund_account(self, who: bytes, amount: int, source: values.FundingSource) -> None:
        """FLIP has come in for this account: create it if it is new."""
        if not self.other(System).exists(who):
            self.other(System).inc_providers(who)
        total = self.other(Flip).fund(who, amount)
        if isinstance(source, values.FundingSourceEthTransaction):
            self._note_restriction(who, amount, source.funder)
        self.deposit(
            self.Event.Funded, account_id=who, source=source, funds_added=amount, total_balance=total
        )

    def _note_restriction(self, who: bytes, amount: int, funder: bytes) -> None:
        if self.RestrictedAddresses.contains(funder):
            self.restrict(who, amount, funder)

    def restrict(self, who: bytes, amount: int, address: bytes) -> None:
        """Let FLIP of an account go nowhere but to an address."""
        restricted = dict(self.RestrictedBalances.get(who))
        restricted[address] = restricted.get(address, 0) + amount
        self.RestrictedBalances.put(who, sorted(restricted.items()))

    def on_killed_account(self, who: bytes) -> None:
        for forgotten in (
            self.RestrictedBalances,
            self.BoundRedeemAddress,
            self.BoundExecutorAddress,
            self.ParentAccount,
        ):
            forgotten.remove(who)
