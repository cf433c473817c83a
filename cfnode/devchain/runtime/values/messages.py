"""Frozen dataclasses of the chain's values: messages.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.addresses import EncodedAddress, ForeignAddress
from cfnode.core.scale import PythonForm

__all__ = [
    "CcmAccounts",
    "CcmAddress",
    "CcmChannelMetadata",
    "CcmDepositMetadata",
    "CcmMetadata",
    "ChannelRefundParameters",
    "CheckedCcm",
    "CheckedCcmDeposit",
    "DecodedCcmAdditionalData",
    "DecodedCcmAdditionalDataSolana",
    "RefundParameters",
    "SolanaCcmData",
    "SolanaCcmDataV0",
    "SolanaCcmDataV1",
]

A = TypeVar("A", covariant=True)
AdditionalData = TypeVar("AdditionalData", covariant=True)
Address = TypeVar("Address", covariant=True)
CcmRefundDetails = TypeVar("CcmRefundDetails", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CcmAddress:
    """`cf_chains::CcmAddress`."""

    pubkey: bytes
    is_writable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CcmAccounts:
    """`cf_chains::CcmAccounts`."""

    cf_receiver: CcmAddress
    additional_accounts: Sequence[CcmAddress]
    fallback_address: bytes


@dataclass(frozen=True, slots=True)
class SolanaCcmDataV0:
    """`cf_chains::VersionedSolanaCcmAdditionalData::V0`."""

    value: CcmAccounts


@dataclass(frozen=True, slots=True, kw_only=True)
class SolanaCcmDataV1:
    """`cf_chains::VersionedSolanaCcmAdditionalData::V1`."""

    ccm_accounts: CcmAccounts
    alts: Sequence[bytes]


SolanaCcmData: TypeAlias = SolanaCcmDataV0 | SolanaCcmDataV1


@dataclass(frozen=True, slots=True)
class DecodedCcmAdditionalDataSolana:
    """`cf_chains::DecodedCcmAdditionalData::Solana`."""

    value: SolanaCcmData


DecodedCcmAdditionalData: TypeAlias = Literal["NotRequired"] | DecodedCcmAdditionalDataSolana


@dataclass(frozen=True, slots=True, kw_only=True)
class CcmChannelMetadata(Generic[AdditionalData]):
    """`cf_chains::CcmChannelMetadata`."""

    message: bytes
    gas_budget: int
    ccm_additional_data: AdditionalData


@dataclass(frozen=True, slots=True, kw_only=True)
class CcmDepositMetadata(Generic[Address, AdditionalData]):
    """`cf_chains::CcmDepositMetadata`."""

    channel_metadata: CcmChannelMetadata[AdditionalData]
    source_chain: str
    source_address: Address | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRefundParameters(Generic[A, CcmRefundDetails]):
    """`cf_chains::ChannelRefundParameters`."""

    retry_duration: int
    refund_address: A
    min_price: int
    refund_ccm_metadata: CcmRefundDetails
    max_oracle_price_slippage: int | None


CcmMetadata: TypeAlias = CcmChannelMetadata[bytes]


CheckedCcm: TypeAlias = CcmChannelMetadata[DecodedCcmAdditionalData]


CheckedCcmDeposit: TypeAlias = CcmDepositMetadata[ForeignAddress, DecodedCcmAdditionalData]


RefundParameters: TypeAlias = ChannelRefundParameters[EncodedAddress, CcmChannelMetadata[bytes] | None]


FORMS: Mapping[str, PythonForm] = {
    "CcmAccounts": CcmAccounts,
    "CcmAddress": CcmAddress,
    "CcmChannelMetadata": CcmChannelMetadata,
    "CcmDepositMetadata": CcmDepositMetadata,
    "ChannelRefundParameters": ChannelRefundParameters,
    "DecodedCcmAdditionalData": {"Solana": DecodedCcmAdditionalDataSolana},
    "VersionedSolanaCcmAdditionalData": {"V0": SolanaCcmDataV0, "V1": SolanaCcmDataV1},
}
