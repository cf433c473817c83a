"""Storage, events and errors of the Funding pallet.

Funding (5, pallet_cf_funding). `funded_accounts` funds accounts, `funding` redeems their FLIP, and
`redemption` says how much may leave an account.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import (
    ErrorSet,
    EventSet,
    Map,
    OptionalMap,
    PalletStorage,
    Value,
    event,
)

__all__ = ["FundingStorage"]


class FundingStorage(PalletStorage):
    """Bounds, bindings and restrictions of accounts."""

    PendingRedemptions = OptionalMap[bytes, values.PendingRedemptionInfo[int]](
        "Blake2_128Concat", "AccountId32", "PendingRedemptionInfo<u128>"
    )
    MinimumFunding = Value[int]("u128")
    RedemptionTTLSeconds = Value[int]("u64")
    BoundExecutorAddress = OptionalMap[bytes, bytes]("Blake2_128Concat", "AccountId32", "H160")
    RestrictedAddresses = OptionalMap[bytes, tuple[()]]("Blake2_128Concat", "H160", "()")
    RestrictedBalances = Map[bytes, Sequence[tuple[bytes, int]]](
        "Blake2_128Concat", "AccountId32", "BTreeMap<H160, u128>"
    )
    BoundRedeemAddress = OptionalMap[bytes, bytes]("Blake2_128Concat", "AccountId32", "H160")
    RedemptionTax = Value[int]("u128")
    ParentAccount = OptionalMap[bytes, bytes]("Identity", "AccountId32", "AccountId32")

    class Event(EventSet):
        """Events of funding, redemption and rebalancing."""

        Funded = event(
            0, account_id="AccountId32", source="FundingSource", funds_added="u128", total_balance="u128"
        )
        RedemptionRequested = event(
            1, account_id="AccountId32", amount="u128", broadcast_id="u32", expiry_time="u64"
        )
        RedemptionSettled = event(2, account_id="AccountId32", amount="u128", tx_hash="[u8; 32]")
        RedemptionExpired = event(3, account_id="AccountId32", tx_hash="[u8; 32]")
        AddedRestrictedAddress = event(4, address="H160")
        RemovedRestrictedAddress = event(5, address="H160")
        FailedFundingAttempt = event(6, account_id="AccountId32", withdrawal_address="H160", amount="u128")
        MinimumFundingUpdated = event(7, new_minimum="u128")
        RedemptionTaxAmountUpdated = event(8, amount="u128")
        RedemptionAmountZero = event(9, account_id="AccountId32")
        BoundRedeemAddress = event(10, account_id="AccountId32", address="H160")
        BoundExecutorAddress = event(11, account_id="AccountId32", address="H160")
        Rebalance = event(
            12, source_account_id="AccountId32", recipient_account_id="AccountId32", amount="u128"
        )
        SCCallExecuted = event(
            13, caller="AccountId32", sc_call="EthereumSCApi<u128>", eth_tx_hash="[u8; 32]"
        )
        SCCallCannotBeExecuted = event(
            14,
            caller="AccountId32",
            sc_call="EthereumSCApi<u128>",
            call_error="DispatchErrorWithPostInfo<PostDispatchInfo>",
            eth_tx_hash="[u8; 32]",
        )
        SCCallCannotBeDecoded = event(15, caller="AccountId32", sc_call_bytes="Bytes", eth_tx_hash="[u8; 32]")

    class Error(ErrorSet):
        """Errors of funding and redemption."""

        NoPendingRedemption = (
            "An invalid redemption has been witnessed: the account has no pending redemptions."
        )
        PendingRedemption = "The redeemer tried to redeem despite having a redemption already pending."
        BelowMinimumFunding = "When requesting a redemption, you must not have an amount below the minimum."
        RestrictedBalanceBelowMinimumFunding = (
            "When requesting a redemption, all restricted balances must be above the minimum."
        )
        InsufficientUnrestrictedFunds = "There are not enough unrestricted funds to process the redemption."
        InvalidMinimumFundingUpdate = "Minimum funding amount must be greater than the redemption tax."
        InvalidRedemptionTaxUpdate = "Redemption tax must be less than the minimum funding amount."
        InsufficientBalance = "The account has insufficient funds to pay for the redemption."
        AccountAlreadyBound = "The account is already bound to an address."
        AccountBindingRestrictionViolated = "The account is bound to a withdrawal address."
        RedeemDisabled = "Redeem is disabled due to Safe Mode."
        ExecutorBindingRestrictionViolated = "The executor for this account is bound to another address."
        ExecutorAddressAlreadyBound = "The account is already bound to an executor address."
        AccountMustBeUnregistered = "The account cannot be reaped before it is unregistered."
        CanNotRebalanceToNotBiddingValidator = (
            "During auction phase its not possible to rebalance to a non-bidding validator if the "
            "source validator is currently bidding."
        )
        BondViolation = "The withdrawal would leave the account with a balance below the bond."
        AccountMustExist = "Funds can only be sent to accounts that already exist."
        MinimumRebalanceAmount = "The rebalance amount must be at least the minimum funding amount."
        AccountAlreadyExists = "Cannot spawn an account that already exists."
        CannotSpawnDuringAuctionPhase = (
            "Cannot spawn a sub-account if the parent account is bidding in an auction."
        )
        CannotSpawnFromSubAccount = "Cannot spawn a sub-account from another sub-account."
        AccountHasRemainingConsumers = (
            "The account has remaining consumers (eg. subaccounts), so it cannot be reaped."
        )
        SubAccountIdDerivationFailed = "The sub-account ID derivation failed, should never happen."
