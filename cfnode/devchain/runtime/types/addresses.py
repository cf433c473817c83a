"""Types of addresses, aggregate keys and channel states of the foreign chains, from `cf_chains`."""

from __future__ import annotations

from cfnode.core.assets import CHAINS
from cfnode.devchain.runtime.frame.types import Catalog, enum, struct
from cfnode.devchain.runtime.releases import Release, by_release

struct("cf_chains::dot::PolkadotAccountId", "[u8; 32]")
struct("sol_prim::address::Address", "[u8; 32]")
struct("sol_prim::Pubkey", "[u8; 32]")
struct("cf_primitives::TxId", block_number="u32", extrinsic_index="u32")

enum(
    "cf_chains::btc::ScriptPubkey",
    "P2PKH([u8; 20])",
    "P2SH([u8; 20])",
    "P2WPKH([u8; 20])",
    "P2WSH([u8; 32])",
    "Taproot([u8; 32])",
    "OtherSegwit{version: u8, program: BoundedVec<u8>}",
)
enum(
    "cf_chains::refund_parameters::AccountOrAddress<AccountId, Address>",
    "InternalAccount(AccountId)",
    "ExternalAddress(Address)",
)

enum("cf_chains::evm::ParityBit", "Odd", "Even")
struct("cf_chains::evm::AggKey", name="evm::AggKey", pub_key_x="[u8; 32]", pub_key_y_parity="ParityBit")
struct("cf_chains::btc::AggKey", name="btc::AggKey", previous="Option<[u8; 32]>", current="[u8; 32]")

# The state of a deposit channel's address, by kind of chain.
enum("cf_chains::evm::DeploymentStatus", "Undeployed", "Pending", "Deployed{at_block_height: u64}")
struct("cf_chains::btc::BitcoinScript", bytes="Bytes")
struct(
    "cf_chains::btc::deposit_address::TapscriptPath",
    salt="u32",
    tweaked_pubkey_bytes="[u8; 33]",
    tapleaf_hash="[u8; 32]",
    unlock_script="BitcoinScript",
)
struct(
    "cf_chains::btc::deposit_address::DepositAddress",
    pubkey_x="[u8; 32]",
    script_path="Option<TapscriptPath>",
)
struct("cf_chains::dot::PolkadotChannelState")

# The id by which a deposit is fetched from the address.
enum("cf_chains::evm::EvmFetchId", "DeployAndFetch(u64)", "Fetch(H160)", "NotRequired")
struct("cf_chains::btc::BitcoinFetchId", "u64")
struct("cf_chains::sol::SolanaDepositFetchId", channel_id="u64", address="Address", bump="u8")

_ENCODED = {"Dot": "[u8; 32]", "Btc": "Bytes", "Sol": "[u8; 32]", "Hub": "[u8; 32]"}
_KNOWN = {"Dot": "PolkadotAccountId", "Btc": "ScriptPubkey", "Sol": "Address", "Hub": "PolkadotAccountId"}


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    """Declare addresses, with a variant for each chain; chains without an entry have Ethereum's kind."""
    variants = [CHAINS[name].address for name in sorted(release.chains, key=_address_index)]
    encoded = [f"{variant}({_ENCODED.get(variant, '[u8; 20]')})" for variant in variants]
    catalog.enum("cf_chains::address::EncodedAddress", *encoded)
    known_variants = [f"{variant}({_KNOWN.get(variant, 'H160')})" for variant in variants]
    catalog.enum("cf_chains::address::ForeignChainAddress", *known_variants)


def _address_index(chain: str) -> int:
    return CHAINS[chain].address_index
