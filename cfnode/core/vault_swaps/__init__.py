"""Vault swaps: the description of a swap in a user's own transaction to the vault.

Such a swap has no deposit channel: its terms are part of the transaction. On EVM chains they are the
arguments of a vault function, the longest part as SCALE (`cf_parameters`); on Tron the note of the
transaction; on Solana the data of an instruction; on Bitcoin an OP_RETURN output, whose 80 bytes need a
layout of their own (Chainflip's `vault_swaps` and `VersionedCfParameters`). Each is encoded and decoded here.
"""

from __future__ import annotations

from .bitcoin import BitcoinSwap, decode_nulldata, nulldata
from .evm import (
    decode_evm_calldata,
    decode_token_transfer,
    decode_tron_note,
    evm_calldata,
    token_transfer,
    tron_note,
)
from .solana import (
    SolanaSwap,
    decode_instruction_data,
    instruction_data,
    native_accounts,
    native_vault,
    token_accounts,
)
from .terms import SentSwap, VaultSwapTerms, cf_parameters, decode_cf_parameters

__all__ = [
    "BitcoinSwap",
    "SentSwap",
    "SolanaSwap",
    "VaultSwapTerms",
    "cf_parameters",
    "decode_cf_parameters",
    "decode_evm_calldata",
    "decode_instruction_data",
    "decode_nulldata",
    "decode_token_transfer",
    "decode_tron_note",
    "evm_calldata",
    "instruction_data",
    "native_accounts",
    "native_vault",
    "nulldata",
    "token_accounts",
    "token_transfer",
    "tron_note",
]
