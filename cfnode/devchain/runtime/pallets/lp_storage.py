"""Storage, events and errors of the LiquidityProvider pallet, and providers' refund addresses.

LiquidityProvider (31, pallet_cf_lp). `lp.pallet` has the calls; the pools need only this module to know that
a provider can be paid back.
"""

from __future__ import annotations

from cfnode.core.addresses import ForeignAddress, chain_of_address
from cfnode.core.assets import ASSETS
from cfnode.devchain.runtime.frame import (
    ErrorSet,
    EventSet,
    OptionalDoubleMap,
    PalletStorage,
    before,
    event,
    since,
)
from cfnode.devchain.runtime.frame.stored import StoredDoubleMap
from cfnode.devchain.runtime.pallets.asset_balances import ADDRESS_OF_ACCOUNT, AssetBalances

__all__ = ["ProviderStorage"]


class ProviderStorage(PalletStorage):
    """Where providers want their assets back."""

    LiquidityRefundAddress = OptionalDoubleMap[bytes, str, ForeignAddress](
        *ADDRESS_OF_ACCOUNT, span=before("2.3.0")
    )

    class Event(EventSet):
        """Events of providers' channels, withdrawals and transfers."""

        LiquidityDepositAddressReady = event(
            0,
            channel_id="u64",
            asset="Asset",
            deposit_address="EncodedAddress",
            account_id="AccountId32",
            deposit_chain_expiry_block="u64",
            boost_fee="u16",
            channel_opening_fee="u128",
        )
        WithdrawalEgressScheduled = event(
            1,
            egress_id="EgressId",
            asset="Asset",
            amount="u128",
            destination_address="EncodedAddress",
            fee="u128",
        )
        LiquidityRefundAddressRegistered = event(
            2, account_id="AccountId32", chain="ForeignChain", address="ForeignChainAddress"
        )
        AssetTransferred = event(3, from_="AccountId32", to="AccountId32", asset="Asset", amount="u128")
        AssetBalancePurged = event(
            4,
            account_id="AccountId32",
            asset="Asset",
            amount="u128",
            egress_id="EgressId",
            destination_address="EncodedAddress",
            fee="u128",
        )
        AssetBalancePurgeFailed = event(
            5, account_id="AccountId32", asset="Asset", amount="u128", error="DispatchError"
        )
        FlipTransferredToOnChainBalance = event(6, since("2.3.0"), account_id="AccountId32", amount="u128")

    class Error(ErrorSet):
        """Errors of providers' channels, withdrawals and transfers."""

        InsufficientBalance = "The user does not have enough funds."
        BalanceOverflow = "The user has reached the maximum balance."
        UnauthorisedToModify = "The caller is not authorized to modify the trading position."
        InvalidEgressAddress = "The Asset cannot be egressed because the destination address is not invalid."
        InvalidEncodedAddress = (
            "Then given encoded address cannot be decoded into a valid ForeignChainAddress."
        )
        NoLiquidityRefundAddressRegistered = (
            "A liquidity refund address must be set by the user for the chain before a\n"
            "deposit address can be requested."
        )
        LiquidityDepositDisabled = "Liquidity deposit is disabled due to Safe Mode."
        WithdrawalsDisabled = "Withdrawals are disabled due to Safe Mode."
        OpenOrdersRemaining = "The account still has open orders remaining."
        FundsRemaining = "The account still has funds remaining in the free balances."
        DestinationAccountNotLiquidityProvider = "The destination account is not a liquidity provider."
        CannotTransferToOriginAccount = "The account cannot transfer to itself."
        BoostedFundsRemaining = "The account still has funds remaining in the boost pools"
        InternalSwapBelowMinimumDepositAmount = (
            "The input amount of on-chain swaps must be at least the minimum deposit amount."
        )
        InternalSwapsDisabled = "Internal swaps disabled due to safe mode."
        FlipTransferToOnChainBalanceDisabled = (
            "Transfers to the on-chain balance are disabled due to safe mode.",
            since("2.3.0"),
        )
        FlipTransferToOnChainBalanceUnavailable = (
            "Transfers to the on-chain balance are only available once Flip 2.1 is active.",
            since("2.3.0"),
        )
        BelowMinimumFunding = (
            "The transferred amount is below the minimum funding amount.",
            since("2.3.0"),
        )

    @property
    def _moved(self) -> bool:
        """Whether AssetBalances stores the refund addresses."""
        return self.runtime.release.rules.addresses_lie_with_balances

    @property
    def refund_addresses(self) -> StoredDoubleMap[bytes, str, ForeignAddress, ForeignAddress | None]:
        """Refund addresses by account and chain; from 2.3 on AssetBalances stores them."""
        balances = self.other(AssetBalances)
        return balances.RefundAddresses if self._moved else self.LiquidityRefundAddress

    def refund_address(self, who: bytes, asset: str) -> ForeignAddress:
        """Return an account's refund address for an asset. Fails with NoLiquidityRefundAddressRegistered."""
        address: ForeignAddress | None = self.refund_addresses.get(who, ASSETS[asset].chain)
        if address is None:
            self.fail(self.Error.NoLiquidityRefundAddressRegistered)
        return address

    def ensure_refund_address(self, account_id: bytes, asset: str) -> None:
        """Fail with NoLiquidityRefundAddressRegistered if an account has no refund address for an asset.

        For other pallets: the error is that of the pallet which stores the addresses.
        """
        balances, has_address = self.other(AssetBalances), self._has_refund_address(account_id, asset)
        if self._moved:
            balances.ensure(has_address, balances.Error.NoLiquidityRefundAddressRegistered)
        self.ensure(has_address, self.Error.NoLiquidityRefundAddressRegistered)

    def ensure_own_refund_address(self, who: bytes, asset: str) -> None:
        """Fail with this pallet's NoLiquidityRefundAddressRegistered if there is no refund address."""
        has_address = self._has_refund_address(who, asset)
        self.ensure(has_address, self.Error.NoLiquidityRefundAddressRegistered)

    def _has_refund_address(self, who: bytes, asset: str) -> bool:
        """Return whether an account has a refund address; from 2.3 on a pending one counts."""
        balances, chain = self.other(AssetBalances), ASSETS[asset].chain
        if self._moved:
            return balances.will_have_refund_address(who, chain)
        return self.LiquidityRefundAddress.contains(who, chain)

    def register_refund_address(self, who: bytes, address: ForeignAddress) -> None:
        """Set where assets of the address's chain go back to."""
        balances = self.other(AssetBalances)
        if self._moved:
            balances.register_refund_address(who, address)
        else:
            self.LiquidityRefundAddress.put(who, chain_of_address(address), address)

    def forget(self, who: bytes) -> None:
        """Remove the refund addresses of an account that was killed."""
        self.refund_addresses.clear(who)
