"""What can a liquidity provider do, besides its orders?

LiquidityProvider (31): it registers, says where it wants its assets back, deposits into channels of its own,
takes assets out again or gives them to another provider.
"""

from __future__ import annotations

from cfnode.core.addresses import EncodedAddress, chain_of_address
from cfnode.core.assets import ASSETS
from cfnode.runtime.dev.frame import Cost, Origin, call
from cfnode.runtime.dev.pallets.account_roles import AccountRoles
from cfnode.runtime.dev.pallets.addresses import decoded
from cfnode.runtime.dev.pallets.asset_balances import AssetBalances
from cfnode.runtime.dev.pallets.environment import Environment
from cfnode.runtime.dev.pallets.flip import Flip
from cfnode.runtime.dev.pallets.ingress_egress.deposits import channel_address
from cfnode.runtime.dev.pallets.ingress_egress.pallet import INGRESS_EGRESS
from cfnode.runtime.dev.pallets.pools.pallet import PROVIDER, LiquidityPools

from .storage import ProviderStorage

__all__ = ["LiquidityProvider"]


class LiquidityProvider(ProviderStorage):
    """Providers' accounts."""

    index = 31

    @call(2, Cost(26_000_000, reads=2, writes=1))
    def register_lp_account(self, origin: Origin) -> None:
        """Take the role of a liquidity provider."""
        self.other(AccountRoles).register(origin.ensure_signed(), PROVIDER)

    @call(5, Cost(60_000_000, reads=20, writes=5))
    def deregister_lp_account(self, origin: Origin) -> None:
        """Give the role up. Nothing may be left: no order, no asset, no bond."""
        who = self._provider(origin)
        pools, flip = self.other(LiquidityPools), self.other(Flip)
        pools.ensure(not pools.has_orders(who), pools.Error.OpenOrdersRemaining)
        self.other(AssetBalances).ensure_no_funds(who)
        flip.ensure(not flip.bond(who), flip.Error.AccountBonded)
        self.other(AccountRoles).deregister(who, PROVIDER)
        self.LiquidityRefundAddress.clear(who)

    @call(4, Cost(26_000_000, reads=2, writes=1), address="EncodedAddress")
    def register_liquidity_refund_address(self, origin: Origin, address: EncodedAddress) -> None:
        """Where assets of a chain go back to; one for each chain."""
        who = self._provider(origin)
        found = decoded(self, address, self.Error.InvalidEncodedAddress)
        self.register_refund_address(who, found)
        self.deposit(
            self.Event.LiquidityRefundAddressRegistered,
            account_id=who,
            chain=chain_of_address(found),
            address=found,
        )

    @call(0, Cost(80_000_000, reads=12, writes=4), asset="Asset", boost_fee="u16")
    def request_liquidity_deposit_address(self, origin: Origin, asset: str, boost_fee: int) -> None:
        """Open a channel whose deposits are the caller's."""
        enabled = self._may("deposit_enabled")
        self.ensure(enabled, self.Error.LiquidityDepositDisabled)
        who = self._provider(origin)
        refund = self.refund_address(who, asset)
        pallet = self.other(INGRESS_EGRESS[ASSETS[asset].chain])
        action = {"lp_account": who, "refund_address": refund, "additional_action": None}
        channel = pallet.open_channel(who, asset, ("LiquidityProvision", action), boost_fee)
        self.deposit(
            self.Event.LiquidityDepositAddressReady,
            channel_id=channel.channel_id,
            asset=asset,
            deposit_address=channel_address(pallet, channel.address),
            account_id=who,
            deposit_chain_expiry_block=channel.expires_at,
            boost_fee=boost_fee,
            channel_opening_fee=channel.opening_fee,
        )

    @call(
        1,
        Cost(70_000_000, reads=11, writes=4),
        amount="u128",
        asset="Asset",
        destination_address="EncodedAddress",
    )
    def withdraw_asset(
        self, origin: Origin, amount: int, asset: str, destination_address: EncodedAddress
    ) -> None:
        """Send an amount to an address on its chain, less the fee of the transfer."""
        who = self._may_withdraw(origin)
        if not amount:
            return
        destination = decoded(self, destination_address, self.Error.InvalidEgressAddress)
        fits = chain_of_address(destination) == ASSETS[asset].chain
        self.ensure(fits, self.Error.InvalidEgressAddress)
        self.other(AssetBalances).debit(who, asset, amount)
        pallet = self.other(INGRESS_EGRESS[ASSETS[asset].chain])
        egress = pallet.schedule_egress(asset, amount, destination[1])
        self.deposit(
            self.Event.WithdrawalEgressScheduled,
            egress_id=egress.egress_id,
            asset=asset,
            amount=egress.amount,
            destination_address=destination_address,
            fee=egress.fee,
        )

    @call(6, Cost(70_000_000, reads=6, writes=2), amount="u128", asset="Asset", destination="AccountId32")
    def transfer_asset(self, origin: Origin, amount: int, asset: str, destination: bytes) -> None:
        """Give an amount to another provider."""
        who, error = self._may_withdraw(origin), self.Error
        if not amount:
            return
        self.ensure(who != destination, error.CannotTransferToOriginAccount)
        is_provider = self.other(AccountRoles).role(destination) == PROVIDER
        self.ensure(is_provider, error.DestinationAccountNotLiquidityProvider)
        self.refund_address(destination, asset)
        self.other(AssetBalances).debit(who, asset, amount)
        self.other(AssetBalances).credit(destination, asset, amount)
        self.deposit(self.Event.AssetTransferred, **{"from": who}, to=destination, asset=asset, amount=amount)

    def _provider(self, origin: Origin) -> bytes:
        return self.other(AccountRoles).ensure_role(origin, PROVIDER)

    def _may_withdraw(self, origin: Origin) -> bytes:
        self.ensure(self._may("withdrawal_enabled"), self.Error.WithdrawalsDisabled)
        return self._provider(origin)

    def _may(self, switch: str) -> bool:
        return self.other(Environment).safe_mode("liquidity_provider", switch)
