"""Frozen dataclasses of the chain's values: witnessed.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cfnode.core.scale import PythonForm

from .deposits import DepositWitness, VaultDepositWitness
from .keys import EvmAggKey
from .transactions import TransactionConfirmation

__all__ = [
    "EvmKeyManagerEvent",
    "EvmKeyManagerEventAggKeySetByGovKey",
    "EvmKeyManagerEventSetWhitelistedCallHash",
    "EvmKeyManagerEventSignatureAccepted",
    "EvmVaultContractEvent",
    "EvmVaultContractEventTransferFailed",
    "EvmVaultContractEventVaultDeposit",
    "RawWitnessedEvents",
    "RawWitnessedEventsArbitrum",
    "RawWitnessedEventsAssethub",
    "RawWitnessedEventsBitcoin",
    "RawWitnessedEventsBsc",
    "RawWitnessedEventsEthereum",
    "RawWitnessedEventsTron",
    "TransferFailedWitness",
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


FORMS: Mapping[str, PythonForm] = {
    "EvmKeyManagerEventArbitrum": {
        "SignatureAcceptedArbitrum": EvmKeyManagerEventSignatureAccepted,
        "AggKeySetByGovKeyArbitrum": EvmKeyManagerEventAggKeySetByGovKey,
        "SetWhitelistedCallHashArbitrum": EvmKeyManagerEventSetWhitelistedCallHash,
    },
    "EvmKeyManagerEventBsc": {
        "SignatureAcceptedBsc": EvmKeyManagerEventSignatureAccepted,
        "AggKeySetByGovKeyBsc": EvmKeyManagerEventAggKeySetByGovKey,
        "SetWhitelistedCallHashBsc": EvmKeyManagerEventSetWhitelistedCallHash,
    },
    "EvmKeyManagerEventEthereum": {
        "SignatureAcceptedEthereum": EvmKeyManagerEventSignatureAccepted,
        "AggKeySetByGovKeyEthereum": EvmKeyManagerEventAggKeySetByGovKey,
        "SetWhitelistedCallHashEthereum": EvmKeyManagerEventSetWhitelistedCallHash,
    },
    "EvmKeyManagerEventTron": {
        "SignatureAcceptedTron": EvmKeyManagerEventSignatureAccepted,
        "AggKeySetByGovKeyTron": EvmKeyManagerEventAggKeySetByGovKey,
        "SetWhitelistedCallHashTron": EvmKeyManagerEventSetWhitelistedCallHash,
    },
    "EvmVaultContractEventArbitrum": {
        "VaultDepositArbitrum": EvmVaultContractEventVaultDeposit,
        "TransferFailedArbitrum": EvmVaultContractEventTransferFailed,
    },
    "EvmVaultContractEventBsc": {
        "VaultDepositBsc": EvmVaultContractEventVaultDeposit,
        "TransferFailedBsc": EvmVaultContractEventTransferFailed,
    },
    "EvmVaultContractEventEthereum": {
        "VaultDepositEthereum": EvmVaultContractEventVaultDeposit,
        "TransferFailedEthereum": EvmVaultContractEventTransferFailed,
    },
    "EvmVaultContractEventTron": {
        "VaultDepositTron": EvmVaultContractEventVaultDeposit,
        "TransferFailedTron": EvmVaultContractEventTransferFailed,
    },
    "RawWitnessedEvents": {
        "Bitcoin": RawWitnessedEventsBitcoin,
        "Ethereum": RawWitnessedEventsEthereum,
        "Arbitrum": RawWitnessedEventsArbitrum,
        "Tron": RawWitnessedEventsTron,
        "Bsc": RawWitnessedEventsBsc,
        "Assethub": RawWitnessedEventsAssethub,
    },
    "TransferFailedWitnessArbitrum": TransferFailedWitness,
    "TransferFailedWitnessBsc": TransferFailedWitness,
    "TransferFailedWitnessEthereum": TransferFailedWitness,
    "TransferFailedWitnessTron": TransferFailedWitness,
    "VaultKeyRotatedExternallyArbitrum": VaultKeyRotatedExternally,
    "VaultKeyRotatedExternallyBsc": VaultKeyRotatedExternally,
    "VaultKeyRotatedExternallyEthereum": VaultKeyRotatedExternally,
    "VaultKeyRotatedExternallyTron": VaultKeyRotatedExternally,
}
