"""Frozen dataclasses of the chain's values: validators.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

__all__ = [
    "DelegationSnapshot",
    "OperatorSettings",
    "RotationPhase",
    "RotationPhaseActivatingKeys",
    "RotationPhaseKeyHandoversInProgress",
    "RotationPhaseKeygensInProgress",
    "RotationPhaseNewKeysActivated",
    "RotationPhaseSessionRotating",
    "RotationState",
    "SetSizeParameters",
    "StoredPendingChange",
    "StoredState",
    "StoredStatePendingPause",
    "StoredStatePendingResume",
]

Account = TypeVar("Account", covariant=True)
Amount = TypeVar("Amount", covariant=True)
Bid = TypeVar("Bid", covariant=True)
Id = TypeVar("Id", covariant=True)
N = TypeVar("N", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationState(Generic[Id, Amount]):
    """`pallet_cf_validator::RotationState`."""

    primary_candidates: Sequence[Id]
    banned: Sequence[Id]
    bond: Amount
    new_epoch_index: int


@dataclass(frozen=True, slots=True)
class RotationPhaseKeygensInProgress:
    """`pallet_cf_validator::RotationPhase::KeygensInProgress`."""

    value: RotationState[bytes, int]


@dataclass(frozen=True, slots=True)
class RotationPhaseKeyHandoversInProgress:
    """`pallet_cf_validator::RotationPhase::KeyHandoversInProgress`."""

    value: RotationState[bytes, int]


@dataclass(frozen=True, slots=True)
class RotationPhaseActivatingKeys:
    """`pallet_cf_validator::RotationPhase::ActivatingKeys`."""

    value: RotationState[bytes, int]


@dataclass(frozen=True, slots=True)
class RotationPhaseNewKeysActivated:
    """`pallet_cf_validator::RotationPhase::NewKeysActivated`."""

    value: RotationState[bytes, int]


@dataclass(frozen=True, slots=True)
class RotationPhaseSessionRotating:
    """`pallet_cf_validator::RotationPhase::SessionRotating`."""

    value: tuple[Sequence[bytes], int]


RotationPhase: TypeAlias = (
    Literal["Idle"]
    | RotationPhaseKeygensInProgress
    | RotationPhaseKeyHandoversInProgress
    | RotationPhaseActivatingKeys
    | RotationPhaseNewKeysActivated
    | RotationPhaseSessionRotating
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSizeParameters:
    """`pallet_cf_validator::SetSizeParameters`."""

    min_size: int
    max_size: int
    max_expansion: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSettings:
    """`pallet_cf_validator::OperatorSettings`."""

    fee_bps: int
    delegation_acceptance: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationSnapshot(Generic[Account, Bid]):
    """`pallet_cf_validator::DelegationSnapshot`."""

    operator: Account
    validators: Sequence[tuple[Account, Bid]]
    delegators: Sequence[tuple[Account, Bid]]
    delegation_fee_bps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStatePendingPause(Generic[N]):
    """`pallet_grandpa::StoredState::PendingPause`."""

    scheduled_at: N
    delay: N


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStatePendingResume(Generic[N]):
    """`pallet_grandpa::StoredState::PendingResume`."""

    scheduled_at: N
    delay: N


StoredState: TypeAlias = Literal["Live", "Paused"] | StoredStatePendingPause[N] | StoredStatePendingResume[N]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPendingChange(Generic[N]):
    """`pallet_grandpa::StoredPendingChange`."""

    scheduled_at: N
    delay: N
    next_authorities: Sequence[tuple[bytes, int]]
    forced: N | None


FORMS: Mapping[str, PythonForm] = {
    "DelegationSnapshot": DelegationSnapshot,
    "OperatorSettings": OperatorSettings,
    "RotationPhase": {
        "KeygensInProgress": RotationPhaseKeygensInProgress,
        "KeyHandoversInProgress": RotationPhaseKeyHandoversInProgress,
        "ActivatingKeys": RotationPhaseActivatingKeys,
        "NewKeysActivated": RotationPhaseNewKeysActivated,
        "SessionRotating": RotationPhaseSessionRotating,
    },
    "RotationState": RotationState,
    "SetSizeParameters": SetSizeParameters,
    "StoredPendingChange": StoredPendingChange,
    "StoredState": {"PendingPause": StoredStatePendingPause, "PendingResume": StoredStatePendingResume},
}
