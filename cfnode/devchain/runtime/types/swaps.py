"""Types of swaps: prices, fees, cross-chain messages, refunds and swap requests (runtime 2.2).

They are from `cf_chains`, `cf_traits`, `cf_primitives` and the swapping pallet.
"""

from __future__ import annotations

from cfnode.devchain.runtime.frame.types import alias, enum, struct

from . import addresses, assets  # noqa: F401  (the declarations below name theirs)

enum("cf_primitives::NetworkEnvironment", "Mainnet", "Testnet", "Development")
enum(
    "cf_primitives::AccountRole",
    "Unregistered",
    "Validator",
    "LiquidityProvider",
    "Broker",
    "Operator",
)
struct("cf_amm_math::Price", "U256")
struct("cf_amm_math::PriceLimits", min_price="Price", max_oracle_price_slippage="Option<u16>")
struct("cf_primitives::AffiliateShortId", "u8")
struct("cf_primitives::Beneficiary<Id>", account="Id", bps="u16")
struct("cf_primitives::DcaParameters", number_of_chunks="u32", chunk_interval="u32")
struct("cf_primitives::SwapId", "u64")
struct("cf_primitives::SwapRequestId", "u64")
struct("cf_primitives::basis_points::SignedBasisPoints", "i32")
enum("cf_primitives::SwapLeg", "FromStable", "ToStable")
alias("EgressId", "(ForeignChain, u64)")

# Cross-chain messages.
struct("cf_chains::CcmAdditionalData", "BoundedVec<u8>")
struct("cf_chains::sol::sol_tx_core::CcmAddress", pubkey="Pubkey", is_writable="bool")
struct(
    "cf_chains::sol::sol_tx_core::CcmAccounts",
    cf_receiver="CcmAddress",
    additional_accounts="Vec<CcmAddress>",
    fallback_address="Pubkey",
)
enum(
    "cf_chains::ccm_checker::VersionedSolanaCcmAdditionalData",
    "V0(CcmAccounts)",
    "V1{ccm_accounts: CcmAccounts, alts: Vec<Address>}",
)
enum(
    "cf_chains::ccm_checker::DecodedCcmAdditionalData",
    "NotRequired",
    "Solana(VersionedSolanaCcmAdditionalData)",
)
struct(
    "cf_chains::CcmChannelMetadata<AdditionalData>",
    message="BoundedVec<u8>",
    gas_budget="u128",
    ccm_additional_data="AdditionalData",
)
struct(
    "cf_chains::CcmDepositMetadata<Address, AdditionalData>",
    channel_metadata="CcmChannelMetadata<AdditionalData>",
    source_chain="ForeignChain",
    source_address="Option<Address>",
)
struct(
    "cf_chains::refund_parameters::ChannelRefundParameters<A, CcmRefundDetails>",
    retry_duration="u32",
    refund_address="A",
    min_price="Price",
    refund_ccm_metadata="CcmRefundDetails",
    max_oracle_price_slippage="Option<u16>",
)
# Their forms in extrinsics and events, and the checked forms that the runtime stores.
alias("CcmMetadata", "CcmChannelMetadata<CcmAdditionalData>")
alias("CheckedCcm", "CcmChannelMetadata<DecodedCcmAdditionalData>")
alias("CheckedCcmDeposit", "CcmDepositMetadata<ForeignChainAddress, DecodedCcmAdditionalData>")
alias("RefundParameters", "ChannelRefundParameters<EncodedAddress, Option<CcmMetadata>>")
alias("CheckedRefundParameters", "ChannelRefundParameters<ForeignChainAddress, Option<CheckedCcm>>")

# Swap requests: their origin, and the action on their output.
enum(
    "cf_chains::TransactionInIdForAnyChain",
    "Evm(H256)",
    "Bitcoin(H256)",
    "Polkadot(TxId)",
    "Solana((Address, u64))",
    "None",
)
enum(
    "cf_chains::SwapOrigin<AccountId>",
    "DepositChannel{deposit_address: EncodedAddress, channel_id: u64, deposit_block_height: u64,"
    " broker_id: AccountId}",
    "Vault{tx_id: TransactionInIdForAnyChain, broker_id: Option<AccountId>}",
    "Internal",
    "OnChainAccount(AccountId)",
)
struct("cf_traits::lending::LoanId", "u64")
enum(
    "cf_traits::swapping::LendingSwapType<AccountId>",
    "Liquidation{borrower_id: AccountId, loan_id: LoanId}",
)
enum(
    "cf_traits::swapping::SwapOutputActionGeneric<Address, AccountId>",
    "Egress{ccm_deposit_metadata: Option<CcmDepositMetadata<Address, DecodedCcmAdditionalData>>,"
    " output_address: Address}",
    "CreditOnChain{account_id: AccountId}",
    "CreditLendingPool{swap_type: LendingSwapType<AccountId>}",
    "CreditFlipAndTransferToGateway{account_id: AccountId, flip_to_subtract_from_swap_output: u128}",
)
enum(
    "cf_traits::swapping::SwapRequestTypeGeneric<Address, AccountId>",
    "NetworkFee",
    "IngressEgressFee",
    "Regular{output_action: SwapOutputActionGeneric<Address, AccountId>}",
    "RegularNoNetworkFee{output_action: SwapOutputActionGeneric<Address, AccountId>}",
)
# The account id is a parameter in the source, but the metadata leaves it out.
enum(
    "cf_traits::swapping::ExpiryBehaviour",
    "NoExpiry",
    "RefundIfExpires{retry_duration: u32, refund_address: AccountOrAddress<AccountId32, ForeignChainAddress>,"
    " refund_ccm_metadata: Option<CcmDepositMetadata<ForeignChainAddress, DecodedCcmAdditionalData>>}",
)
struct(
    "cf_traits::swapping::PriceLimitsAndExpiry",
    expiry_behaviour="ExpiryBehaviour",
    min_price="Price",
    max_oracle_price_slippage="Option<u16>",
)
enum("cf_traits::swapping::SwapType", "Swap", "NetworkFee", "IngressEgressFee")

# The swapping pallet's own.
struct("pallet_cf_swapping::FeeRateAndMinimum", rate="Permill", minimum="u128")
struct(
    "pallet_cf_swapping::NetworkFeeTracker",
    network_fee="FeeRateAndMinimum",
    accumulated_stable_amount="u128",
    accumulated_fee="u128",
)
enum(
    "pallet_cf_swapping::FeeType",
    "NetworkFee(NetworkFeeTracker)",
    "BrokerFee(BoundedVec<Beneficiary<AccountId32>>)",
)
struct(
    "pallet_cf_swapping::DcaState",
    scheduled_chunks="BTreeSet<SwapId>",
    remaining_input_amount="u128",
    remaining_chunks="u32",
    chunk_interval="u32",
    accumulated_output_amount="u128",
)
enum(
    "pallet_cf_swapping::SwapRequestState",
    "UserSwap{price_limits_and_expiry: Option<PriceLimitsAndExpiry>,"
    " output_action: SwapOutputActionGeneric<ForeignChainAddress, AccountId32>,"
    " dca_state: DcaState, fees: Vec<FeeType>}",
    "NetworkFee",
    "IngressEgressFee",
)
struct(
    "pallet_cf_swapping::SwapRequest",
    id="SwapRequestId",
    input_asset="Asset",
    output_asset="Asset",
    state="SwapRequestState",
)
struct("pallet_cf_swapping::SwapRefundParameters", refund_block="u32", price_limits="PriceLimits")
struct(
    "pallet_cf_swapping::Swap",
    swap_id="SwapId",
    swap_request_id="SwapRequestId",
    from_="Asset",
    to="Asset",
    input_amount="u128",
    refund_params="Option<SwapRefundParameters>",
    execute_at="u32",
)
enum(
    "pallet_cf_swapping::PalletConfigUpdate",
    "MaximumSwapAmount{asset: Asset, amount: Option<u128>}",
    "SwapRetryDelay{delay: u32}",
    "FlipBuyInterval{interval: u32}",
    "SetMaxSwapRetryDuration{blocks: u32}",
    "SetMaxSwapRequestDuration{blocks: u32}",
    "SetMinimumChunkSize{asset: Asset, size: u128}",
    "SetBrokerBond{bond: u128}",
    "SetNetworkFee{rate: Option<Permill>, minimum: Option<u128>}",
    "SetInternalSwapNetworkFee{rate: Option<Permill>, minimum: Option<u128>}",
    "SetNetworkFeeForAsset{asset: Asset, rate: Option<Permill>}",
    "SetInternalSwapNetworkFeeForAsset{asset: Asset, rate: Option<Permill>}",
    "SetDefaultOraclePriceSlippageProtectionForAsset{base_asset: Asset, quote_asset: Asset,"
    " bps: Option<u16>}",
    name="swapping::PalletConfigUpdate",
)
struct("pallet_cf_swapping::AffiliateDetails", short_id="AffiliateShortId", withdrawal_address="H160")
enum("pallet_cf_swapping::SwapRequestCompletionReason", "Aborted", "Expired", "Executed")
enum(
    "pallet_cf_swapping::SwapFailureReason",
    "PriceImpactLimit",
    "MinPriceViolation",
    "OraclePriceSlippageExceeded",
    "OraclePriceStale",
    "PredecessorSwapFailure",
    "SafeModeActive",
    "AbortedFromOrigin",
    "LogicError",
)
struct("cf_amm::common::PoolPairsMap<T>", base="T", quote="T")
struct("cf_amm::common::AssetPair", assets="PoolPairsMap<Asset>")
