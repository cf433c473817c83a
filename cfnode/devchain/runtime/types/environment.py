"""Types of the Environment pallet: versions, networks, Solana's accounts and Bitcoin's outputs."""

from __future__ import annotations

from cfnode.devchain.runtime.frame.types import enum, struct

from . import addresses, assets, safe_mode

__all__ = ["addresses", "assets", "safe_mode"]

struct("cf_primitives::SemVer", major="u8", minor="u8", patch="u8")
enum("cf_primitives::NetworkEnvironment", "Mainnet", "Testnet", "Development")
enum("cf_primitives::ChainflipNetwork", "Mainnet", "Testnet", "TestnetDev", "Development")
struct("sol_prim::digest::Digest", "[u8; 32]", name="sol::Digest")
struct("sol_prim::alt::AddressLookupTableAccount", key="Pubkey", addresses="Vec<Pubkey>")
struct(
    "cf_chains::sol::SolApiEnvironment",
    **dict.fromkeys(
        (
            "vault_program",
            "vault_program_data_account",
            "token_vault_pda_account",
            "usdc_token_mint_pubkey",
            "usdc_token_vault_ata",
            "usdt_token_mint_pubkey",
            "usdt_token_vault_ata",
            "swap_endpoint_program",
            "swap_endpoint_program_data_account",
            "alt_manager_program",
        ),
        "Address",
    ),
    address_lookup_table_account="AddressLookupTableAccount",
)
struct("cf_chains::btc::UtxoId", tx_id="H256", vout="u32")
struct("cf_chains::btc::Utxo", id="UtxoId", amount="u64", deposit_address="DepositAddress")
struct(
    "cf_chains::btc::utxo_selection::ConsolidationParameters",
    consolidation_threshold="u32",
    consolidation_size="u32",
)
enum(
    "cf_chains::sol::api::SolanaGovCall",
    "SetProgramSwapsParameters{min_native_swap_amount: u64, max_dst_address_len: u16, "
    "max_ccm_message_len: u32, max_cf_parameters_len: u32, max_event_accounts: u32}",
    "SetTokenSwapParameters{min_swap_amount: u64, token_mint_pubkey: Address}",
    "UpgradeProgram{program_address: Address, buffer_address: Address, spill_address: Address}",
)
