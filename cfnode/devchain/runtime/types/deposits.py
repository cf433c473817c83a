"""Types of witnessed deposits and their outcomes, rejections and boosts, for all chains (runtime 2.2)."""

from __future__ import annotations

from cfnode.devchain.runtime.chains import ChainInstance
from cfnode.devchain.runtime.frame.types import Catalog, enum, struct
from cfnode.devchain.runtime.releases import Release, by_release

from . import addresses, assets, channels, environment, swaps  # noqa: F401  (named below)

_INGRESS_EGRESS = "pallet_cf_ingress_egress"

struct("sol_prim::signature::Signature", "[u8; 64]", name="sol::Signature")
struct("cf_chains::dot::PolkadotSignature", "[u8; 64]")
struct("cf_chains::dot::PolkadotTransactionId", block_number="u32", extrinsic_index="u32")
struct("cf_chains::evm::SchnorrVerificationComponents", s="[u8; 32]", k_times_g_address="[u8; 20]")
struct("cf_chains::evm::DepositDetails", name="evm::DepositDetails", tx_hashes="Option<Vec<H256>>")
enum("cf_chains::sol::VaultSwapOrDepositChannelId", "Channel(Address)", "VaultSwapAccount((Address, u64))")
enum("cf_chains::DepositOriginType", "DepositChannel", "Vault")
struct(
    f"{_INGRESS_EGRESS}::TransactionRejectionStatus<BlockNumber>",
    expires_at="BlockNumber",
    prewitnessed="bool",
)
enum(
    "cf_chains::ExecutexSwapAndCallError",
    "Unsupported",
    "FailedToBuildCcmForSolana(SolanaTransactionBuildingError)",
    "DispatchError(DispatchError)",
    "NoVault",
    "AuxDataNotReady",
    "NoChannelAvailable",
)
enum("cf_chains::RejectError", "NotSupportedForAsset", "NotRequired", "Other", "FailedToBuildRejection")
enum(
    f"{_INGRESS_EGRESS}::RefundFailureReason",
    "BelowDustLimit",
    "InvalidRefundAddress",
    "FailedToBuildRejectCall(RejectError)",
    "FailedToBuildExecutexSwapAndCall(ExecutexSwapAndCallError)",
    "SolanaCcmWithAltsNotSupported",
)
enum("cf_traits::lending::BoostSource", "LendingPool", "BoostPool")
enum(
    f"{_INGRESS_EGRESS}::DepositFailedReason",
    "BelowMinimumDeposit",
    "NotEnoughToPayFees",
    "TransactionRejectedByBroker",
    "DepositWitnessRejected(DispatchError)",
    "Unrefundable",
)


# The types that the metadata names by the chain


def _declare_witnesses(catalog: Catalog, chain: ChainInstance) -> None:
    """Declare the witnesses of deposits on channels, and of those into the vault."""
    name, names = chain.name, chain.names
    account, amount, asset = names["Account"], names["Amount"], names["ChainAsset"]
    catalog.struct(
        f"{_INGRESS_EGRESS}::pallet::DepositWitness{name}",
        deposit_address=account,
        asset=asset,
        amount=amount,
        deposit_details=names["DepositDetails"],
    )
    catalog.struct(
        f"{_INGRESS_EGRESS}::pallet::VaultDepositWitness{name}",
        input_asset=asset,
        deposit_address=f"Option<{account}>",
        channel_id="Option<u64>",
        deposit_amount=amount,
        deposit_details=names["DepositDetails"],
        output_asset="Asset",
        destination_address="EncodedAddress",
        deposit_metadata="Option<CcmDepositMetadata<ForeignChainAddress, CcmAdditionalData>>",
        tx_id=names["TransactionInId"],
        broker_fee="Option<Beneficiary<AccountId32>>",
        affiliate_fees="BoundedVec<Beneficiary<AffiliateShortId>>",
        refund_params=f"ChannelRefundParameters<{account}, Option<CcmMetadata>>",
        dca_params="Option<DcaParameters>",
        boost_fee="u16",
    )


def _declare_outcomes(catalog: Catalog, chain: ChainInstance) -> None:
    """Declare the outcomes of a deposit: failure, action or rejection."""
    name, names = chain.name, chain.names
    catalog.enum(
        f"{_INGRESS_EGRESS}::pallet::DepositFailedDetails{name}",
        f"DepositFailedDepositChannelVariant{name}{{deposit_witness: DepositWitness{name}}}",
        f"DepositFailedVaultVariant{name}{{vault_witness: VaultDepositWitness{name}}}",
    )
    catalog.enum(
        f"{_INGRESS_EGRESS}::pallet::DepositAction",
        "Swap{swap_request_id: SwapRequestId}",
        "LiquidityProvision{lp_account: AccountId32}",
        "CcmTransfer{swap_request_id: SwapRequestId}",
        "BoostersCredited{prewitnessed_deposit_id: PrewitnessedDepositId,"
        f" network_fee_from_boost: {names['Amount']}, network_fee_swap_request_id: Option<SwapRequestId>}}",
        f"Refund{{egress_id: Option<EgressId>, reason: RefundReason, amount: {names['Amount']}}}",
        "Unrefundable",
        name=f"DepositAction{name}",
    )
    catalog.struct(
        f"{_INGRESS_EGRESS}::TransactionRejectionDetails{name}",
        deposit_address=f"Option<{names['Account']}>",
        refund_address="ForeignChainAddress",
        asset=names["ChainAsset"],
        amount=names["Amount"],
        deposit_details=names["DepositDetails"],
        refund_ccm_metadata="Option<CcmDepositMetadata<ForeignChainAddress, DecodedCcmAdditionalData>>",
    )


def _declare_messages(catalog: Catalog, chain: ChainInstance) -> None:
    """Declare the cross-chain messages that wait to be sent."""
    name, names = chain.name, chain.names
    catalog.struct(
        f"{_INGRESS_EGRESS}::CrossChainMessage<C>",
        name=f"CrossChainMessage{name}",
        egress_id="EgressId",
        asset=names["ChainAsset"],
        amount=names["Amount"],
        destination_address=names["Account"],
        message="BoundedVec<u8>",
        source_chain="ForeignChain",
        source_address="Option<ForeignChainAddress>",
        ccm_additional_data="DecodedCcmAdditionalData",
        gas_budget="u128",
    )


def _declare_waiting(catalog: Catalog, chain: ChainInstance) -> None:
    """Declare the prewitnessed deposits that wait to be boosted."""
    name, names = chain.name, chain.names
    account, transaction = names["Account"], names["TransactionInId"]
    catalog.enum(
        f"{_INGRESS_EGRESS}::BoostStatusLookup",
        f"Vault{{tx_id: {transaction}}}",
        f"Channel{{deposit_address: {account}}}",
        name=f"BoostStatusLookup{name}",
    )
    catalog.enum(
        f"{_INGRESS_EGRESS}::deposit_origin::DepositOrigin",
        f"DepositChannel{{deposit_address: {account}, channel_id: u64, deposit_block_height: u64,"
        " broker_id: AccountId32}",
        f"Vault{{tx_id: {transaction}, broker_id: Option<AccountId32>}}",
        name=f"DepositOrigin{name}",
    )
    message = "CcmDepositMetadata<ForeignChainAddress, DecodedCcmAdditionalData>"
    catalog.struct(
        f"{_INGRESS_EGRESS}::PendingPrewitnessedDeposit",
        name=f"PendingPrewitnessedDeposit{name}",
        block_height=names["Height"],
        amount=names["Amount"],
        asset=names["ChainAsset"],
        deposit_details=names["DepositDetails"],
        deposit_address=f"Option<{account}>",
        action=f"ChannelAction<AccountId32, {account}, {message}>",
        boost_fee="u16",
        channel_id="Option<u64>",
        origin=f"DepositOrigin{name}",
    )
    catalog.struct(
        f"{_INGRESS_EGRESS}::PendingPrewitnessedDepositEntry",
        name=f"PendingPrewitnessedDepositEntry{name}",
        boost_status_lookup=f"BoostStatusLookup{name}",
        deposit=f"PendingPrewitnessedDeposit{name}",
    )


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    for chain in release.chains.values():
        _declare_witnesses(catalog, chain)
        _declare_outcomes(catalog, chain)
        _declare_messages(catalog, chain)
        _declare_waiting(catalog, chain)
