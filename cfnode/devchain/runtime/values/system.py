"""Frozen dataclasses of the chain's values: system.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

__all__ = [
    "AccountInfo",
    "CheckInherentsResult",
    "CodeUpgradeAuthorization",
    "Digest",
    "DigestItem",
    "DigestItemConsensus",
    "DigestItemOther",
    "DigestItemPreRuntime",
    "DigestItemSeal",
    "EventRecord",
    "Header",
    "InherentData",
    "LastRuntimeUpgradeInfo",
    "Phase",
    "PhaseApplyExtrinsic",
    "RuntimeVersion",
    "ValidTransaction",
]

AccountData = TypeVar("AccountData", covariant=True)
E = TypeVar("E", covariant=True)
Nonce = TypeVar("Nonce", covariant=True)
Number = TypeVar("Number", covariant=True)
T = TypeVar("T", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountInfo(Generic[Nonce, AccountData]):
    """`frame_system::AccountInfo`."""

    nonce: Nonce
    consumers: int
    providers: int
    sufficients: int
    data: AccountData


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRuntimeUpgradeInfo:
    """`frame_system::LastRuntimeUpgradeInfo`."""

    spec_version: int
    spec_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeUpgradeAuthorization:
    """`frame_system::CodeUpgradeAuthorization`."""

    code_hash: bytes
    check_version: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord(Generic[E, T]):
    """`frame_system::EventRecord`."""

    phase: Phase
    event: E
    topics: Sequence[T]


@dataclass(frozen=True, slots=True)
class DigestItemPreRuntime:
    """`sp_runtime::DigestItem::PreRuntime`."""

    value: tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class DigestItemConsensus:
    """`sp_runtime::DigestItem::Consensus`."""

    value: tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class DigestItemSeal:
    """`sp_runtime::DigestItem::Seal`."""

    value: tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class DigestItemOther:
    """`sp_runtime::DigestItem::Other`."""

    value: bytes


DigestItem: TypeAlias = (
    Literal["RuntimeEnvironmentUpdated"]
    | DigestItemPreRuntime
    | DigestItemConsensus
    | DigestItemSeal
    | DigestItemOther
)


@dataclass(frozen=True, slots=True)
class Digest:
    """`sp_runtime::Digest`."""

    logs: Sequence[DigestItem]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header(Generic[Number]):
    """`sp_runtime::Header`."""

    parent_hash: bytes
    number: Number
    state_root: bytes
    extrinsics_root: bytes
    digest: Digest


@dataclass(frozen=True, slots=True)
class PhaseApplyExtrinsic:
    """`frame_system::Phase::ApplyExtrinsic`."""

    value: int


Phase: TypeAlias = Literal["Finalization", "Initialization"] | PhaseApplyExtrinsic


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeVersion:
    """`sp_version::RuntimeVersion`."""

    spec_name: str
    impl_name: str
    authoring_version: int
    spec_version: int
    impl_version: int
    apis: Sequence[tuple[bytes, int]]
    transaction_version: int
    system_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidTransaction:
    """`sp_runtime::ValidTransaction`."""

    priority: int
    requires: Sequence[bytes]
    provides: Sequence[bytes]
    longevity: int
    propagate: bool


@dataclass(frozen=True, slots=True)
class InherentData:
    """`sp_inherents::InherentData`."""

    data: Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckInherentsResult:
    """`sp_inherents::CheckInherentsResult`."""

    okay: bool
    fatal_error: bool
    errors: InherentData


FORMS: Mapping[str, PythonForm] = {
    "AccountInfo": AccountInfo,
    "CheckInherentsResult": CheckInherentsResult,
    "CodeUpgradeAuthorization": CodeUpgradeAuthorization,
    "DigestItem": {
        "PreRuntime": DigestItemPreRuntime,
        "Consensus": DigestItemConsensus,
        "Seal": DigestItemSeal,
        "Other": DigestItemOther,
    },
    "EventRecord": EventRecord,
    "Header": Header,
    "InherentData": InherentData,
    "LastRuntimeUpgradeInfo": LastRuntimeUpgradeInfo,
    "Phase": {"ApplyExtrinsic": PhaseApplyExtrinsic},
    "RuntimeVersion": RuntimeVersion,
    "ValidTransaction": ValidTransaction,
    "generic::Digest": Digest,
}
