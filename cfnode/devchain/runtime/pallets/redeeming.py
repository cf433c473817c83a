"""How does FLIP leave the chain?

Funding (5), the rest of it: who redeems FLIP names an address on Ethereum. The authorities sign that the
gateway contract may pay it out there; until somebody has it paid out, or the time for that is over, it is in
no account. A test says with a call of `Dev` what became of it.
"""

from __future__ import annotations

from typing import ClassVar

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import Origin, call

from .broadcast.pallet import BROADCASTERS, EvmBroadcaster
from .environment import Environment
from .flip import Flip
from .funding import Funding
from .redemption import Redemption, planned
from .timestamp import Timestamp

__all__ = ["Redeeming"]

MS = 1_000


class Redeeming(Funding):
    """FLIP in and out of accounts."""

    name: ClassVar[str] = "Funding"

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
        who, error = origin.ensure_signed(), self.Error
        enabled = self.other(Environment).safe_mode("funding", "redeem_enabled")
        self.ensure(enabled, error.RedeemDisabled)
        self.ensure(not self.PendingRedemptions.contains(who), error.PendingRedemption)
        self._check_bindings(who, address, executor)
        redeemed = planned(self, who, amount, address, fee=self.RedemptionTax.get())
        self.other(Flip).burn(who, redeemed.fee)
        self.release(redeemed)
        if redeemed.amount:
            self._request(redeemed, address, executor)
        else:
            self.deposit(self.Event.RedemptionAmountZero, account_id=who)

    def _check_bindings(self, who: bytes, address: bytes, executor: bytes | None) -> None:
        """What came from an address may always go back there."""
        if address in dict(self.RestrictedBalances.get(who)):
            return
        bound = self.BoundExecutorAddress.get(who)
        self.ensure(bound in (None, executor), self.Error.ExecutorBindingRestrictionViolated)
        bound = self.BoundRedeemAddress.get(who)
        self.ensure(bound in (None, address), self.Error.AccountBindingRestrictionViolated)

    def _request(self, redeemed: Redemption, address: bytes, executor: bytes | None) -> None:
        who = redeemed.who
        self.other(Flip).set_aside(who, redeemed.amount)
        expiry = int(self.other(Timestamp).Now.get()) // MS + int(self.RedemptionTTLSeconds.get())
        arguments = values.RegisterRedemption(
            node_id=who,
            amount=redeemed.amount,
            address=address,
            expiry=expiry,
            executor="AnyAddress" if executor is None else values.RedemptionExecutorOnlyAddress(executor),
        )
        restricted = max(0, redeemed.restricted - redeemed.fee)
        self.PendingRedemptions.put(
            who,
            values.PendingRedemptionInfo(
                total=redeemed.amount, restricted=restricted, redeem_address=address
            ),
        )
        broadcaster = self.other(BROADCASTERS["Ethereum"])
        assert isinstance(broadcaster, EvmBroadcaster)
        bound = broadcaster.bound_call(values.EvmApiRegisterRedemption, arguments)
        self.deposit(
            self.Event.RedemptionRequested,
            account_id=who,
            amount=redeemed.amount,
            broadcast_id=broadcaster.start(bound),
            expiry_time=expiry,
        )

    # What became of it

    def redeemed(self, who: bytes, tx_hash: bytes) -> None:
        """It has been paid out. NoPendingRedemption."""
        self._end(who)
        amount = self.other(Flip).pay_out(who)
        self.reap_if_empty(who)
        self.deposit(self.Event.RedemptionSettled, account_id=who, amount=amount, tx_hash=tx_hash)

    def expired(self, who: bytes, tx_hash: bytes) -> None:
        """It was not paid out in time. NoPendingRedemption."""
        pending = self._end(who)
        self.other(Flip).put_back(who)
        if self.RestrictedAddresses.contains(pending.redeem_address):
            self.restrict(who, pending.restricted, pending.redeem_address)
        self.deposit(self.Event.RedemptionExpired, account_id=who, tx_hash=tx_hash)

    def _end(self, who: bytes) -> values.PendingRedemptionInfo[int]:
        return self.require(self.PendingRedemptions.take(who), self.Error.NoPendingRedemption)
