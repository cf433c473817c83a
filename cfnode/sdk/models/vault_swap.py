"""Vault swap transactions, one format for each source chain.

A user sends one to the vault instead of a deposit to a channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cfnode.sdk.record import Amount, Record

__all__ = [
    "BitcoinVaultSwap",
    "EvmVaultSwap",
    "SolanaAccount",
    "SolanaVaultSwap",
    "TronVaultSwap",
    "VaultSwapData",
]


@dataclass(frozen=True)
class BitcoinVaultSwap(Record):
    """A payment to `deposit_address` with `nulldata_payload` (0x hex) in an OP_RETURN output."""

    chain: str
    nulldata_payload: str
    deposit_address: str


@dataclass(frozen=True)
class EvmVaultSwap(Record):
    """A transaction to `to`; the user approves a token (`source_token_address`) to it first."""

    chain: str
    calldata: str
    value: Amount
    to: str
    source_token_address: str | None = None


@dataclass(frozen=True)
class TronVaultSwap(EvmVaultSwap):
    """A call with a note (0x hex), to `to` for TRX; for a token, to the token's own contract."""

    note: str = ""


@dataclass(frozen=True)
class SolanaAccount(Record):
    """An account that the instruction names."""

    pubkey: str
    is_signer: bool
    is_writable: bool


@dataclass(frozen=True)
class SolanaVaultSwap(Record):
    """An instruction of `program_id`; `data` is 0x hex."""

    chain: str
    program_id: str
    accounts: tuple[SolanaAccount, ...]
    data: str


VaultSwapData: TypeAlias = BitcoinVaultSwap | EvmVaultSwap | TronVaultSwap | SolanaVaultSwap
"""The transaction of a vault swap, by the kind of its source chain."""
