"""Frozen dataclasses of the chain's values: bitcoin.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfnode.core.scale import PythonForm

__all__ = ["BitcoinScript", "DepositAddress", "TapscriptPath", "Utxo", "UtxoId"]


@dataclass(frozen=True, slots=True)
class BitcoinScript:
    """`cf_chains::BitcoinScript`."""

    bytes: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TapscriptPath:
    """`cf_chains::TapscriptPath`."""

    salt: int
    tweaked_pubkey_bytes: bytes
    tapleaf_hash: bytes
    unlock_script: BitcoinScript


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositAddress:
    """`cf_chains::DepositAddress`."""

    pubkey_x: bytes
    script_path: TapscriptPath | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UtxoId:
    """`cf_chains::UtxoId`."""

    tx_id: bytes
    vout: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Utxo:
    """`cf_chains::Utxo`."""

    id: UtxoId
    amount: int
    deposit_address: DepositAddress


FORMS: Mapping[str, PythonForm] = {
    "BitcoinScript": BitcoinScript,
    "DepositAddress": DepositAddress,
    "TapscriptPath": TapscriptPath,
    "Utxo": Utxo,
    "UtxoId": UtxoId,
}
