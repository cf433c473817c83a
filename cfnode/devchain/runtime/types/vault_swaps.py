"""Types of vault swaps: the arguments and results of the runtime API that encodes and decodes them."""

from __future__ import annotations

from cfnode.devchain.runtime.frame.types import Catalog, struct
from cfnode.devchain.runtime.releases import Release, by_release

from . import addresses, assets, swaps  # noqa: F401  (the declarations below name theirs)

_API = "state_chain_runtime::runtime_apis::custom_api::types"
_REFUND = "ChannelRefundParameters<Address, Option<CcmChannelMetadata<CcmAdditionalData>>>"

struct(
    "cf_chains::EvmVaultSwapExtraParameters<Address, Amount>",
    input_amount="Amount",
    refund_parameters=_REFUND,
)
struct("sol_prim::AccountMeta<Address>", pubkey="Address", is_signer="bool", is_writable="bool")
struct(
    "sol_prim::Instruction<Address>",
    program_id="Address",
    accounts="Vec<AccountMeta<Address>>",
    data="Bytes",
)
struct(
    f"{_API}::EvmCallDetails<Address>",
    calldata="Bytes",
    value="U256",
    to="Address",
    source_token_address="Option<Address>",
)
struct(
    "cf_chains::VaultSwapInput<Address, Amount>",
    source_asset="Asset",
    destination_asset="Asset",
    destination_address="Address",
    broker_commission="u16",
    extra_parameters="VaultSwapExtraParameters<Address, Amount>",
    channel_metadata="Option<CcmChannelMetadata<CcmAdditionalData>>",
    boost_fee="u16",
    affiliate_fees="BoundedVec<Beneficiary<AccountId32>>",
    dca_parameters="Option<DcaParameters>",
)


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    catalog.enum(
        "cf_chains::VaultSwapExtraParameters<Address, Amount>",
        "Bitcoin{min_output_amount: Amount, retry_duration: u32, max_oracle_price_slippage: Option<u8>}",
        "Ethereum(EvmVaultSwapExtraParameters<Address, Amount>)",
        "Arbitrum(EvmVaultSwapExtraParameters<Address, Amount>)",
        "Solana{from: Address, seed: BoundedVec<u8>, input_amount: Amount,"
        f" refund_parameters: {_REFUND}, from_token_account: Option<Address>}}",
        "Tron(EvmVaultSwapExtraParameters<Address, Amount>)",
        *(["Bsc(EvmVaultSwapExtraParameters<Address, Amount>)"] if "Bsc" in release.chains else []),
    )
    catalog.enum(
        f"{_API}::VaultSwapDetails<BtcAddress>",
        "Bitcoin{nulldata_payload: Bytes, deposit_address: BtcAddress}",
        "Ethereum{details: EvmCallDetails<H160>}",
        "Arbitrum{details: EvmCallDetails<H160>}",
        "Solana{instruction: Instruction<Address>}",
        "Tron{details: EvmCallDetails<str>, note: Bytes}",
        *(["Bsc{details: EvmCallDetails<H160>}"] if "Bsc" in release.chains else []),
    )
