"""Frozen dataclasses of the chain's values: pending deposits.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from cfnode.core.addresses import ForeignAddress, Script
from cfnode.core.scale import PythonForm

from .bitcoin import Utxo
from .channels import ChannelAction
from .deposits import EvmDepositDetails, SolanaDeposit
from .messages import CcmDepositMetadata, DecodedCcmAdditionalData
from .requests import TxId

__all__ = [
    "BoostStatusLookup",
    "BoostStatusLookupChannel",
    "BoostStatusLookupVault",
    "DepositOrigin",
    "DepositOriginDepositChannel",
    "DepositOriginVault",
    "PendingPrewitnessedDeposit",
    "PendingPrewitnessedDepositEntry",
    "TransactionRejectionDetails",
    "TransactionRejectionStatus",
]

BlockNumber = TypeVar("BlockNumber", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionRejectionStatus(Generic[BlockNumber]):
    """`pallet_cf_ingress_egress::TransactionRejectionStatus`."""

    expires_at: BlockNumber
    prewitnessed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionRejectionDetails:
    """`pallet_cf_ingress_egress::TransactionRejectionDetailsEthereum`."""

    deposit_address: bytes | Script | None
    refund_address: ForeignAddress
    asset: str
    amount: int
    deposit_details: EvmDepositDetails | int | Utxo | SolanaDeposit | TxId
    refund_ccm_metadata: CcmDepositMetadata[ForeignAddress, DecodedCcmAdditionalData] | None


@dataclass(frozen=True, slots=True)
class BoostStatusLookupVault:
    """`pallet_cf_ingress_egress::BoostStatusLookup::Vault`."""

    tx_id: bytes | TxId | tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class BoostStatusLookupChannel:
    """`pallet_cf_ingress_egress::BoostStatusLookup::Channel`."""

    deposit_address: bytes | Script


BoostStatusLookup: TypeAlias = BoostStatusLookupVault | BoostStatusLookupChannel


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositOriginDepositChannel:
    """`pallet_cf_ingress_egress::DepositOrigin::DepositChannel`."""

    deposit_address: bytes | Script
    channel_id: int
    deposit_block_height: int
    broker_id: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositOriginVault:
    """`pallet_cf_ingress_egress::DepositOrigin::Vault`."""

    tx_id: bytes | TxId | tuple[bytes, int]
    broker_id: bytes | None


DepositOrigin: TypeAlias = DepositOriginDepositChannel | DepositOriginVault


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPrewitnessedDeposit:
    """`pallet_cf_ingress_egress::PendingPrewitnessedDeposit`."""

    block_height: int
    amount: int
    asset: str
    deposit_details: EvmDepositDetails | int | Utxo | SolanaDeposit | TxId
    deposit_address: bytes | Script | None
    action: ChannelAction[bytes, CcmDepositMetadata[ForeignAddress, DecodedCcmAdditionalData], bytes | Script]
    boost_fee: int
    channel_id: int | None
    origin: DepositOrigin


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPrewitnessedDepositEntry:
    """`pallet_cf_ingress_egress::PendingPrewitnessedDepositEntry`."""

    boost_status_lookup: BoostStatusLookup
    deposit: PendingPrewitnessedDeposit


FORMS: Mapping[str, PythonForm] = {
    "BoostStatusLookupArbitrum": {"Vault": BoostStatusLookupVault, "Channel": BoostStatusLookupChannel},
    "BoostStatusLookupAssethub": {"Vault": BoostStatusLookupVault, "Channel": BoostStatusLookupChannel},
    "BoostStatusLookupBitcoin": {"Vault": BoostStatusLookupVault, "Channel": BoostStatusLookupChannel},
    "BoostStatusLookupBsc": {"Vault": BoostStatusLookupVault, "Channel": BoostStatusLookupChannel},
    "BoostStatusLookupEthereum": {"Vault": BoostStatusLookupVault, "Channel": BoostStatusLookupChannel},
    "BoostStatusLookupPolkadot": {"Vault": BoostStatusLookupVault, "Channel": BoostStatusLookupChannel},
    "BoostStatusLookupSolana": {"Vault": BoostStatusLookupVault, "Channel": BoostStatusLookupChannel},
    "BoostStatusLookupTron": {"Vault": BoostStatusLookupVault, "Channel": BoostStatusLookupChannel},
    "DepositOriginArbitrum": {"DepositChannel": DepositOriginDepositChannel, "Vault": DepositOriginVault},
    "DepositOriginAssethub": {"DepositChannel": DepositOriginDepositChannel, "Vault": DepositOriginVault},
    "DepositOriginBitcoin": {"DepositChannel": DepositOriginDepositChannel, "Vault": DepositOriginVault},
    "DepositOriginBsc": {"DepositChannel": DepositOriginDepositChannel, "Vault": DepositOriginVault},
    "DepositOriginEthereum": {"DepositChannel": DepositOriginDepositChannel, "Vault": DepositOriginVault},
    "DepositOriginPolkadot": {"DepositChannel": DepositOriginDepositChannel, "Vault": DepositOriginVault},
    "DepositOriginSolana": {"DepositChannel": DepositOriginDepositChannel, "Vault": DepositOriginVault},
    "DepositOriginTron": {"DepositChannel": DepositOriginDepositChannel, "Vault": DepositOriginVault},
    "PendingPrewitnessedDepositArbitrum": PendingPrewitnessedDeposit,
    "PendingPrewitnessedDepositAssethub": PendingPrewitnessedDeposit,
    "PendingPrewitnessedDepositBitcoin": PendingPrewitnessedDeposit,
    "PendingPrewitnessedDepositBsc": PendingPrewitnessedDeposit,
    "PendingPrewitnessedDepositEntryArbitrum": PendingPrewitnessedDepositEntry,
    "PendingPrewitnessedDepositEntryAssethub": PendingPrewitnessedDepositEntry,
    "PendingPrewitnessedDepositEntryBitcoin": PendingPrewitnessedDepositEntry,
    "PendingPrewitnessedDepositEntryBsc": PendingPrewitnessedDepositEntry,
    "PendingPrewitnessedDepositEntryEthereum": PendingPrewitnessedDepositEntry,
    "PendingPrewitnessedDepositEntryPolkadot": PendingPrewitnessedDepositEntry,
    "PendingPrewitnessedDepositEntrySolana": PendingPrewitnessedDepositEntry,
    "PendingPrewitnessedDepositEntryTron": PendingPrewitnessedDepositEntry,
    "PendingPrewitnessedDepositEthereum": PendingPrewitnessedDeposit,
    "PendingPrewitnessedDepositPolkadot": PendingPrewitnessedDeposit,
    "PendingPrewitnessedDepositSolana": PendingPrewitnessedDeposit,
    "PendingPrewitnessedDepositTron": PendingPrewitnessedDeposit,
    "TransactionRejectionDetailsArbitrum": TransactionRejectionDetails,
    "TransactionRejectionDetailsAssethub": TransactionRejectionDetails,
    "TransactionRejectionDetailsBitcoin": TransactionRejectionDetails,
    "TransactionRejectionDetailsBsc": TransactionRejectionDetails,
    "TransactionRejectionDetailsEthereum": TransactionRejectionDetails,
    "TransactionRejectionDetailsPolkadot": TransactionRejectionDetails,
    "TransactionRejectionDetailsSolana": TransactionRejectionDetails,
    "TransactionRejectionDetailsTron": TransactionRejectionDetails,
    "TransactionRejectionStatus": TransactionRejectionStatus,
}
