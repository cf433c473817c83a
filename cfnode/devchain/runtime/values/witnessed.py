"""What are the values of witnessed in Python?

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cfnode.core.addresses import EncodedAddress

from .bitcoin import Utxo
from .deposits import DepositWitness, EvmDepositDetails, VaultDepositWitness
from .keys import EvmAggKey
from .requests import TxId
from .transactions import TransactionConfirmation

__all__ = [
    "DepositWitnessInfo",
    "EvmKeyManagerEvent",
    "EvmKeyManagerEventAggKeySetByGovKey",
    "EvmKeyManagerEventSetWhitelistedCallHash",
    "EvmKeyManagerEventSignatureAccepted",
    "EvmVaultContractEvent",
    "EvmVaultContractEventTransferFailed",
    "EvmVaultContractEventVaultDeposit",
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
    "RawWitnessedEvents",
    "RawWitnessedEventsArbitrum",
    "RawWitnessedEventsAssethub",
    "RawWitnessedEventsBitcoin",
    "RawWitnessedEventsBsc",
    "RawWitnessedEventsEthereum",
    "RawWitnessedEventsTron",
    "TransferFailedWitness",
    "VaultDepositWitnessInfo",
    "VaultKeyRotatedExternally",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferFailedWitness:
    """`pallet_cf_ingress_egress::TransferFailedWitnessEthereum`."""

    asset: str
    amount: int
    destination_address: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultKeyRotatedExternally:
    """`pallet_cf_vaults::VaultKeyRotatedExternallyEthereum`."""

    new_public_key: EvmAggKey
    block_number: int
    tx_id: bytes


@dataclass(frozen=True, slots=True)
class EvmVaultContractEventVaultDeposit:
    """`state_chain_runtime::EvmVaultContractEventEthereum::VaultDeposit`."""

    value: VaultDepositWitness


@dataclass(frozen=True, slots=True)
class EvmVaultContractEventTransferFailed:
    """`state_chain_runtime::EvmVaultContractEventEthereum::TransferFailed`."""

    value: TransferFailedWitness


EvmVaultContractEvent: TypeAlias = EvmVaultContractEventVaultDeposit | EvmVaultContractEventTransferFailed


@dataclass(frozen=True, slots=True)
class EvmKeyManagerEventSignatureAccepted:
    """`state_chain_runtime::EvmKeyManagerEventEthereum::SignatureAccepted`."""

    value: TransactionConfirmation


@dataclass(frozen=True, slots=True)
class EvmKeyManagerEventAggKeySetByGovKey:
    """`state_chain_runtime::EvmKeyManagerEventEthereum::AggKeySetByGovKey`."""

    value: VaultKeyRotatedExternally


@dataclass(frozen=True, slots=True)
class EvmKeyManagerEventSetWhitelistedCallHash:
    """`state_chain_runtime::EvmKeyManagerEventEthereum::SetWhitelistedCallHash`."""

    value: bytes


EvmKeyManagerEvent: TypeAlias = (
    EvmKeyManagerEventSignatureAccepted
    | EvmKeyManagerEventAggKeySetByGovKey
    | EvmKeyManagerEventSetWhitelistedCallHash
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawWitnessedEventsBitcoin:
    """`state_chain_runtime::RawWitnessedEvents::Bitcoin`."""

    deposits: Sequence[tuple[int, DepositWitness]]
    vault_deposits: Sequence[tuple[int, VaultDepositWitness]]
    broadcasts: Sequence[tuple[int, TransactionConfirmation]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawWitnessedEventsEthereum:
    """`state_chain_runtime::RawWitnessedEvents::Ethereum`."""

    deposits: Sequence[tuple[int, DepositWitness]]
    vault_deposits: Sequence[tuple[int, EvmVaultContractEvent]]
    broadcasts: Sequence[tuple[int, EvmKeyManagerEvent]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawWitnessedEventsArbitrum:
    """`state_chain_runtime::RawWitnessedEvents::Arbitrum`."""

    deposits: Sequence[tuple[int, DepositWitness]]
    vault_deposits: Sequence[tuple[int, EvmVaultContractEvent]]
    broadcasts: Sequence[tuple[int, EvmKeyManagerEvent]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawWitnessedEventsTron:
    """`state_chain_runtime::RawWitnessedEvents::Tron`."""

    deposits: Sequence[tuple[int, DepositWitness]]
    vault_deposits: Sequence[tuple[int, EvmVaultContractEvent]]
    broadcasts: Sequence[tuple[int, EvmKeyManagerEvent]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawWitnessedEventsBsc:
    """`state_chain_runtime::RawWitnessedEvents::Bsc`."""

    deposits: Sequence[tuple[int, DepositWitness]]
    vault_deposits: Sequence[tuple[int, EvmVaultContractEvent]]
    broadcasts: Sequence[tuple[int, EvmKeyManagerEvent]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawWitnessedEventsAssethub:
    """`state_chain_runtime::RawWitnessedEvents::Assethub`."""

    deposits: Sequence[tuple[int, DepositWitness]]
    broadcasts: Sequence[tuple[int, TransactionConfirmation]]


RawWitnessedEvents: TypeAlias = (
    RawWitnessedEventsBitcoin
    | RawWitnessedEventsEthereum
    | RawWitnessedEventsArbitrum
    | RawWitnessedEventsTron
    | RawWitnessedEventsBsc
    | RawWitnessedEventsAssethub
)


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
