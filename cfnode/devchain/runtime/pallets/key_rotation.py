"""How does a threshold signer come to the key of the next epoch?

The next authorities generate a key and sign with it, to show that they can; where outputs of the old key have
to be spent later (Bitcoin), the old authorities hand theirs over, and that is tried by a signature too. Then
the vaults are activated, and the new key signs (pallet_cf_threshold_signature: key_rotator).

On the main net each authority reports the outcome of a ceremony. Here all have succeeded in the next block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from cfnode.devchain.runtime.frame import EventSet, OptionalMap, OptionalValue, Pallet, Value, event
from cfnode.devchain.runtime.keys import GENESIS_EPOCH, signer_key

from .system import System

__all__ = ["KeyRotation"]

_VALIDATORS = "BTreeSet<AccountId32>"
_OUTCOMES = {
    "KeygenVerificationComplete": "KeygenComplete",
    "KeyHandoverComplete": "KeyHandoverComplete",
    "Complete": "RotationComplete",
    "Failed": "Failed",
    "": "Void",
}
"""The status as other pallets see it; those that are not here are `Pending`."""


class KeyRotation(Pallet):
    """The keys of one signature scheme, by epoch, and the rotation from one to the next."""

    crate = "pallet_cf_threshold_signature"
    crypto: ClassVar[str]
    hands_over: ClassVar[bool] = False
    verifies_by_signature: ClassVar[bool] = False

    CeremonyIdCounter = Value[int]("u64")
    CurrentKeyEpoch = OptionalValue[int]("u32")
    Keys = OptionalMap[int, Any]("Twox64Concat", "u32", "AggKey")
    PendingKeyRotation = OptionalValue[Any]("KeyRotationStatus")
    KeygenResolutionPendingSince = Value[int]("u32")
    KeyHandoverResolutionPendingSince = Value[int]("u32")

    class Event(EventSet):
        KeygenRequest = event(8, ceremony_id="u64", participants=_VALIDATORS, epoch_index="u32")
        KeyHandoverRequest = event(
            9,
            ceremony_id="u64",
            from_epoch="u32",
            key_to_share="AggKey",
            sharing_participants=_VALIDATORS,
            receiving_participants=_VALIDATORS,
            new_key="AggKey",
            to_epoch="u32",
        )
        KeygenSuccess = event(14, "u64")
        KeyHandoverSuccess = event(15, ceremony_id="u64")
        NoKeyHandover = event(16)
        KeygenVerificationSuccess = event(17, agg_key="AggKey")
        KeyHandoverVerificationSuccess = event(18, agg_key="AggKey")
        KeyRotationCompleted = event(25)

    def genesis(self, config: Any) -> None:
        self.set_key(GENESIS_EPOCH, signer_key(self.name))

    def on_new_epoch(self, epoch: int) -> None:
        """The epoch has the key that a rotation has prepared for it, or else that of the epoch before."""
        if self.key_epoch < epoch:
            self.set_key(epoch, self.active_key())

    @property
    def key_epoch(self) -> int:
        """The epoch whose key signs; 0 if there is no key."""
        return self.CurrentKeyEpoch.get() or 0

    def active_key(self) -> Any:
        """The key of the current key epoch, or None."""
        epoch = self.CurrentKeyEpoch.get()
        return None if epoch is None else self.Keys.get(epoch)

    def set_key(self, epoch: int, key: Any) -> None:
        """From now on this key signs."""
        self.Keys.put(epoch, key)
        self.CurrentKeyEpoch.put(epoch)

    # The steps of a rotation, which the Validator pallet asks for

    def generate_key(self, participants: Sequence[bytes], epoch: int) -> None:
        """Have the authorities of the next epoch generate a key."""
        ceremony_id = self.next_ceremony_id()
        self._enter(
            "AwaitingKeygen",
            ceremony_id=ceremony_id,
            keygen_participants=participants,
            response_status=_no_votes(participants),
            new_epoch_index=epoch,
        )
        self.KeygenResolutionPendingSince.put(self.other(System).Number.get())
        self.deposit(
            self.Event.KeygenRequest,
            ceremony_id=ceremony_id,
            participants=participants,
            epoch_index=epoch,
        )

    def hand_over(self, sharing: Sequence[bytes], receiving: Sequence[bytes], epoch: int) -> None:
        """Have the present key handed to the next authorities, where the chain needs that."""
        new_key = self._phase()[1]["new_public_key"]
        if not self.hands_over:
            self._enter("KeyHandoverComplete", new_public_key=new_key)
            self.deposit(self.Event.NoKeyHandover)
            return
        ceremony_id = self.next_ceremony_id()
        self._enter(
            "AwaitingKeyHandover",
            ceremony_id=ceremony_id,
            response_status=_no_votes(sorted({*sharing, *receiving})),
            receiving_participants=receiving,
            next_epoch=epoch,
            new_public_key=new_key,
        )
        self.KeyHandoverResolutionPendingSince.put(self.other(System).Number.get())
        self.deposit(
            self.Event.KeyHandoverRequest,
            ceremony_id=ceremony_id,
            from_epoch=self.key_epoch,
            key_to_share=self.active_key(),
            sharing_participants=sharing,
            receiving_participants=receiving,
            new_key=new_key,
            to_epoch=epoch,
        )

    def await_activation(self, epoch: int, request_ids: Sequence[int]) -> None:
        """The rotation transactions are being signed; the new key signs whatever comes after them."""
        self.set_key(epoch, self.new_key)
        self._enter("AwaitingActivationSignatures", request_ids=request_ids)

    def complete(self) -> None:
        """The vaults of all chains of this scheme are activated."""
        self._enter("Complete")
        self.deposit(self.Event.KeyRotationCompleted)

    def reset(self) -> None:
        """Forget the rotation."""
        for each in (
            self.PendingKeyRotation,
            self.KeygenResolutionPendingSince,
            self.KeyHandoverResolutionPendingSince,
        ):
            each.kill()

    @property
    def new_key(self) -> Any:
        """The key that the rotation brings, once it has been generated and handed over."""
        return self._phase()[1]["new_public_key"]

    @property
    def outcome(self) -> str:
        """KeygenComplete, KeyHandoverComplete, RotationComplete, Failed, Void or Pending."""
        return _OUTCOMES.get(self._phase()[0], "Pending")

    @property
    def activation_requests(self) -> list[int] | None:
        """The signatures that the vaults' activation waits for; None if it does not wait for any."""
        kind, fields = self._phase()
        return fields["request_ids"] if kind == "AwaitingActivationSignatures" else None

    def is_unsigned(self, request_id: int) -> bool:
        """Whether a signature that was requested is not there yet."""
        return False

    # The ceremonies

    def on_initialize(self, number: int) -> None:
        """What the authorities were asked for has been done."""
        kind, fields = self._phase()
        if kind == "AwaitingKeygen" and number > self.KeygenResolutionPendingSince.get():
            self.KeygenResolutionPendingSince.kill()
            self._note_generated(fields)
        elif kind == "AwaitingKeyHandover" and number > self.KeyHandoverResolutionPendingSince.get():
            self.KeyHandoverResolutionPendingSince.kill()
            self._note_handed_over(fields)
        elif kind.endswith("Verification") and not self.verifies_by_signature:
            self.note_verified()

    def _note_generated(self, fields: dict[str, Any]) -> None:
        epoch, participants = fields["new_epoch_index"], fields["keygen_participants"]
        key = signer_key(self.name, epoch)
        self.deposit(self.Event.KeygenSuccess, fields["ceremony_id"])
        self._enter("AwaitingKeygenVerification", new_public_key=key)
        self.request_verification(key, participants, epoch, fields["ceremony_id"])

    def _note_handed_over(self, fields: dict[str, Any]) -> None:
        key = fields["new_public_key"] | {"previous": self.active_key()["current"]}
        self.deposit(self.Event.KeyHandoverSuccess, ceremony_id=fields["ceremony_id"])
        self._enter("AwaitingKeyHandoverVerification", new_public_key=key)
        participants, epoch = fields["receiving_participants"], fields["next_epoch"]
        self.request_verification(key, participants, epoch, fields["ceremony_id"])

    def request_verification(
        self, key: Any, participants: Sequence[bytes], epoch: int, ceremony_id: int
    ) -> None:
        """Have a key tried by a signature, where signatures are; else it is taken as it is."""

    def note_verified(self) -> None:
        """The key that has been generated, or handed over, signs."""
        kind, fields = self._phase()
        key = fields["new_public_key"]
        if kind == "AwaitingKeygenVerification":
            self._enter("KeygenVerificationComplete", new_public_key=key)
            self.deposit(self.Event.KeygenVerificationSuccess, agg_key=key)
        else:
            self._enter("KeyHandoverComplete", new_public_key=key)
            self.deposit(self.Event.KeyHandoverVerificationSuccess, agg_key=key)

    def note_failed(self) -> None:
        """The ceremony has failed, and not enough authorities agree whose fault that is."""
        self._enter("Failed", offenders=[])

    def next_ceremony_id(self) -> int:
        """Take the next id."""
        ceremony_id: int = self.CeremonyIdCounter.mutate(lambda last: last + 1)
        return ceremony_id

    def _phase(self) -> tuple[str, dict[str, Any]]:
        """Where the rotation is: variant without the scheme's name, and its fields; "" if there is none."""
        status = self.PendingKeyRotation.get()
        if status is None or isinstance(status, str):
            return (status or "").removesuffix(self.crypto), {}
        return status[0].removesuffix(self.crypto), status[1]

    def _enter(self, kind: str, **fields: Any) -> None:
        variant = kind + self.crypto
        self.PendingKeyRotation.put((variant, fields) if fields else variant)


def _no_votes(validators: Sequence[bytes]) -> dict[str, Any]:
    return {
        "candidates": validators,
        "remaining_candidates": validators,
        "success_votes": [],
        "blame_votes": [],
    }
