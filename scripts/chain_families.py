"""Which declared types have classes? For `chain_values`.

By module of `cfnode/devchain/runtime/values`; a family may use those before it. Types that are declared for
each chain stand here once, without the chain's name.
"""

from __future__ import annotations

FAMILIES: dict[str, tuple[str, ...]] = {
    "funding": ("PendingRedemptionInfo", "RedemptionAmount", "FundingSource"),
    "messages": (
        "CcmAddress",
        "CcmAccounts",
        "VersionedSolanaCcmAdditionalData",
        "DecodedCcmAdditionalData",
        "CcmChannelMetadata",
        "CcmDepositMetadata",
        "ChannelRefundParameters",
        "CcmMetadata",
        "CheckedCcm",
        "CheckedCcmDeposit",
        "RefundParameters",
    ),
    "requests": (
        "TxId",
        "Beneficiary",
        "DcaParameters",
        "PriceLimits",
        "AccountOrAddress",
        "TransactionInIdForAnyChain",
        "SwapOrigin",
        "LendingSwapType",
        "SwapOutputActionGeneric",
        "SwapRequestTypeGeneric",
        "ExpiryBehaviour",
        "PriceLimitsAndExpiry",
    ),
    "swaps": (
        "FeeRateAndMinimum",
        "NetworkFeeTracker",
        "FeeType",
        "DcaState",
        "SwapRequestState",
        "SwapRequest",
        "SwapRefundParameters",
        "Swap",
        "swapping::PalletConfigUpdate",
        "AffiliateDetails",
        "SwapRequestCompletionReason",
        "SwapFailureReason",
    ),
    "whitelists": (
        "WhitelistChange",
        "PendingChange",
        "WithdrawalWhitelist",
        "asset_balances::PalletConfigUpdate",
    ),
    "bitcoin": ("BitcoinScript", "TapscriptPath", "DepositAddress", "UtxoId", "Utxo"),
    "channels": (
        "RefundReason",
        "AdditionalDepositAction",
        "ChannelAction",
        "BoostStatus",
        "DeploymentStatus",
        "DepositChannel",
        "DepositChannelDetails",
    ),
    "deposits": (
        "evm::DepositDetails",
        "VaultSwapOrDepositChannelId",
        "DepositWitness",
        "VaultDepositWitness",
        "DepositFailedDetails",
        "DepositAction",
        "TransactionRejectionStatus",
        "TransactionRejectionDetails",
        "BoostStatusLookup",
        "DepositOrigin",
        "PendingPrewitnessedDeposit",
        "PendingPrewitnessedDepositEntry",
    ),
}
