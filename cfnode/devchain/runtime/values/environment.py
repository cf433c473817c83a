"""Frozen dataclasses of the chain's values: environment.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cfnode.core.scale import PythonForm

__all__ = ["AddressLookupTableAccount", "ConsolidationParameters", "SemVer", "SolApiEnvironment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SemVer:
    """`cf_primitives::SemVer`."""

    major: int
    minor: int
    patch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressLookupTableAccount:
    """`sol_prim::AddressLookupTableAccount`."""

    key: bytes
    addresses: Sequence[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class SolApiEnvironment:
    """`cf_chains::SolApiEnvironment`."""

    vault_program: bytes
    vault_program_data_account: bytes
    token_vault_pda_account: bytes
    usdc_token_mint_pubkey: bytes
    usdc_token_vault_ata: bytes
    usdt_token_mint_pubkey: bytes
    usdt_token_vault_ata: bytes
    swap_endpoint_program: bytes
    swap_endpoint_program_data_account: bytes
    alt_manager_program: bytes
    address_lookup_table_account: AddressLookupTableAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationParameters:
    """`cf_chains::ConsolidationParameters`."""

    consolidation_threshold: int
    consolidation_size: int


FORMS: Mapping[str, PythonForm] = {
    "AddressLookupTableAccount": AddressLookupTableAccount,
    "ConsolidationParameters": ConsolidationParameters,
    "SemVer": SemVer,
    "SolApiEnvironment": SolApiEnvironment,
}
