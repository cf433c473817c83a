"""Frozen dataclasses of the chain's values: signing.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

from .keys import BtcAggKey, EvmAggKey, SchnorrVerificationComponents

__all__ = [
    "AsyncResult",
    "AsyncResultReady",
    "CeremonyContext",
    "KeyRotationStatus",
    "KeyRotationStatusAwaitingActivationSignatures",
    "KeyRotationStatusAwaitingKeyHandover",
    "KeyRotationStatusAwaitingKeyHandoverVerification",
    "KeyRotationStatusAwaitingKeygen",
    "KeyRotationStatusAwaitingKeygenVerification",
    "KeyRotationStatusFailed",
    "KeyRotationStatusKeyHandoverComplete",
    "KeyRotationStatusKeyHandoverFailed",
    "KeyRotationStatusKeygenVerificationComplete",
    "RequestContext",
    "ResponseStatus",
    "SignerAndSignatureResult",
    "ThresholdCeremonyType",
    "ThresholdCeremonyTypeHistoricalKey",
    "VaultActivationStatus",
    "VaultActivationStatusActivationFailedAwaitingGovernance",
    "VaultActivationStatusAwaitingActivation",
]

Participants = TypeVar("Participants", covariant=True)
R = TypeVar("R", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseStatus:
    """`pallet_cf_threshold_signature::ResponseStatus`."""

    candidates: Sequence[bytes]
    remaining_candidates: Sequence[bytes]
    success_votes: Sequence[tuple[EvmAggKey | bytes | BtcAggKey, int]]
    blame_votes: Sequence[tuple[bytes, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRotationStatusAwaitingKeygen:
    """`pallet_cf_threshold_signature::KeyRotationStatusEvmCrypto::AwaitingKeygen`."""

    ceremony_id: int
    keygen_participants: Sequence[bytes]
    response_status: ResponseStatus
    new_epoch_index: int


@dataclass(frozen=True, slots=True)
class KeyRotationStatusAwaitingKeygenVerification:
    """`pallet_cf_threshold_signature::KeyRotationStatusEvmCrypto::AwaitingKeygenVerification`."""

    new_public_key: EvmAggKey | bytes | BtcAggKey


@dataclass(frozen=True, slots=True)
class KeyRotationStatusKeygenVerificationComplete:
    """`pallet_cf_threshold_signature::KeyRotationStatusEvmCrypto::KeygenVerificationComplete`."""

    new_public_key: EvmAggKey | bytes | BtcAggKey


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRotationStatusAwaitingKeyHandover:
    """`pallet_cf_threshold_signature::KeyRotationStatusEvmCrypto::AwaitingKeyHandover`."""

    ceremony_id: int
    response_status: ResponseStatus
    receiving_participants: Sequence[bytes]
    next_epoch: int
    new_public_key: EvmAggKey | bytes | BtcAggKey


@dataclass(frozen=True, slots=True)
class KeyRotationStatusAwaitingKeyHandoverVerification:
    """`pallet_cf_threshold_signature::KeyRotationStatusEvmCrypto::AwaitingKeyHandoverVerification`."""

    new_public_key: EvmAggKey | bytes | BtcAggKey


@dataclass(frozen=True, slots=True)
class KeyRotationStatusKeyHandoverComplete:
    """`pallet_cf_threshold_signature::KeyRotationStatusEvmCrypto::KeyHandoverComplete`."""

    new_public_key: EvmAggKey | bytes | BtcAggKey


@dataclass(frozen=True, slots=True)
class KeyRotationStatusAwaitingActivationSignatures:
    """`pallet_cf_threshold_signature::KeyRotationStatusEvmCrypto::AwaitingActivationSignatures`."""

    request_ids: Sequence[int]


@dataclass(frozen=True, slots=True)
class KeyRotationStatusFailed:
    """`pallet_cf_threshold_signature::KeyRotationStatusEvmCrypto::Failed`."""

    offenders: Sequence[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRotationStatusKeyHandoverFailed:
    """`pallet_cf_threshold_signature::KeyRotationStatusEvmCrypto::KeyHandoverFailed`."""

    new_public_key: EvmAggKey | bytes | BtcAggKey
    offenders: Sequence[bytes]


KeyRotationStatus: TypeAlias = (
    Literal["Complete"]
    | KeyRotationStatusAwaitingKeygen
    | KeyRotationStatusAwaitingKeygenVerification
    | KeyRotationStatusKeygenVerificationComplete
    | KeyRotationStatusAwaitingKeyHandover
    | KeyRotationStatusAwaitingKeyHandoverVerification
    | KeyRotationStatusKeyHandoverComplete
    | KeyRotationStatusAwaitingActivationSignatures
    | KeyRotationStatusFailed
    | KeyRotationStatusKeyHandoverFailed
)


@dataclass(frozen=True, slots=True)
class VaultActivationStatusAwaitingActivation:
    """`pallet_cf_vaults::VaultActivationStatus::AwaitingActivation`."""

    new_public_key: EvmAggKey | bytes | BtcAggKey


@dataclass(frozen=True, slots=True)
class VaultActivationStatusActivationFailedAwaitingGovernance:
    """`pallet_cf_vaults::VaultActivationStatus::ActivationFailedAwaitingGovernance`."""

    new_public_key: EvmAggKey | bytes | BtcAggKey


VaultActivationStatus: TypeAlias = (
    Literal["Complete"]
    | VaultActivationStatusAwaitingActivation
    | VaultActivationStatusActivationFailedAwaitingGovernance
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """`pallet_cf_threshold_signature::RequestContextEvmCrypto`."""

    request_id: int
    attempt_count: int
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdCeremonyTypeHistoricalKey(Generic[Participants]):
    """`pallet_cf_threshold_signature::ThresholdCeremonyType::HistoricalKey`."""

    candidates: Participants
    signers_required: int
    retries_remaining: int


ThresholdCeremonyType: TypeAlias = (
    Literal["Standard", "KeygenVerification"] | ThresholdCeremonyTypeHistoricalKey[Participants]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CeremonyContext:
    """`pallet_cf_threshold_signature::CeremonyContextEvmCrypto`."""

    request_context: RequestContext
    remaining_respondents: Sequence[bytes]
    blame_counts: Sequence[tuple[bytes, int]]
    candidates: Sequence[bytes]
    epoch: int
    key: EvmAggKey
    threshold_ceremony_type: ThresholdCeremonyType[Sequence[bytes]]


@dataclass(frozen=True, slots=True)
class AsyncResultReady(Generic[R]):
    """`cf_traits::AsyncResult::Ready`."""

    value: R


AsyncResult: TypeAlias = Literal["Pending", "Void"] | AsyncResultReady[R]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignerAndSignatureResult:
    """`pallet_cf_threshold_signature::SignerAndSignatureResultEvmCrypto`."""

    signer: EvmAggKey
    signature_result: AsyncResult[
        tuple[Literal["Ok"], SchnorrVerificationComponents] | tuple[Literal["Err"], Sequence[bytes]]
    ]


FORMS: Mapping[str, PythonForm] = {
    "AsyncResult": {"Ready": AsyncResultReady},
    "CeremonyContextEvmCrypto": CeremonyContext,
    "KeyRotationStatusBitcoinCrypto": {
        "AwaitingKeygenBitcoinCrypto": KeyRotationStatusAwaitingKeygen,
        "AwaitingKeygenVerificationBitcoinCrypto": KeyRotationStatusAwaitingKeygenVerification,
        "KeygenVerificationCompleteBitcoinCrypto": KeyRotationStatusKeygenVerificationComplete,
        "AwaitingKeyHandoverBitcoinCrypto": KeyRotationStatusAwaitingKeyHandover,
        "AwaitingKeyHandoverVerificationBitcoinCrypto": KeyRotationStatusAwaitingKeyHandoverVerification,
        "KeyHandoverCompleteBitcoinCrypto": KeyRotationStatusKeyHandoverComplete,
        "AwaitingActivationSignaturesBitcoinCrypto": KeyRotationStatusAwaitingActivationSignatures,
        "CompleteBitcoinCrypto": "Complete",
        "FailedBitcoinCrypto": KeyRotationStatusFailed,
        "KeyHandoverFailedBitcoinCrypto": KeyRotationStatusKeyHandoverFailed,
    },
    "KeyRotationStatusEvmCrypto": {
        "AwaitingKeygenEvmCrypto": KeyRotationStatusAwaitingKeygen,
        "AwaitingKeygenVerificationEvmCrypto": KeyRotationStatusAwaitingKeygenVerification,
        "KeygenVerificationCompleteEvmCrypto": KeyRotationStatusKeygenVerificationComplete,
        "AwaitingKeyHandoverEvmCrypto": KeyRotationStatusAwaitingKeyHandover,
        "AwaitingKeyHandoverVerificationEvmCrypto": KeyRotationStatusAwaitingKeyHandoverVerification,
        "KeyHandoverCompleteEvmCrypto": KeyRotationStatusKeyHandoverComplete,
        "AwaitingActivationSignaturesEvmCrypto": KeyRotationStatusAwaitingActivationSignatures,
        "CompleteEvmCrypto": "Complete",
        "FailedEvmCrypto": KeyRotationStatusFailed,
        "KeyHandoverFailedEvmCrypto": KeyRotationStatusKeyHandoverFailed,
    },
    "KeyRotationStatusPolkadotCrypto": {
        "AwaitingKeygenPolkadotCrypto": KeyRotationStatusAwaitingKeygen,
        "AwaitingKeygenVerificationPolkadotCrypto": KeyRotationStatusAwaitingKeygenVerification,
        "KeygenVerificationCompletePolkadotCrypto": KeyRotationStatusKeygenVerificationComplete,
        "AwaitingKeyHandoverPolkadotCrypto": KeyRotationStatusAwaitingKeyHandover,
        "AwaitingKeyHandoverVerificationPolkadotCrypto": KeyRotationStatusAwaitingKeyHandoverVerification,
        "KeyHandoverCompletePolkadotCrypto": KeyRotationStatusKeyHandoverComplete,
        "AwaitingActivationSignaturesPolkadotCrypto": KeyRotationStatusAwaitingActivationSignatures,
        "CompletePolkadotCrypto": "Complete",
        "FailedPolkadotCrypto": KeyRotationStatusFailed,
        "KeyHandoverFailedPolkadotCrypto": KeyRotationStatusKeyHandoverFailed,
    },
    "KeyRotationStatusSolanaCrypto": {
        "AwaitingKeygenSolanaCrypto": KeyRotationStatusAwaitingKeygen,
        "AwaitingKeygenVerificationSolanaCrypto": KeyRotationStatusAwaitingKeygenVerification,
        "KeygenVerificationCompleteSolanaCrypto": KeyRotationStatusKeygenVerificationComplete,
        "AwaitingKeyHandoverSolanaCrypto": KeyRotationStatusAwaitingKeyHandover,
        "AwaitingKeyHandoverVerificationSolanaCrypto": KeyRotationStatusAwaitingKeyHandoverVerification,
        "KeyHandoverCompleteSolanaCrypto": KeyRotationStatusKeyHandoverComplete,
        "AwaitingActivationSignaturesSolanaCrypto": KeyRotationStatusAwaitingActivationSignatures,
        "CompleteSolanaCrypto": "Complete",
        "FailedSolanaCrypto": KeyRotationStatusFailed,
        "KeyHandoverFailedSolanaCrypto": KeyRotationStatusKeyHandoverFailed,
    },
    "RequestContextEvmCrypto": RequestContext,
    "ResponseStatusBitcoinCrypto": ResponseStatus,
    "ResponseStatusEvmCrypto": ResponseStatus,
    "ResponseStatusPolkadotCrypto": ResponseStatus,
    "ResponseStatusSolanaCrypto": ResponseStatus,
    "SignerAndSignatureResultEvmCrypto": SignerAndSignatureResult,
    "ThresholdCeremonyType": {"HistoricalKey": ThresholdCeremonyTypeHistoricalKey},
    "VaultActivationStatusBitcoinCrypto": {
        "AwaitingActivation": VaultActivationStatusAwaitingActivation,
        "ActivationFailedAwaitingGovernance": VaultActivationStatusActivationFailedAwaitingGovernance,
    },
    "VaultActivationStatusEvmCrypto": {
        "AwaitingActivation": VaultActivationStatusAwaitingActivation,
        "ActivationFailedAwaitingGovernance": VaultActivationStatusActivationFailedAwaitingGovernance,
    },
    "VaultActivationStatusPolkadotCrypto": {
        "AwaitingActivation": VaultActivationStatusAwaitingActivation,
        "ActivationFailedAwaitingGovernance": VaultActivationStatusActivationFailedAwaitingGovernance,
    },
    "VaultActivationStatusSolanaCrypto": {
        "AwaitingActivation": VaultActivationStatusAwaitingActivation,
        "ActivationFailedAwaitingGovernance": VaultActivationStatusActivationFailedAwaitingGovernance,
    },
}
