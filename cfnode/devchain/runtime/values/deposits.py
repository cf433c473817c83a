"""What are the values of deposits in Python?

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.addresses import EncodedAddress, ForeignAddress, Script

from .bitcoin import Utxo
from .channels import ChannelAction, RefundReason
from .messages import (
    CcmChannelMetadata,
    CcmDepositMetadata,
    ChannelRefundParameters,
    DecodedCcmAdditionalData,
)
from .requests import Beneficiary, DcaParameters, TxId

__all__ = [
    "BoostStatusLookup",
    "BoostStatusLookupChannel",
    "BoostStatusLookupVault",
    "DepositAction",
    "DepositActionBoostersCredited",
    "DepositActionCcmTransfer",
    "DepositActionLiquidityProvision",
    "DepositActionRefund",
    "DepositActionSwap",
    "DepositFailedDetails",
    "DepositFailedInVault",
    "DepositFailedOnChannel",
    "DepositOrigin",
    "DepositOriginDepositChannel",
    "DepositOriginVault",
    "DepositWitness",
    "EvmDepositDetails",
    "PendingPrewitnessedDeposit",
    "PendingPrewitnessedDepositEntry",
    "SolanaDeposit",
    "SolanaDepositChannel",
    "SolanaDepositVaultSwapAccount",
    "TransactionRejectionDetails",
    "TransactionRejectionStatus",
    "VaultDepositWitness",
]

BlockNumber = TypeVar("BlockNumber", covariant=True)


@dataclass(frozen=True, slots=True)
class EvmDepositDetails:
    """`cf_chains::DepositDetails`."""

    tx_hashes: Sequence[bytes] | None


@dataclass(frozen=True, slots=True)
class SolanaDepositChannel:
    """`cf_chains::VaultSwapOrDepositChannelId::Channel`."""

    value: bytes


@dataclass(frozen=True, slots=True)
class SolanaDepositVaultSwapAccount:
    """`cf_chains::VaultSwapOrDepositChannelId::VaultSwapAccount`."""

    value: tuple[bytes, int]


SolanaDeposit: TypeAlias = SolanaDepositChannel | SolanaDepositVaultSwapAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositWitness:
    """`pallet_cf_ingress_egress::DepositWitnessEthereum`."""

    deposit_address: bytes | Script
    asset: str
    amount: int
    deposit_details: EvmDepositDetails | int | Utxo | SolanaDeposit | TxId


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultDepositWitness:
    """`pallet_cf_ingress_egress::VaultDepositWitnessEthereum`."""

    input_asset: str
    deposit_address: bytes | Script | None
    channel_id: int | None
    deposit_amount: int
    deposit_details: EvmDepositDetails | int | Utxo | SolanaDeposit | TxId
    output_asset: str
    destination_address: EncodedAddress
    deposit_metadata: CcmDepositMetadata[ForeignAddress, bytes] | None
    tx_id: bytes | TxId | tuple[bytes, int]
    broker_fee: Beneficiary[bytes] | None
    affiliate_fees: Sequence[Beneficiary[int]]
    refund_params: ChannelRefundParameters[bytes | Script, CcmChannelMetadata[bytes] | None]
    dca_params: DcaParameters | None
    boost_fee: int


@dataclass(frozen=True, slots=True)
class DepositFailedOnChannel:
    """`pallet_cf_ingress_egress::DepositFailedDetailsEthereum::DepositFailedDepositChannelVariant`."""

    deposit_witness: DepositWitness


@dataclass(frozen=True, slots=True)
class DepositFailedInVault:
    """`pallet_cf_ingress_egress::DepositFailedDetailsEthereum::DepositFailedVaultVariant`."""

    vault_witness: VaultDepositWitness


DepositFailedDetails: TypeAlias = DepositFailedOnChannel | DepositFailedInVault


@dataclass(frozen=True, slots=True)
class DepositActionSwap:
    """`pallet_cf_ingress_egress::DepositAction::Swap`."""

    swap_request_id: int


@dataclass(frozen=True, slots=True)
class DepositActionLiquidityProvision:
    """`pallet_cf_ingress_egress::DepositAction::LiquidityProvision`."""

    lp_account: bytes


@dataclass(frozen=True, slots=True)
class DepositActionCcmTransfer:
    """`pallet_cf_ingress_egress::DepositAction::CcmTransfer`."""

    swap_request_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositActionBoostersCredited:
    """`pallet_cf_ingress_egress::DepositAction::BoostersCredited`."""

    prewitnessed_deposit_id: int
    network_fee_from_boost: int
    network_fee_swap_request_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DepositActionRefund:
    """`pallet_cf_ingress_egress::DepositAction::Refund`."""

    egress_id: tuple[str, int] | None
    reason: RefundReason
    amount: int


DepositAction: TypeAlias = (
    Literal["Unrefundable"]
    | DepositActionSwap
    | DepositActionLiquidityProvision
    | DepositActionCcmTransfer
    | DepositActionBoostersCredited
    | DepositActionRefund
)


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
