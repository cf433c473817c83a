"""Frozen dataclasses of the chain's values: wallets.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

__all__ = [
    "ChainflipExtrinsic",
    "EIP712Domain",
    "Eip712DomainType",
    "EncodedNonNativeCall",
    "EncodedNonNativeCallEip712",
    "EncodedNonNativeCallString",
    "MinimizedPrimitive",
    "MinimizedPrimitiveBool",
    "MinimizedPrimitiveChar",
    "MinimizedPrimitiveI128",
    "MinimizedPrimitiveString",
    "MinimizedPrimitiveU128",
    "MinimizedScaleValue",
    "MinimizedScaleValueNamedStruct",
    "MinimizedScaleValuePrimitive",
    "MinimizedScaleValueSequence",
    "NonceOrAccount",
    "NonceOrAccountAccount",
    "NonceOrAccountNonce",
    "TransactionMetadata",
    "TypedData",
]

C = TypeVar("C", covariant=True)
T = TypeVar("T", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMetadata:
    """`pallet_cf_environment::TransactionMetadata`."""

    nonce: int
    expiry_block: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainflipExtrinsic(Generic[C]):
    """`pallet_cf_environment::ChainflipExtrinsic`."""

    call: C
    transaction_metadata: TransactionMetadata


@dataclass(frozen=True, slots=True)
class NonceOrAccountNonce:
    """`state_chain_runtime::NonceOrAccount::Nonce`."""

    value: int


@dataclass(frozen=True, slots=True)
class NonceOrAccountAccount:
    """`state_chain_runtime::NonceOrAccount::Account`."""

    value: bytes


NonceOrAccount: TypeAlias = NonceOrAccountNonce | NonceOrAccountAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class EIP712Domain:
    """`ethereum_eip712::EIP712Domain`."""

    name: str | None
    version: str | None
    chain_id: int | None
    verifying_contract: bytes | None
    salt: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Eip712DomainType:
    """`ethereum_eip712::Eip712DomainType`."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class MinimizedPrimitiveBool:
    """`ethereum_eip712::MinimizedPrimitive::Bool`."""

    value: bool


@dataclass(frozen=True, slots=True)
class MinimizedPrimitiveChar:
    """`ethereum_eip712::MinimizedPrimitive::Char`."""

    value: int


@dataclass(frozen=True, slots=True)
class MinimizedPrimitiveString:
    """`ethereum_eip712::MinimizedPrimitive::String`."""

    value: str


@dataclass(frozen=True, slots=True)
class MinimizedPrimitiveU128:
    """`ethereum_eip712::MinimizedPrimitive::U128`."""

    value: int


@dataclass(frozen=True, slots=True)
class MinimizedPrimitiveI128:
    """`ethereum_eip712::MinimizedPrimitive::I128`."""

    value: int


MinimizedPrimitive: TypeAlias = (
    MinimizedPrimitiveBool
    | MinimizedPrimitiveChar
    | MinimizedPrimitiveString
    | MinimizedPrimitiveU128
    | MinimizedPrimitiveI128
)


@dataclass(frozen=True, slots=True)
class MinimizedScaleValueNamedStruct:
    """`ethereum_eip712::MinimizedScaleValue::NamedStruct`."""

    value: Sequence[tuple[str, MinimizedScaleValue]]


@dataclass(frozen=True, slots=True)
class MinimizedScaleValueSequence:
    """`ethereum_eip712::MinimizedScaleValue::Sequence`."""

    value: Sequence[MinimizedScaleValue]


@dataclass(frozen=True, slots=True)
class MinimizedScaleValuePrimitive:
    """`ethereum_eip712::MinimizedScaleValue::Primitive`."""

    value: MinimizedPrimitive


MinimizedScaleValue: TypeAlias = (
    MinimizedScaleValueNamedStruct | MinimizedScaleValueSequence | MinimizedScaleValuePrimitive
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedData:
    """`ethereum_eip712::TypedData`."""

    domain: EIP712Domain
    types: Sequence[tuple[str, Sequence[Eip712DomainType]]]
    primary_type: str
    message: MinimizedScaleValue


@dataclass(frozen=True, slots=True)
class EncodedNonNativeCallEip712(Generic[T]):
    """`state_chain_runtime::EncodedNonNativeCallGeneric::Eip712`."""

    value: T


@dataclass(frozen=True, slots=True)
class EncodedNonNativeCallString:
    """`state_chain_runtime::EncodedNonNativeCallGeneric::String`."""

    value: str


EncodedNonNativeCall: TypeAlias = EncodedNonNativeCallEip712[T] | EncodedNonNativeCallString


FORMS: Mapping[str, PythonForm] = {
    "ChainflipExtrinsic": ChainflipExtrinsic,
    "EIP712Domain": EIP712Domain,
    "Eip712DomainType": Eip712DomainType,
    "EncodedNonNativeCallGeneric": {
        "Eip712": EncodedNonNativeCallEip712,
        "String": EncodedNonNativeCallString,
    },
    "MinimizedPrimitive": {
        "Bool": MinimizedPrimitiveBool,
        "Char": MinimizedPrimitiveChar,
        "String": MinimizedPrimitiveString,
        "U128": MinimizedPrimitiveU128,
        "I128": MinimizedPrimitiveI128,
    },
    "MinimizedScaleValue": {
        "NamedStruct": MinimizedScaleValueNamedStruct,
        "Sequence": MinimizedScaleValueSequence,
        "Primitive": MinimizedScaleValuePrimitive,
    },
    "NonceOrAccount": {"Nonce": NonceOrAccountNonce, "Account": NonceOrAccountAccount},
    "TransactionMetadata": TransactionMetadata,
    "TypedData": TypedData,
}
