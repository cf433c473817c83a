"""Redemption of FLIP to Ethereum, and the funding of accounts at genesis.

Funding (5): `funded_accounts` funds accounts. A redemption names an address on Ethereum. The authorities sign
that the gateway contract may pay the FLIP out there; until it is paid out, or the time for that is over, the
FLIP is in no account. A test decides the outcome with a call of `Dev`.
"""

from __future__ import annotations

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import MINIMUM_FUNDING, DevGenesis
from cfnode.devchain.runtime.frame import Origin, Pallet, call, part
from cfnode.devchain.runtime.well_known import FLIP

from .broadcast.pallet import BROADCASTERS, EvmBroadcaster
from .environment_storage import EnvironmentStorage
from .flip import Flip
from .funded_accounts import FUNDED_AT_GENESIS, FundedAccounts
from .funding_storage import FundingStorage
from .redemption import Redemption, planned
from .timestamp import Timestamp

__all__ = ["Funding"]

MS = 1_000
REDEMPTION_TTL_SECONDS = 72 * 3_600
REDEMPTION_TAX = FLIP // 2
"""Fee of a redemption: below the minimum funding, as the chain demands; on the main net 5 FLIP."""


class Funding(Pallet):
    """FLIP in and out of accounts."""

    index = 5
    crate = "pallet_cf_funding"

    storage = part(FundingStorage)
    accounts = part(FundedAccounts, storage)

    def genesis(self, config: DevGenesis) -> None:
        """Store minimum, tax and time limit of redemptions, and fund the configured accounts."""
        self.storage.MinimumFunding.put(MINIMUM_FUNDING)
        self.storage.RedemptionTax.put(REDEMPTION_TAX)
        self.storage.RedemptionTTLSeconds.put(REDEMPTION_TTL_SECONDS)
        for account, amount in config.funded:
            self.accounts.fund_account(account, amount, FUNDED_AT_GENESIS)

    def on_killed_account(self, who: bytes) -> None:
        """Remove restrictions, bindings and parent of an account that ends."""
        for forgotten in (
            self.storage.RestrictedBalances,
            self.storage.BoundRedeemAddress,
            self.storage.BoundExecutorAddress,
            self.storage.ParentAccount,
        ):
            forgotten.remove(who)

    # Redeeming

    @call(
        1,
        amount="RedemptionAmount<u128>",
        address="H160",
        executor="Option<H160>",
    )
    def redeem(
        self,
        origin: Origin,
        amount: values.RedemptionAmount[int],
        address: bytes,
        executor: bytes | None,
    ) -> None:
        """Have FLIP paid out to an Ethereum address; by anybody, or only by the executor."""
        who, error = origin.ensure_signed(), self.storage.Error
        enabled = self.other(EnvironmentStorage).safe_mode("funding", "redeem_enabled")
        self.ensure(enabled, error.RedeemDisabled)
        self.ensure(not self.storage.PendingRedemptions.contains(who), error.PendingRedemption)
        self._check_bindings(who, address, executor)
        redeemed = planned(self.storage, who, amount, address, fee=self.storage.RedemptionTax.get())
        self.other(Flip).burn(who, redeemed.fee)
        self.accounts.release(redeemed)
        if redeemed.amount:
            self._request(redeemed, address, executor)
        else:
            self.deposit(self.storage.Event.RedemptionAmountZero, account_id=who)

    def _check_bindings(self, who: bytes, address: bytes, executor: bytes | None) -> None:
        """Fail if the account is bound to another address or executor.

        What came from a restricted address may always go back there.
        """
        if address in dict(self.storage.RestrictedBalances.get(who)):
            return
        bound = self.storage.BoundExecutorAddress.get(who)
        self.ensure(bound in (None, executor), self.storage.Error.ExecutorBindingRestrictionViolated)
        bound = self.storage.BoundRedeemAddress.get(who)
        self.ensure(bound in (None, address), self.storage.Error.AccountBindingRestrictionViolated)

    def _request(self, redeemed: Redemption, address: bytes, executor: bytes | None) -> None:
        who = redeemed.who
        self.other(Flip).set_aside(who, redeemed.amount)
        expiry = int(self.other(Timestamp).Now.get()) // MS + int(self.storage.RedemptionTTLSeconds.get())
        arguments = values.RegisterRedemption(
            node_id=who,
            amount=redeemed.amount,
            address=address,
            expiry=expiry,
            executor="AnyAddress" if executor is None else values.RedemptionExecutorOnlyAddress(executor),
        )
        restricted = max(0, redeemed.restricted - redeemed.fee)
        self.storage.PendingRedemptions.put(
            who,
            values.PendingRedemptionInfo(
                total=redeemed.amount, restricted=restricted, redeem_address=address
            ),
        )
        broadcaster = self.other(BROADCASTERS["Ethereum"])
        assert isinstance(broadcaster, EvmBroadcaster)
        api_call = broadcaster.bound_call(values.EvmApiRegisterRedemption, arguments)
        self.deposit(
            self.storage.Event.RedemptionRequested,
            account_id=who,
            amount=redeemed.amount,
            broadcast_id=broadcaster.start(api_call),
            expiry_time=expiry,
        )

    # Outcome of a redemption

    def redeemed(self, who: bytes, tx_hash: bytes) -> None:
        """Settle a redemption that has been paid out. Fails with NoPendingRedemption."""
        self._end(who)
        amount = self.other(Flip).pay_out(who)
        self.accounts.reap_if_empty(who)
        self.deposit(self.storage.Event.RedemptionSettled, account_id=who, amount=amount, tx_hash=tx_hash)

    def expired(self, who: bytes, tx_hash: bytes) -> None:
        """Undo a redemption that was not paid out in time. Fails with NoPendingRedemption."""
        pending = self._end(who)
        self.other(Flip).put_back(who)
        if self.storage.RestrictedAddresses.contains(pending.redeem_address):
            self.accounts.restrict(who, pending.restricted, pending.redeem_address)
        self.deposit(self.storage.Event.RedemptionExpired, account_id=who, tx_hash=tx_hash)

    def _end(self, who: bytes) -> values.PendingRedemptionInfo[int]:
        return self.require(self.storage.PendingRedemptions.take(who), self.storage.Error.NoPendingRedemption)
