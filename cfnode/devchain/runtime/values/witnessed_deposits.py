"""Frozen dataclasses of the chain's values: witnessed deposits.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cfnode.core.addresses import EncodedAddress
from cfnode.core.scale import PythonForm

from .bitcoin import Utxo
from .deposits import EvmDepositDetails
from .requests import TxId

__all__ = [
    "DepositWitnessInfo",
    "IngressDepositDetails",
    "IngressDepositDetailsArbitrum",
    "IngressDepositDetailsAssethub",
    "IngressDepositDetailsBitcoin",
    "IngressDepositDetailsBsc",
    "IngressDepositDetailsEthereum",
    "IngressDepositDetailsTron",
    "IngressEvents",
    "IngressTransactionInId",
    "IngressTransactionInIdArbitrum",
    "IngressTransactionInIdBitcoin",
    "IngressTransactionInIdBsc",
    "IngressTransactionInIdEthereum",
    "IngressTransactionInIdSolana",
    "IngressTransactionInIdSolanaDepositChannel",
    "IngressTransactionInIdTron",
    "VaultDepositWitnessInfo",
]


@dataclass(frozen=True, slots=True)
class IngressDepositDetailsBitcoin:
    """`state_chain_runtime::DepositDetails::Bitcoin`."""

    value: Utxo


@dataclass(frozen=True, slots=True)
class IngressDepositDetailsEthereum:
    """`state_chain_runtime::DepositDetails::Ethereum`."""

    value: EvmDepositDetails


@dataclass(frozen=True, slots=True)
class IngressDepositDetailsArbitrum:
    """`state_chain_runtime::DepositDetails::Arbitrum`."""

    value: EvmDepositDetails


@dataclass(frozen=True, slots=True)
class IngressDepositDetailsTron:
    """`state_chain_runtime::DepositDetails::Tron`."""

    value: EvmDepositDetails


@dataclass(frozen=True, slots=True)
class IngressDepositDetailsBsc:
    """`state_chain_runtime::DepositDetails::Bsc`."""

    value: EvmDepositDetails


@dataclass(frozen=True, slots=True)
class IngressDepositDetailsAssethub:
    """`state_chain_runtime::DepositDetails::Assethub`."""

    value: TxId


IngressDepositDetails: TypeAlias = (
    IngressDepositDetailsBitcoin
    | IngressDepositDetailsEthereum
    | IngressDepositDetailsArbitrum
    | IngressDepositDetailsTron
    | IngressDepositDetailsBsc
    | IngressDepositDetailsAssethub
)


@dataclass(frozen=True, slots=True)
class IngressTransactionInIdBitcoin:
    """`cf_chains::TransactionInId::Bitcoin`."""

    value: bytes


@dataclass(frozen=True, slots=True)
class IngressTransactionInIdEthereum:
    """`cf_chains::TransactionInId::Ethereum`."""

    value: bytes


@dataclass(frozen=True, slots=True)
class IngressTransactionInIdArbitrum:
    """`cf_chains::TransactionInId::Arbitrum`."""

    value: bytes


@dataclass(frozen=True, slots=True)
class IngressTransactionInIdTron:
    """`cf_chains::TransactionInId::Tron`."""

    value: bytes


@dataclass(frozen=True, slots=True)
class IngressTransactionInIdSolana:
    """`cf_chains::TransactionInId::Solana`."""

    value: tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class IngressTransactionInIdSolanaDepositChannel:
    """`cf_chains::TransactionInId::SolanaDepositChannel`."""

    value: bytes


@dataclass(frozen=True, slots=True)
class IngressTransactionInIdBsc:
    """`cf_chains::TransactionInId::Bsc`."""

    value: bytes


IngressTransactionInId: TypeAlias = (
    IngressTransactionInIdBitcoin
    | IngressTransactionInIdEthereum
    | IngressTransactionInIdArbitrum
    | IngressTransactionInIdTron
    | IngressTransactionInIdSolana
    | IngressTransactionInIdSolanaDepositChannel
    | IngressTransactionInIdBsc
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositWitnessInfo:
    """`state_chain_runtime::DepositWitnessInfo`."""

    deposit_chain_block_height: int
    deposit_address: EncodedAddress
    amount: int
    asset: str
    deposit_details: IngressDepositDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultDepositWitnessInfo:
    """`state_chain_runtime::VaultDepositWitnessInfo`."""

    tx_id: IngressTransactionInId
    deposit_chain_block_height: int
    input_asset: str
    output_asset: str
    amount: int
    destination_address: EncodedAddress
    deposit_details: IngressDepositDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressEvents:
    """`state_chain_runtime::IngressEvents`."""

    deposits: Sequence[DepositWitnessInfo]
    vault_deposits: Sequence[VaultDepositWitnessInfo]


FORMS: Mapping[str, PythonForm] = {
    "DepositWitnessInfo": DepositWitnessInfo,
    "IngressEvents": IngressEvents,
    "VaultDepositWitnessInfo": VaultDepositWitnessInfo,
    "ingress::DepositDetails": {
        "Bitcoin": IngressDepositDetailsBitcoin,
        "Ethereum": IngressDepositDetailsEthereum,
        "Arbitrum": IngressDepositDetailsArbitrum,
        "Tron": IngressDepositDetailsTron,
        "Bsc": IngressDepositDetailsBsc,
        "Assethub": IngressDepositDetailsAssethub,
    },
    "ingress::TransactionInId": {
        "Bitcoin": IngressTransactionInIdBitcoin,
        "Ethereum": IngressTransactionInIdEthereum,
        "Arbitrum": IngressTransactionInIdArbitrum,
        "Tron": IngressTransactionInIdTron,
        "Solana": IngressTransactionInIdSolana,
        "SolanaDepositChannel": IngressTransactionInIdSolanaDepositChannel,
        "Bsc": IngressTransactionInIdBsc,
    },
}
