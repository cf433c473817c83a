"""Types of the status of a key rotation, by signature scheme (runtime 2.2)."""

from __future__ import annotations

from cfnode.devchain.runtime.chains import CHAIN_INSTANCES, ChainFamily
from cfnode.devchain.runtime.frame.types import enum, struct

from . import addresses  # noqa: F401  (the declarations below name its types)

_SIGNER = "pallet_cf_threshold_signature"
_VALIDATORS = "BTreeSet<AccountId32>"


def _declare(family: ChainFamily) -> None:
    crypto, key = family.crypto, f"new_public_key: {family.agg_key}"
    votes = f"ResponseStatus{crypto}"
    struct(
        f"{_SIGNER}::response_status::ResponseStatus",
        name=votes,
        candidates=_VALIDATORS,
        remaining_candidates=_VALIDATORS,
        success_votes=f"BTreeMap<{family.agg_key}, u32>",
        blame_votes="BTreeMap<AccountId32, u32>",
    )
    enum(
        f"{_SIGNER}::KeyRotationStatus{crypto}",
        f"AwaitingKeygen{crypto}{{ceremony_id: u64, keygen_participants: {_VALIDATORS}, "
        f"response_status: {votes}, new_epoch_index: u32}}",
        f"AwaitingKeygenVerification{crypto}{{{key}}}",
        f"KeygenVerificationComplete{crypto}{{{key}}}",
        f"AwaitingKeyHandover{crypto}{{ceremony_id: u64, response_status: {votes}, "
        f"receiving_participants: {_VALIDATORS}, next_epoch: u32, {key}}}",
        f"AwaitingKeyHandoverVerification{crypto}{{{key}}}",
        f"KeyHandoverComplete{crypto}{{{key}}}",
        f"AwaitingActivationSignatures{crypto}{{request_ids: Vec<u32>}}",
        f"Complete{crypto}",
        f"Failed{crypto}{{offenders: {_VALIDATORS}}}",
        f"KeyHandoverFailed{crypto}{{{key}, offenders: {_VALIDATORS}}}",
    )
    enum(
        "pallet_cf_vaults::VaultActivationStatus",
        f"AwaitingActivation{{{key}}}",
        "Complete",
        f"ActivationFailedAwaitingGovernance{{{key}}}",
        name=f"VaultActivationStatus{crypto}",
    )


for _family in dict.fromkeys(chain.family for chain in CHAIN_INSTANCES.values()):
    _declare(_family)
