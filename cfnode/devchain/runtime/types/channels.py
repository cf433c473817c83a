"""Types of deposit channels, tracked chain state, scheduled transfers and settings, for all chains."""

from __future__ import annotations

from cfnode.devchain.runtime.chains import ChainInstance
from cfnode.devchain.runtime.frame.types import Catalog, enum, struct
from cfnode.devchain.runtime.releases import Release, by_release

from . import addresses, assets, swaps  # noqa: F401  (the declarations below name theirs)

_INGRESS_EGRESS = "pallet_cf_ingress_egress"

# The tracked fees of a chain.
struct("cf_chains::eth::EthereumTrackedData", base_fee="u128", priority_fee="u128")
struct("cf_chains::arb::ArbitrumTrackedData", base_fee="u128", l1_base_fee_estimate="u128")
struct("cf_chains::tron::TronTrackedData")
struct("cf_chains::bsc::BscTrackedData", priority_fee="u128")
struct("cf_chains::btc::BitcoinFeeInfo", sats_per_kilobyte="u64")
struct("cf_chains::btc::BitcoinTrackedData", btc_fee_info="BitcoinFeeInfo")
struct("cf_chains::sol::SolTrackedData", priority_fee="u64")
struct(
    "cf_chains::dot::RuntimeVersion",
    name="dot::RuntimeVersion",
    spec_version="u32",
    transaction_version="u32",
)
for _chain, _module in {"Polkadot": "dot", "Assethub": "hub"}.items():
    struct(
        f"cf_chains::{_module}::{_chain}TrackedData",
        median_tip="u128",
        runtime_version="dot::RuntimeVersion",
    )

# The action of a channel on a deposit.
struct("cf_primitives::PrewitnessedDepositId", "u64")
enum(
    f"{_INGRESS_EGRESS}::RefundReason",
    "InvalidBrokerFees",
    "InvalidRefundParameters",
    "InvalidDcaParameters",
    "CcmUnsupportedForTargetChain",
    "CcmInvalidMetadata",
    "InvalidDestinationAddress",
)
enum("cf_traits::AdditionalDepositAction", "FundFlip{flip_amount_to_credit: u128}")
enum(
    f"{_INGRESS_EGRESS}::pallet::ChannelAction<AccountId, ChainAccount, CcmMetadata>",
    "Swap{destination_asset: Asset, destination_address: ForeignChainAddress,"
    " broker_fees: BoundedVec<Beneficiary<AccountId>>, channel_metadata: Option<CcmMetadata>,"
    " refund_params: ChannelRefundParameters<ForeignChainAddress, Option<CcmMetadata>>,"
    " dca_params: Option<DcaParameters>}",
    "LiquidityProvision{lp_account: AccountId, refund_address: ForeignChainAddress,"
    " additional_action: Option<AdditionalDepositAction>}",
    "Refund{reason: RefundReason, refund_address: ChainAccount, refund_ccm_metadata: Option<CcmMetadata>}",
    "Unrefundable",
)
enum(
    f"{_INGRESS_EGRESS}::BoostStatus<ChainAmount, BlockNumber>",
    "Boosted{prewitnessed_deposit_id: PrewitnessedDepositId, amount: ChainAmount}",
    "NotBoosted",
    "BoostPending{amount: ChainAmount, process_at_block: BlockNumber}",
)


def _declare_chain(catalog: Catalog, chain: ChainInstance) -> None:
    """Declare the types that the metadata names or parametrises by the chain."""
    account, amount, asset = chain.family.account, chain.family.amount, chain.names["ChainAsset"]
    _declare_channel(catalog, chain, account, amount, asset)
    _declare_rules(catalog, chain, amount, asset)
    catalog.enum(
        f"{_INGRESS_EGRESS}::FetchOrTransfer<C>",
        f"Fetch{{asset: {asset}, deposit_address: {account},"
        f" deposit_fetch_id: Option<{chain.family.fetch_id}>, amount: {amount}}}",
        f"Transfer{{egress_id: EgressId, asset: {asset}, destination_address: {account}, amount: {amount}}}",
        name=f"FetchOrTransfer{chain.name}",
    )


def _declare_channel(catalog: Catalog, chain: ChainInstance, account: str, amount: str, asset: str) -> None:
    catalog.struct(f"cf_primitives::chains::{chain.name}")
    catalog.struct(
        "cf_chains::ChainState<C>",
        name=f"ChainState{chain.name}",
        block_height=chain.family.height,
        tracked_data=chain.tracked_type,
    )
    catalog.struct(
        f"cf_chains::deposit_channel::DepositChannel{chain.name}",
        channel_id="u64",
        address=account,
        asset=asset,
        state=chain.family.channel_state,
    )
    catalog.struct(
        f"{_INGRESS_EGRESS}::pallet::DepositChannelDetails{chain.name}",
        owner="AccountId32",
        deposit_channel=f"DepositChannel{chain.name}",
        opened_at=chain.family.height,
        expires_at=chain.family.height,
        action=f"ChannelAction<AccountId32, {account}, CheckedCcm>",
        boost_fee="u16",
        boost_status=f"BoostStatus<{amount}, u32>",
        is_marked_for_rejection="bool",
    )


def _declare_rules(catalog: Catalog, chain: ChainInstance, amount: str, asset: str) -> None:
    """Declare the settings that governance may change."""
    catalog.enum(
        f"{_INGRESS_EGRESS}::PalletConfigUpdate{chain.name}",
        f"ChannelOpeningFee{chain.name}{{fee: u128}}",
        f"SetMinimumDeposit{chain.name}{{asset: {asset}, minimum_deposit: {amount}}}",
        f"SetDepositChannelLifetime{chain.name}{{lifetime: {chain.family.height}}}",
        f"SetWitnessSafetyMargin{chain.name}{{margin: {chain.family.height}}}",
        f"SetBoostDelay{chain.name}{{delay_blocks: u32}}",
        f"SetMaximumPreallocatedChannels{chain.name}{{account_role: AccountRole, num_channels: u8}}",
        f"SetIngressDelay{chain.name}{{delay_blocks: u32}}",
    )


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    for chain in release.chains.values():
        _declare_chain(catalog, chain)
