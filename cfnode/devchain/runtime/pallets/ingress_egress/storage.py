"""Storage, events, errors and constants of the ingress-egress pallets.

‹Chain›IngressEgress (pallet_cf_ingress_egress). `ingress_egress.pallet` has the calls and hooks; the other
modules of the package need only this class.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.core.addresses import Script
from cfnode.core.assets import gas_asset
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import CHAIN_INSTANCES
from cfnode.devchain.runtime.frame import (
    ConstantSet,
    ErrorSet,
    EventSet,
    Map,
    OptionalDoubleMap,
    OptionalMap,
    OptionalValue,
    Value,
    constant,
    event,
    since,
)
from cfnode.devchain.runtime.pallets.chain_pallet import ChainStorage, storage_per_chain
from cfnode.devchain.runtime.pallets.chain_tracking import CHAIN_TRACKING, ChainTracking

__all__ = ["INGRESS_EGRESS", "IngressEgressStorage"]


class IngressEgressStorage(ChainStorage):
    """Channels, queues and marks of one chain."""

    DepositChannelLookup = OptionalMap[bytes | Script, values.DepositChannelDetails](
        "Twox64Concat", "Account", "DepositChannelDetails"
    )
    ChannelIdCounter = Value[int]("u64")
    EgressIdCounter = Value[int]("u64")
    ScheduledEgressFetchOrTransfer = Value[Sequence[values.FetchOrTransfer]]("Vec<FetchOrTransfer>")
    ScheduledEgressCcm = Value[Sequence[values.CrossChainMessage]]("Vec<CrossChainMessage>")
    DisabledEgressAssets = OptionalMap[str, tuple[()]]("Twox64Concat", "ChainAsset", "()")
    DepositChannelPool = OptionalMap[int, values.DepositChannel]("Twox64Concat", "u64", "DepositChannel")
    MinimumDeposit = Map[str, int]("Twox64Concat", "ChainAsset", "Amount")
    EgressDustLimit = Map[str, int]("Twox64Concat", "ChainAsset", "u128", default=1)
    DepositChannelLifetime = Value[int]("Height")
    FailedForeignChainCalls = Map[int, Sequence[values.FailedForeignChainCall]](
        "Twox64Concat", "u32", "Vec<FailedForeignChainCall>"
    )
    DepositChannelRecycleBlocks = Value[Sequence[tuple[int, bytes | Script]]]("Vec<(Height, Account)>")
    WitnessSafetyMargin = OptionalValue[int]("Height")
    ChannelOpeningFee = Value[int]("u128")
    BoostDelayBlocks = Value[int]("u32")
    IngressDelayBlocks = Value[int]("u32")
    PendingPrewitnessedDeposits = Map[int, Sequence[values.PendingPrewitnessedDepositEntry]](
        "Twox64Concat", "u32", "Vec<PendingPrewitnessedDepositEntry>"
    )
    PendingDepositChannelDeposits = Map[int, Sequence[tuple[values.DepositWitness, int]]](
        "Twox64Concat", "u32", "Vec<(DepositWitness, Height)>"
    )
    PendingVaultDeposits = Map[int, Sequence[tuple[values.VaultDepositWitness, int]]](
        "Twox64Concat", "u32", "Vec<(VaultDepositWitness, Height)>"
    )
    PrewitnessedDepositIdCounter = Value[int]("PrewitnessedDepositId")
    TransactionsMarkedForRejection = OptionalDoubleMap[
        bytes, bytes | values.TxId | tuple[bytes, int], values.TransactionRejectionStatus[int]
    ](
        "Identity",
        "AccountId32",
        "Blake2_128Concat",
        "TransactionInId",
        "TransactionRejectionStatus<u32>",
    )
    ReportExpiresAt = Map[int, Sequence[tuple[bytes, bytes | values.TxId | tuple[bytes, int]]]](
        "Twox64Concat", "u32", "Vec<(AccountId32, TransactionInId)>"
    )
    WhitelistedBrokers = Map[bytes, tuple[()]]("Identity", "AccountId32", "()")
    ScheduledTransactionsForRejection = Value[Sequence[values.TransactionRejectionDetails]](
        "Vec<TransactionRejectionDetails>"
    )
    FailedRejections = Value[Sequence[values.TransactionRejectionDetails]]("Vec<TransactionRejectionDetails>")
    BoostedVaultTransactions = Map[bytes | values.TxId | tuple[bytes, int], values.BoostStatus[int, int]](
        "Identity", "TransactionInId", "BoostStatus<Amount, u32>", default="NotBoosted"
    )
    ProcessedUpTo = Value[int]("Height")
    BroadcastActions = OptionalMap[int, values.BroadcastAction[bytes | Script]](
        "Twox64Concat", "u32", "BroadcastAction"
    )
    MaximumPreallocatedChannels = Map[str, int]("Twox64Concat", "AccountRole", "u8")
    PreallocatedChannels = Map[bytes, Sequence[values.DepositChannel]](
        "Twox64Concat", "AccountId32", "Vec<DepositChannel>"
    )
    BoostedVaultTransactionTimeout = Value[
        Sequence[tuple[bytes | values.TxId | tuple[bytes, int], tuple[int, str]]]
    ]("BTreeMap<TransactionInId, (Height, ChainAsset)>", span=since("2.3.0"))

    class Constant(ConstantSet):
        """Constants of deposits."""

        AllowTransactionReports = constant("bool", True)

    class Event(EventSet):
        """Events of deposit channels, deposits and egress."""

        DepositFinalised = event(
            0,
            deposit_address="Option<Account>",
            asset="ChainAsset",
            amount="Amount",
            block_height="Height",
            deposit_details="DepositDetails",
            ingress_fee="Amount",
            max_boost_fee_bps="u16",
            action="DepositAction",
            channel_id="Option<u64>",
            origin_type="DepositOriginType",
        )
        CcmBroadcastRequested = event(2, broadcast_id="u32", egress_id="EgressId")
        BatchBroadcastRequested = event(5, broadcast_id="u32", egress_ids="Vec<EgressId>")
        TransferFallbackRequested = event(
            7,
            asset="ChainAsset",
            amount="Amount",
            destination_address="Account",
            broadcast_id="u32",
            egress_details="Option<ScheduledEgressDetails>",
        )
        CcmBroadcastFailed = event(8, broadcast_id="u32")
        FailedForeignChainCallResigned = event(9, broadcast_id="u32", threshold_signature_id="u32")
        FailedForeignChainCallExpired = event(10, broadcast_id="u32")
        DepositFetchesScheduled = event(4, channel_id="u64", asset="ChainAsset")
        DepositFailed = event(
            6, block_height="Height", reason="DepositFailedReason", details="DepositFailedDetails"
        )
        AssetEgressStatusChanged = event(1, asset="ChainAsset", disabled="bool")
        UtxoConsolidation = event(11, broadcast_id="u32")
        FailedToBuildAllBatchCall = event(12, error="AllBatchError")
        ChannelOpeningFeePaid = event(13, fee="u128")
        DepositBoosted = event(
            14,
            deposit_address="Option<Account>",
            asset="ChainAsset",
            amounts="BTreeMap<BoostSource, Amount>",
            deposit_details="DepositDetails",
            prewitnessed_deposit_id="PrewitnessedDepositId",
            channel_id="Option<u64>",
            block_height="Height",
            ingress_fee="Amount",
            max_boost_fee_bps="u16",
            boost_fee="BTreeMap<BoostSource, Amount>",
            action="DepositAction",
            origin_type="DepositOriginType",
        )
        InsufficientBoostLiquidity = event(
            15,
            prewitnessed_deposit_id="PrewitnessedDepositId",
            asset="ChainAsset",
            amount_attempted="Amount",
            channel_id="Option<u64>",
            origin_type="DepositOriginType",
        )
        BoostedDepositLost = event(16, prewitnessed_deposit_id="PrewitnessedDepositId", amount="Amount")
        TransactionRejectionRequestReceived = event(
            17, account_id="AccountId32", tx_id="TransactionInId", expires_at="u32"
        )
        TransactionRejectionRequestExpired = event(18, account_id="AccountId32", tx_id="TransactionInId")
        TransactionRejectedByBroker = event(19, broadcast_id="u32", tx_id="DepositDetails")
        TransactionRejectionFailed = event(20, tx_id="DepositDetails").changed(
            since("2.3.0"), tx_id="DepositDetails", reason="RefundFailureReason"
        )
        UnknownBroker = event(21, broker_id="AccountId32")
        UnknownAffiliate = event(22, broker_id="AccountId32", short_affiliate_id="AffiliateShortId")
        PalletConfigUpdated = event(24, update="PalletConfigUpdate")
        ChannelRejectionRequestReceived = event(25, account_id="AccountId32", deposit_address="Account")

    class Error(ErrorSet):
        """Errors of deposit channels, deposits and egress."""

        InvalidDepositAddress = (
            "The deposit address is not valid. It may have expired or may never have been issued."
        )
        AssetMismatch = "A deposit was made using the wrong asset."
        ChannelIdsExhausted = "Channel ID has reached maximum"
        MissingPolkadotVault = "Polkadot's Vault Account does not exist in storage."
        MissingBitcoinVault = "Bitcoin's Vault key does not exist for the current epoch."
        BitcoinChannelIdTooLarge = "Channel ID is too large for Bitcoin address derivation"
        BelowEgressDustLimit = "The amount is below the minimum egress amount."
        SolanaAddressDerivationError = "Solana address derivation error."
        MissingSolanaApiEnvironment = (
            "Solana's Environment variables cannot be loaded via the SolanaEnvironment."
        )
        DepositChannelCreationDisabled = "Disabled due to safe mode for the chain"
        InvalidCcm = "CCM parameters from a vault swap failed validity check."
        UnsupportedChain = "Unsupported chain"
        TransactionAlreadyPrewitnessed = (
            "Transaction cannot be reported after being pre-witnessed or boosted."
        )
        MissingAssethubVault = "Assethub's Vault Account does not exist in storage."
        ChainDeprecated = "The Chain is deprecated, support is being phased out."
        CannotMarkChannel = "A channel is marked by an invalid account (not owner and not whitelisted)"

    @property
    def tracking(self) -> ChainTracking:
        """The tracking pallet of the same chain."""
        return self.other(CHAIN_TRACKING[self.chain.name])

    @property
    def gas_asset(self) -> str:
        """The asset in which the chain takes its transaction fees."""
        return gas_asset(self.chain.name).name


INGRESS_EGRESS = storage_per_chain(IngressEgressStorage)
"""Ingress-egress storage by chain: `pallet.other(INGRESS_EGRESS["Bitcoin"])`."""


class _NoReports(IngressEgressStorage.Constant):
    AllowTransactionReports = constant("bool", False)


for _name, _chain in CHAIN_INSTANCES.items():
    if not _chain.takes_reports:
        INGRESS_EGRESS[_name].Constant = _NoReports  # type: ignore[misc]
