"""What does a user send to the vault, instead of a deposit to a channel? One format for each chain."""

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
    """Pay to `deposit_address` and carry `nulldata_payload` (0x hex) in an OP_RETURN output."""

    chain: str
    nulldata_payload: str
    deposit_address: str


@dataclass(frozen=True)
class EvmVaultSwap(Record):
    """A transaction to `to`; a token (`source_token_address`) must be approved to it first."""

    chain: str
    calldata: str
    value: Amount
    to: str
    source_token_address: str | None = None


@dataclass(frozen=True)
class TronVaultSwap(EvmVaultSwap):
    """As on an EVM chain, with a note (0x hex). A token's contract is called itself, not `to`."""

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
