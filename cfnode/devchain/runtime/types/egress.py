"""Types of contract calls, transactions, signing and broadcasts on the EVM chains (runtime 2.2)."""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.devchain.runtime.chains import CHAIN_INSTANCES, ChainInstance
from cfnode.devchain.runtime.frame.types import Catalog, enum, struct
from cfnode.devchain.runtime.releases import Release, by_release

from . import addresses, assets, deposits, swaps  # noqa: F401  (named below)

_API = "cf_chains::evm::api"
_SIGNER = "pallet_cf_threshold_signature"

# Errors of building a batch.
enum("sol_prim::pda::PdaError", "NotAValidPoint", "TooManySeeds", "SeedTooLarge", "BumpSeedBadLuck")
enum(
    "cf_chains::ccm_checker::CcmValidityError",
    "CannotDecodeCcmAdditionalData",
    "CcmIsTooLong",
    "CcmAdditionalDataContainsInvalidAccounts",
    "RedundantDataSupplied",
    "InvalidDestinationAddress",
    "TooManyAddressLookupTables",
)
enum(
    "cf_chains::sol::api::SolanaTransactionBuildingError",
    "CannotLookupApiEnvironment",
    "CannotLookupCurrentAggKey",
    "CannotLookupComputePrice",
    "NoNonceAccountsSet",
    "NoAvailableNonceAccount",
    "FailedToDeriveAddress(PdaError)",
    "InvalidCcm(CcmValidityError)",
    "FailedToSerializeFinalTransaction",
    "FinalTransactionExceededMaxLength(u32)",
    "DispatchError(DispatchError)",
    "AltsNotYetWitnessed",
    "AltsInvalid",
)
enum(
    "cf_chains::AllBatchError",
    "NotRequired",
    "UnsupportedToken",
    "VaultAccountNotSet",
    "AggKeyNotSet",
    "UtxoSelectionFailed",
    "FailedToBuildSolanaTransaction(SolanaTransactionBuildingError)",
    "DispatchError(DispatchError)",
)

# Calls of the contracts.
struct(f"{_API}::SigData", sig="U256", nonce="U256", k_times_g_address="H160")
struct(
    f"{_API}::EvmReplayProtection",
    nonce="u64",
    chain_id="u64",
    key_manager_address="H160",
    contract_address="H160",
)
struct(
    f"{_API}::EvmTransactionBuilder<C>",
    signer_and_sig_data="Option<(evm::AggKey, SigData)>",
    replay_protection="EvmReplayProtection",
    call="C",
)
struct(f"{_API}::set_agg_key_with_agg_key::SetAggKeyWithAggKey", new_key="evm::AggKey")
struct(f"{_API}::set_gov_key_with_agg_key::SetGovKeyWithAggKey", new_gov_key="H160")
struct(f"{_API}::set_comm_key_with_agg_key::SetCommKeyWithAggKey", new_comm_key="H160")
enum("cf_chains::eth::api::register_redemption::RedemptionExecutor", "AnyAddress", "OnlyAddress(H160)")
struct(
    "cf_chains::eth::api::register_redemption::RegisterRedemption",
    node_id="[u8; 32]",
    amount="U256",
    address="H160",
    expiry="U256",
    executor="RedemptionExecutor",
)
struct(
    "cf_chains::eth::api::update_flip_supply::UpdateFlipSupply",
    new_total_supply="U256",
    state_chain_block_number="U256",
)
struct(f"{_API}::common::EncodableFetchDeployAssetParams", channel_id="u64", asset="H160")
struct(f"{_API}::common::EncodableFetchAssetParams", contract_address="H160", asset="H160")
struct(f"{_API}::common::EncodableTransferAssetParams", asset="H160", to="H160", amount="u128")
struct(
    f"{_API}::all_batch::AllBatch",
    fetch_deploy_params="Vec<EncodableFetchDeployAssetParams>",
    fetch_params="Vec<EncodableFetchAssetParams>",
    transfer_params="Vec<EncodableTransferAssetParams>",
)
struct(
    f"{_API}::execute_x_swap_and_call::ExecutexSwapAndCall",
    transfer_param="EncodableTransferAssetParams",
    source_chain="u32",
    source_address="Bytes",
    gas_budget="u128",
    message="Bytes",
)
struct(f"{_API}::transfer_fallback::TransferFallback", transfer_param="EncodableTransferAssetParams")


def _api(path: str, *calls: str) -> None:
    """Declare the calls of one chain; each is an `EvmTransactionBuilder` of its arguments."""
    variants: Sequence[str] = [
        f"{name}(EvmTransactionBuilder<{type_argument or name}>)"
        for name, type_argument in map(_named, calls)
    ]
    enum(path, *variants)


def _named(call: str) -> tuple[str, str]:
    name, _, type_argument = call.partition(":")
    return name, type_argument


_COMMON = ("AllBatch", "ExecutexSwapAndCall", "TransferFallback", "RejectCall:AllBatch")
_api(
    "cf_chains::eth::api::EthereumApi",
    "SetAggKeyWithAggKey",
    "RegisterRedemption",
    "UpdateFlipSupply",
    "SetGovKeyWithAggKey",
    "SetCommKeyWithAggKey",
    *_COMMON,
)
for _chain in CHAIN_INSTANCES.values():
    if _chain.is_evm and _chain.name != "Ethereum":
        _api(f"cf_chains::{_chain.module}::api::{_chain.name}Api", "SetAggKeyWithAggKey", *_COMMON)

# Transactions.
struct(
    "cf_chains::evm::Transaction",
    name="evm::Transaction",
    chain_id="u64",
    max_priority_fee_per_gas="Option<U256>",
    max_fee_per_gas="Option<U256>",
    gas_limit="Option<U256>",
    contract="H160",
    value="U256",
    data="Bytes",
)
struct(
    "cf_chains::tron::TronTransaction",
    fee_limit="Option<u64>",
    contract="H160",
    value="U256",
    data="Bytes",
    function_selector="Bytes",
)
struct(
    "cf_chains::evm::EvmTransactionMetadata",
    max_fee_per_gas="Option<U256>",
    max_priority_fee_per_gas="Option<U256>",
    contract="H160",
    gas_limit="Option<U256>",
)
struct("cf_chains::tron::TronTransactionMetadata", contract="H160", fee_limit="Option<u64>")
enum(
    "pallet_cf_ingress_egress::BroadcastAction<ChainAccount>",
    "FinaliseFetch(Vec<ChainAccount>)",
    "CcmBroadcast",
)
struct("pallet_cf_ingress_egress::FailedForeignChainCall", broadcast_id="u32", original_epoch="u32")

# Signing.
struct(f"{_SIGNER}::pallet::RequestContextEvmCrypto", request_id="u32", attempt_count="u32", payload="H256")
enum(
    f"{_SIGNER}::ThresholdCeremonyType<Participants>",
    "Standard",
    "KeygenVerification",
    "HistoricalKey{candidates: Participants, signers_required: u32, retries_remaining: u32}",
)
struct(
    f"{_SIGNER}::pallet::CeremonyContextEvmCrypto",
    request_context="RequestContextEvmCrypto",
    remaining_respondents="BTreeSet<AccountId32>",
    blame_counts="BTreeMap<AccountId32, u32>",
    candidates="BTreeSet<AccountId32>",
    epoch="u32",
    key="evm::AggKey",
    threshold_ceremony_type="ThresholdCeremonyType<BTreeSet<AccountId32>>",
)
enum("cf_traits::async_result::AsyncResult<R>", "Ready(R)", "Pending", "Void")
struct(
    f"{_SIGNER}::SignerAndSignatureResultEvmCrypto",
    signer="evm::AggKey",
    signature_result="AsyncResult<Result<SchnorrVerificationComponents, Vec<AccountId32>>>",
)


def _declare_broadcast_data(catalog: Catalog, chain: ChainInstance) -> None:
    catalog.struct(
        f"pallet_cf_broadcast::pallet::BroadcastData{chain.name}",
        broadcast_id="u32",
        transaction_payload=chain.names["Transaction"],
        threshold_signature_payload="H256",
        transaction_out_id="SchnorrVerificationComponents",
        nominee="Option<AccountId32>",
    )


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    for chain in release.chains.values():
        if chain.is_evm:
            _declare_broadcast_data(catalog, chain)
        catalog.struct(
            "cf_traits::ScheduledEgressDetails<C>",
            name=f"ScheduledEgressDetails{chain.name}",
            egress_id="EgressId",
            egress_amount=chain.family.amount,
            fee_withheld=chain.family.amount,
        )
