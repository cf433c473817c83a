"""Frozen dataclasses of the chain's values: opened.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cfnode.core.addresses import EncodedAddress
from cfnode.core.scale import PythonForm

__all__ = ["ChainAccounts", "VaultAddresses"]


@dataclass(frozen=True, slots=True)
class ChainAccounts:
    """`state_chain_runtime::ChainAccounts`."""

    chain_accounts: Sequence[tuple[EncodedAddress, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultAddresses:
    """`state_chain_runtime::VaultAddresses`."""

    ethereum: EncodedAddress
    arbitrum: EncodedAddress
    bitcoin: Sequence[tuple[bytes, EncodedAddress]]
    sol_vault_program: EncodedAddress
    sol_swap_endpoint_program_data_account: EncodedAddress
    usdc_token_mint_pubkey: EncodedAddress
    usdt_token_mint_pubkey: EncodedAddress
    bitcoin_vault: EncodedAddress | None
    solana_sol_vault: EncodedAddress | None
    solana_usdc_token_vault_ata: EncodedAddress
    solana_usdt_token_vault_ata: EncodedAddress
    solana_vault_swap_account: EncodedAddress | None
    tron: EncodedAddress
    predicted_seconds_until_next_vault_rotation: int
    bsc: EncodedAddress | None = None


FORMS: Mapping[str, PythonForm] = {
    "ChainAccounts": ChainAccounts,
    "VaultAddresses": VaultAddresses,
}
