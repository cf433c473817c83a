"""Types of vault swaps: the arguments and results of the runtime API that encodes and decodes them."""

from __future__ import annotations

from cfnode.core.assets import CHAINS
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
    chains = release.vault_swap_chains
    catalog.enum("cf_chains::VaultSwapExtraParameters<Address, Amount>", *map(_extra, chains))
    catalog.enum(f"{_API}::VaultSwapDetails<BtcAddress>", *map(_details, chains))


def _extra(chain: str) -> str:
    """Return the variant of what a vault swap on a chain needs besides its terms."""
    match CHAINS[chain].form:
        case "bitcoin":
            return (
                f"{chain}{{min_output_amount: Amount, retry_duration: u32,"
                " max_oracle_price_slippage: Option<u8>}"
            )
        case "solana":
            return (
                f"{chain}{{from: Address, seed: BoundedVec<u8>, input_amount: Amount,"
                f" refund_parameters: {_REFUND}, from_token_account: Option<Address>}}"
            )
    return f"{chain}(EvmVaultSwapExtraParameters<Address, Amount>)"


def _details(chain: str) -> str:
    """Return the variant of the transaction that swaps through the vault of a chain."""
    match CHAINS[chain].form:
        case "bitcoin":
            return f"{chain}{{nulldata_payload: Bytes, deposit_address: BtcAddress}}"
        case "solana":
            return f"{chain}{{instruction: Instruction<Address>}}"
        case "tron":
            return f"{chain}{{details: EvmCallDetails<str>, note: Bytes}}"
    return f"{chain}{{details: EvmCallDetails<H160>}}"
