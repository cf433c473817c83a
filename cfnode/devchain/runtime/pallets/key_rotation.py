"""Key rotation of a threshold signer: key generation, handover and activation.

The next authorities generate a key and sign with it, to prove that they can; where outputs of the old key
have to be spent later (Bitcoin), the old authorities hand their key over, which a signature verifies too.
Then the vaults are activated, and the new key signs (pallet_cf_threshold_signature: key_rotator).

On the main net each authority reports the outcome of a ceremony. Here all succeed in the next block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.frame import EventSet, OptionalMap, OptionalValue, Pallet, Value, event
from cfnode.devchain.runtime.keys import GENESIS_EPOCH, AggKey, signer_key

from .system import System

__all__ = ["KeyRotation", "names_of"]

_VALIDATORS = "BTreeSet<AccountId32>"
_HAVE_NEW_KEY = (
    values.KeyRotationStatusAwaitingKeygenVerification,
    values.KeyRotationStatusKeygenVerificationComplete,
    values.KeyRotationStatusAwaitingKeyHandover,
    values.KeyRotationStatusAwaitingKeyHandoverVerification,
    values.KeyRotationStatusKeyHandoverComplete,
    values.KeyRotationStatusKeyHandoverFailed,
)


def names_of(key: str, crypto: str) -> dict[str, str]:
    """Return the types whose names depend on a signature scheme."""
    return {"AggKey": key, "KeyRotationStatus": f"KeyRotationStatus{crypto}"}


class KeyRotation(Pallet):
    """The keys of one signature scheme, by epoch, and the rotation from one to the next."""

    crate = "pallet_cf_threshold_signature"
    crypto: ClassVar[str]
    hands_over: ClassVar[bool] = False
    verifies_by_signature: ClassVar[bool] = False

    CeremonyIdCounter = Value[int]("u64")
    CurrentKeyEpoch = OptionalValue[int]("u32")
    Keys = OptionalMap[int, values.EvmAggKey | bytes | values.BtcAggKey]("Twox64Concat", "u32", "AggKey")
    PendingKeyRotation = OptionalValue[values.KeyRotationStatus]("KeyRotationStatus")
    KeygenResolutionPendingSince = Value[int]("u32")
    KeyHandoverResolutionPendingSince = Value[int]("u32")

    class Event(EventSet):
        """Events of key generation and handover."""

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

    def genesis(self, config: DevGenesis) -> None:
        """Store the key of the first epoch."""
        self.set_key(GENESIS_EPOCH, signer_key(self.name))

    def on_new_epoch(self, epoch: int) -> None:
        """Keep the previous epoch's key, unless a rotation has prepared one for this epoch."""
        key = self.active_key()
        if self.key_epoch < epoch and key is not None:
            self.set_key(epoch, key)

    @property
    def key_epoch(self) -> int:
        """The epoch whose key signs; 0 if there is no key."""
        return self.CurrentKeyEpoch.get() or 0

    def active_key(self) -> AggKey | None:
        """Return the key of the current key epoch, or None."""
        epoch = self.CurrentKeyEpoch.get()
        return None if epoch is None else self.Keys.get(epoch)

    def set_key(self, epoch: int, key: AggKey) -> None:
        """Set the key that signs from now on."""
        self.Keys.put(epoch, key)
        self.CurrentKeyEpoch.put(epoch)

    # The steps of a rotation, which the Validator pallet asks for

    def generate_key(self, participants: Sequence[bytes], epoch: int) -> None:
        """Have the authorities of the next epoch generate a key."""
        ceremony_id = self.next_ceremony_id()
        self.PendingKeyRotation.put(
            values.KeyRotationStatusAwaitingKeygen(
                ceremony_id=ceremony_id,
                keygen_participants=participants,
                response_status=_no_votes(participants),
                new_epoch_index=epoch,
            )
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
        new_key = self.new_key
        if not self.hands_over:
            self.PendingKeyRotation.put(values.KeyRotationStatusKeyHandoverComplete(new_key))
            self.deposit(self.Event.NoKeyHandover)
            return
        ceremony_id = self.next_ceremony_id()
        self.PendingKeyRotation.put(
            values.KeyRotationStatusAwaitingKeyHandover(
                ceremony_id=ceremony_id,
                response_status=_no_votes(sorted({*sharing, *receiving})),
                receiving_participants=receiving,
                next_epoch=epoch,
                new_public_key=new_key,
            )
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
        """Let the new key sign, and wait for the signatures of the rotation transactions."""
        self.set_key(epoch, self.new_key)
        self.PendingKeyRotation.put(values.KeyRotationStatusAwaitingActivationSignatures(request_ids))

    def complete(self) -> None:
        """Note that the vaults of all chains of this scheme are activated."""
        self.PendingKeyRotation.put("Complete")
        self.deposit(self.Event.KeyRotationCompleted)

    def reset(self) -> None:
        """Forget the rotation."""
        for item in (
            self.PendingKeyRotation,
            self.KeygenResolutionPendingSince,
            self.KeyHandoverResolutionPendingSince,
        ):
            item.kill()

    @property
    def new_key(self) -> AggKey:
        """The key that the rotation brings, once it has been generated and handed over."""
        status = self.PendingKeyRotation.known()
        assert isinstance(status, _HAVE_NEW_KEY)
        return status.new_public_key

    @property
    def outcome(self) -> str:
        """Outcome: Pending, KeygenComplete, KeyHandoverComplete, RotationComplete, Failed or Void."""
        match self.PendingKeyRotation.get():
            case None:
                return "Void"
            case "Complete":
                return "RotationComplete"
            case values.KeyRotationStatusKeygenVerificationComplete():
                return "KeygenComplete"
            case values.KeyRotationStatusKeyHandoverComplete():
                return "KeyHandoverComplete"
            case values.KeyRotationStatusFailed():
                return "Failed"
        return "Pending"

    @property
    def activation_requests(self) -> Sequence[int] | None:
        """Ids of the signature requests that the vaults' activation waits for; None if it waits for none."""
        status = self.PendingKeyRotation.get()
        if isinstance(status, values.KeyRotationStatusAwaitingActivationSignatures):
            return status.request_ids
        return None

    def is_unsigned(self, request_id: int) -> bool:
        """Return whether a requested signature is still missing."""
        return False

    # The ceremonies

    def on_initialize(self, number: int) -> None:
        """End the ceremonies that the authorities were asked for in an earlier block."""
        match status := self.PendingKeyRotation.get():
            case values.KeyRotationStatusAwaitingKeygen():
                if number > self.KeygenResolutionPendingSince.get():
                    self.KeygenResolutionPendingSince.kill()
                    self._note_generated(status)
            case values.KeyRotationStatusAwaitingKeyHandover():
                if number > self.KeyHandoverResolutionPendingSince.get():
                    self.KeyHandoverResolutionPendingSince.kill()
                    self._note_handed_over(status)
            case (
                values.KeyRotationStatusAwaitingKeygenVerification()
                | values.KeyRotationStatusAwaitingKeyHandoverVerification()
            ):
                if not self.verifies_by_signature:
                    self.note_verified()

    def _note_generated(self, status: values.KeyRotationStatusAwaitingKeygen) -> None:
        epoch, participants = status.new_epoch_index, status.keygen_participants
        key = signer_key(self.name, epoch)
        self.deposit(self.Event.KeygenSuccess, status.ceremony_id)
        self.PendingKeyRotation.put(values.KeyRotationStatusAwaitingKeygenVerification(key))
        self.request_verification(key, participants, epoch, status.ceremony_id)

    def _note_handed_over(self, status: values.KeyRotationStatusAwaitingKeyHandover) -> None:
        key = self.handed_over(status.new_public_key)
        self.deposit(self.Event.KeyHandoverSuccess, ceremony_id=status.ceremony_id)
        self.PendingKeyRotation.put(values.KeyRotationStatusAwaitingKeyHandoverVerification(key))
        participants, epoch = status.receiving_participants, status.next_epoch
        self.request_verification(key, participants, epoch, status.ceremony_id)

    def handed_over(self, new_key: AggKey) -> AggKey:
        """Return a new key, with the previous key where that has been handed over."""
        return new_key

    def request_verification(
        self, key: AggKey, participants: Sequence[bytes], epoch: int, ceremony_id: int
    ) -> None:
        """Ask for a signature that verifies a key, for a scheme whose signatures are made here."""

    def note_verified(self) -> None:
        """Note that the key that was generated, or handed over, signs."""
        status, key = self.PendingKeyRotation.get(), self.new_key
        if isinstance(status, values.KeyRotationStatusAwaitingKeygenVerification):
            self.PendingKeyRotation.put(values.KeyRotationStatusKeygenVerificationComplete(key))
            self.deposit(self.Event.KeygenVerificationSuccess, agg_key=key)
        else:
            self.PendingKeyRotation.put(values.KeyRotationStatusKeyHandoverComplete(key))
            self.deposit(self.Event.KeyHandoverVerificationSuccess, agg_key=key)

    def note_failed(self) -> None:
        """Note that a ceremony has failed, without agreement on the offenders."""
        self.PendingKeyRotation.put(values.KeyRotationStatusFailed([]))

    def next_ceremony_id(self) -> int:
        """Take the next ceremony id."""
        return self.CeremonyIdCounter.mutate(lambda last: last + 1)


def _no_votes(validators: Sequence[bytes]) -> values.ResponseStatus:
    return values.ResponseStatus(
        candidates=validators, remaining_candidates=validators, success_votes=[], blame_votes=[]
    )
