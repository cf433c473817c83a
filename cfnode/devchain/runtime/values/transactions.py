"""Frozen dataclasses of the chain's values: transactions.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cfnode.core.addresses import Script
from cfnode.core.scale import PythonForm

from .keys import SchnorrVerificationComponents

__all__ = [
    "BroadcastConfigUpdate",
    "BroadcastConfigUpdateBroadcastTimeout",
    "BroadcastData",
    "EvmTransaction",
    "EvmTransactionMetadata",
    "PolkadotTransactionId",
    "TransactionConfirmation",
    "TransactionFee",
    "TronTransaction",
    "TronTransactionFee",
    "TronTransactionMetadata",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvmTransaction:
    """`cf_chains::Transaction`."""

    chain_id: int
    max_priority_fee_per_gas: int | None
    max_fee_per_gas: int | None
    gas_limit: int | None
    contract: bytes
    value: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TronTransaction:
    """`cf_chains::TronTransaction`."""

    fee_limit: int | None
    contract: bytes
    value: int
    data: bytes
    function_selector: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EvmTransactionMetadata:
    """`cf_chains::EvmTransactionMetadata`."""

    max_fee_per_gas: int | None
    max_priority_fee_per_gas: int | None
    contract: bytes
    gas_limit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TronTransactionMetadata:
    """`cf_chains::TronTransactionMetadata`."""

    contract: bytes
    fee_limit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolkadotTransactionId:
    """`cf_chains::PolkadotTransactionId`."""

    block_number: int
    extrinsic_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastData:
    """`pallet_cf_broadcast::BroadcastDataEthereum`."""

    broadcast_id: int
    transaction_payload: EvmTransaction | TronTransaction
    threshold_signature_payload: bytes
    transaction_out_id: SchnorrVerificationComponents
    nominee: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionFee:
    """`cf_chains::TransactionFee`."""

    effective_gas_price: int
    gas_used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TronTransactionFee:
    """`cf_chains::TronTransactionFee`."""

    fee: int
    energy_usage: int | None
    energy_fee: int | None
    origin_energy_usage: int | None
    energy_usage_total: int | None
    net_usage: int | None
    net_fee: int | None
    energy_penalty_total: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionConfirmation:
    """`pallet_cf_broadcast::TransactionConfirmationBitcoin`."""

    tx_out_id: bytes | SchnorrVerificationComponents
    signer_id: Script | bytes
    tx_fee: int | TransactionFee | TronTransactionFee
    tx_metadata: tuple[()] | EvmTransactionMetadata | TronTransactionMetadata
    transaction_ref: bytes | PolkadotTransactionId


@dataclass(frozen=True, slots=True)
class BroadcastConfigUpdateBroadcastTimeout:
    """`pallet_cf_broadcast::PalletConfigUpdate::BroadcastTimeout`."""

    blocks: int


BroadcastConfigUpdate: TypeAlias = BroadcastConfigUpdateBroadcastTimeout


FORMS: Mapping[str, PythonForm] = {
    "BroadcastConfigUpdate": {"BroadcastTimeout": BroadcastConfigUpdateBroadcastTimeout},
    "BroadcastDataArbitrum": BroadcastData,
    "BroadcastDataBsc": BroadcastData,
    "BroadcastDataEthereum": BroadcastData,
    "BroadcastDataTron": BroadcastData,
    "EvmTransactionMetadata": EvmTransactionMetadata,
    "PolkadotTransactionId": PolkadotTransactionId,
    "TransactionConfirmationArbitrum": TransactionConfirmation,
    "TransactionConfirmationAssethub": TransactionConfirmation,
    "TransactionConfirmationBitcoin": TransactionConfirmation,
    "TransactionConfirmationBsc": TransactionConfirmation,
    "TransactionConfirmationEthereum": TransactionConfirmation,
    "TransactionConfirmationTron": TransactionConfirmation,
    "TransactionFee": TransactionFee,
    "TronTransaction": TronTransaction,
    "TronTransactionFee": TronTransactionFee,
    "TronTransactionMetadata": TronTransactionMetadata,
    "evm::Transaction": EvmTransaction,
}
