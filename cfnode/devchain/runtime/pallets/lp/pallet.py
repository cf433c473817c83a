"""Calls of liquidity providers on their accounts, deposits, withdrawals and swaps.

LiquidityProvider (31): a provider registers, says where it wants its assets back, deposits into channels of
its own, takes assets out again, swaps them or gives them to another provider. Its orders are in the pools.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.core.addresses import EncodedAddress, ForeignAddress, chain_of_address
from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import DispatchError, Origin, Pallet, call, part, since
from cfnode.devchain.runtime.pallets.account_roles import AccountRoles
from cfnode.devchain.runtime.pallets.addresses import decoded, encoded
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.flip import Flip
from cfnode.devchain.runtime.pallets.funded_accounts import FundedAccounts
from cfnode.devchain.runtime.pallets.ingress_egress.deposits import channel_address
from cfnode.devchain.runtime.pallets.ingress_egress.egress import schedule_egress
from cfnode.devchain.runtime.pallets.ingress_egress.opening import open_channel
from cfnode.devchain.runtime.pallets.ingress_egress.storage import INGRESS_EGRESS
from cfnode.devchain.runtime.pallets.lp_storage import ProviderStorage
from cfnode.devchain.runtime.pallets.pools.pallet import PROVIDER
from cfnode.devchain.runtime.pallets.pools.storage import PoolsStorage
from cfnode.devchain.runtime.pallets.pools.sweeping import sweep
from cfnode.devchain.runtime.pallets.swap_requests.requests import UserSwap, limits_of, request_swap
from cfnode.devchain.runtime.pallets.swap_requests.storage import SwappingStorage

__all__ = ["LiquidityProvider"]


class LiquidityProvider(Pallet):
    """Providers' accounts."""

    index = 31
    crate = "pallet_cf_lp"

    storage = part(ProviderStorage)

    def on_killed_account(self, who: bytes) -> None:
        """Remove the refund addresses of an account that ends."""
        self.storage.forget(who)

    @call(2)
    def register_lp_account(self, origin: Origin) -> None:
        """Take the role of a liquidity provider."""
        self.other(AccountRoles).register(origin.ensure_signed(), PROVIDER)

    @call(5)
    def deregister_lp_account(self, origin: Origin) -> None:
        """Give the role up. No order and no asset may be left; a bond may."""
        who, pools = self._provider(origin), self.other(PoolsStorage)
        pools.ensure(not pools.has_orders(who), pools.Error.OpenOrdersRemaining)
        self.other(AssetBalances).ensure_no_funds(who)
        self.other(AssetBalances).ensure_no_whitelist(who)
        if self.runtime.release.rules.pending_swaps_bind_providers:
            self.other(SwappingStorage).ensure_no_swap(who)
        self.other(AccountRoles).deregister(who, PROVIDER)
        self.storage.refund_addresses.clear(who)
        self.other(AssetBalances).drop_pending(who)

    @call(4, address="EncodedAddress")
    def register_liquidity_refund_address(self, origin: Origin, address: EncodedAddress) -> None:
        """Where assets of a chain go back to; one for each chain."""
        who = self._provider(origin)
        foreign = decoded(self, address, self.storage.Error.InvalidEncodedAddress)
        self.storage.register_refund_address(who, foreign)
        self.deposit(
            self.storage.Event.LiquidityRefundAddressRegistered,
            account_id=who,
            chain=chain_of_address(foreign),
            address=foreign,
        )

    @call(0, asset="Asset", boost_fee="u16")
    def request_liquidity_deposit_address(self, origin: Origin, asset: str, boost_fee: int) -> None:
        """Open a channel whose deposits are the caller's."""
        enabled = self._may("deposit_enabled")
        self.ensure(enabled, self.storage.Error.LiquidityDepositDisabled)
        who = self._provider(origin)
        refund = self.storage.refund_address(who, asset)
        pallet = self.other(INGRESS_EGRESS[ASSETS[asset].chain])
        action = values.ChannelActionLiquidityProvision(
            lp_account=who, refund_address=refund, additional_action=None
        )
        channel = open_channel(pallet, who, asset, action, boost_fee)
        self.deposit(
            self.storage.Event.LiquidityDepositAddressReady,
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
        destination = decoded(self, destination_address, self.storage.Error.InvalidEgressAddress)
        is_on_chain = chain_of_address(destination) == ASSETS[asset].chain
        self.ensure(is_on_chain, self.storage.Error.InvalidEgressAddress)
        self._ensure_allowed(who, values.ExternalAddress(destination))
        self._take(who, asset, amount)
        pallet = self.other(INGRESS_EGRESS[ASSETS[asset].chain])
        egress = schedule_egress(pallet, asset, amount, destination[1])
        self.deposit(
            self.storage.Event.WithdrawalEgressScheduled,
            egress_id=egress.egress_id,
            asset=asset,
            amount=egress.amount,
            destination_address=destination_address,
            fee=egress.fee,
        )

    @call(6, amount="u128", asset="Asset", destination="AccountId32")
    def transfer_asset(self, origin: Origin, amount: int, asset: str, destination: bytes) -> None:
        """Give an amount to another provider."""
        who, error = self._may_withdraw(origin), self.storage.Error
        if not amount:
            return
        self.ensure(who != destination, error.CannotTransferToOriginAccount)
        is_provider = self.other(AccountRoles).role(destination) == PROVIDER
        self.ensure(is_provider, error.DestinationAccountNotLiquidityProvider)
        self.storage.ensure_own_refund_address(destination, asset)
        self._ensure_allowed(who, values.InternalAccount(destination))
        self._take(who, asset, amount)
        self.other(AssetBalances).credit(destination, asset, amount)
        self.deposit(
            self.storage.Event.AssetTransferred, **{"from": who}, to=destination, asset=asset, amount=amount
        )

    @call(
        7,
        amount="u128",
        input_asset="Asset",
        output_asset="Asset",
        retry_duration="u32",
        price_limits="PriceLimits",
        dca_params="Option<DcaParameters>",
    )
    def schedule_swap(
        self,
        origin: Origin,
        amount: int,
        input_asset: str,
        output_asset: str,
        retry_duration: int,
        price_limits: values.PriceLimits,
        dca_params: values.DcaParameters | None,
    ) -> None:
        """Swap what the caller owns; it stays on the chain, and costs the fee of internal swaps only.

        As on the main net neither the time of retries nor the chunks are limited, and a swap that gives up
        goes back to the balance that it came from.
        """
        self.ensure(self._may("internal_swaps_enabled"), self.storage.Error.InternalSwapsDisabled)
        who = self._provider(origin)
        minimum = self.other(INGRESS_EGRESS[ASSETS[input_asset].chain]).MinimumDeposit.get(input_asset)
        self.ensure(amount >= minimum, self.storage.Error.InternalSwapBelowMinimumDepositAmount)
        self.storage.ensure_own_refund_address(who, output_asset)
        self._take_or_fail(who, input_asset, amount)
        swap = UserSwap(
            input_asset=input_asset,
            input_amount=amount,
            output_asset=output_asset,
            output_action=values.SwapOutputActionCreditOnChain(who),
            origin=values.SwapOriginOnChainAccount(who),
            limits=limits_of(price_limits, retry_duration, values.InternalAccount(who)),
            dca=dca_params,
        )
        request_swap(self.other(SwappingStorage), swap)

    @call(8, accounts="Vec<(AccountId32, Asset, u128)>")
    def purge_balances(self, origin: Origin, accounts: Sequence[tuple[bytes, str, int]]) -> None:
        """Send what providers own back to them, up to an amount each. Governance."""
        origin.ensure_governance()
        for who, asset, amount in accounts:
            self.runtime.host.begin()
            try:
                self._purge(who, asset, amount)
            except DispatchError as error:
                self.runtime.host.rollback()
                self.deposit(
                    self.storage.Event.AssetBalancePurgeFailed,
                    account_id=who,
                    asset=asset,
                    amount=amount,
                    error=error.value,
                )
            else:
                self.runtime.host.commit()

    @call(9, since("2.3.0"), amount="u128")
    def transfer_flip_to_on_chain_balance(self, origin: Origin, amount: int) -> None:
        """Move deposited FLIP to the caller's balance on the chain, from which it can only be redeemed."""
        error, flip = self.storage.Error, self.other(Flip)
        self.ensure(self._may("flip_to_on_chain_balance_enabled"), error.FlipTransferToOnChainBalanceDisabled)
        who, accounts = self._provider(origin), self.other(FundedAccounts)
        self.ensure(flip.pays_rewards, error.FlipTransferToOnChainBalanceUnavailable)
        self.ensure(amount >= accounts.funding.MinimumFunding.get(), error.BelowMinimumFunding)
        self._take_or_fail(who, "Flip", amount)
        accounts.fund_account(who, amount, "FreeBalance")
        self.other(SwappingStorage).record_gateway_liability(amount)
        self.deposit(self.storage.Event.FlipTransferredToOnChainBalance, account_id=who, amount=amount)

    def _purge(self, who: bytes, asset: str, amount: int) -> None:
        is_provider = self.other(AccountRoles).role(who) == PROVIDER
        self.ensure(is_provider, self.storage.Error.DestinationAccountNotLiquidityProvider)
        destination = self.storage.refund_address(who, asset)
        sweep(self.other(PoolsStorage), who)
        purged = min(amount, self.other(AssetBalances).balance(who, asset))
        self.ensure(purged, self.storage.Error.InsufficientBalance)
        self._take(who, asset, purged)
        egress = schedule_egress(
            self.other(INGRESS_EGRESS[ASSETS[asset].chain]), asset, purged, destination[1]
        )
        self.deposit(
            self.storage.Event.AssetBalancePurged,
            account_id=who,
            asset=asset,
            amount=egress.amount,
            egress_id=egress.egress_id,
            destination_address=encoded(self, destination),
            fee=egress.fee,
        )

    def _take(self, who: bytes, asset: str, amount: int) -> None:
        """Take an amount from a provider's balance, after adding what its orders have earned."""
        if amount:
            sweep(self.other(PoolsStorage), who)
            self.other(AssetBalances).debit(who, asset, amount)

    def _take_or_fail(self, who: bytes, asset: str, amount: int) -> None:
        """Take an amount from a provider's balance. Fails with this pallet's InsufficientBalance."""
        try:
            self._take(who, asset, amount)
        except DispatchError:
            self.fail(self.storage.Error.InsufficientBalance)

    def _ensure_allowed(
        self, who: bytes, destination: values.AccountOrAddress[bytes, ForeignAddress]
    ) -> None:
        if self.runtime.release.rules.withdrawal_whitelists:
            self.other(AssetBalances).ensure_allowed(who, destination)

    def _provider(self, origin: Origin) -> bytes:
        return self.other(AccountRoles).ensure_role(origin, PROVIDER)

    def _may_withdraw(self, origin: Origin) -> bytes:
        self.ensure(self._may("withdrawal_enabled"), self.storage.Error.WithdrawalsDisabled)
        return self._provider(origin)

    def _may(self, switch: str) -> bool:
        return self.other(EnvironmentStorage).safe_mode("liquidity_provider", switch)
