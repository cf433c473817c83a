"""Sessions of the validators, and their Aura and GRANDPA keys.

Session (10): when an epoch is over the session rotates, and the finality voters get a new set id (Grandpa).
After a rotation of keys it rotates twice: first the next authorities are queued, then their epoch begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.frame import (
    ConstantSet,
    ErrorSet,
    EventSet,
    OptionalMap,
    Pallet,
    Value,
    constant,
    event,
)

from .epochs import Epochs
from .grandpa import Grandpa
from .validator import Validator

KEY_TYPES = (b"aura", b"gran")


class Session(Pallet):
    """Sessions and their keys."""

    index = 10
    crate = "pallet_session"

    Validators = Value[Sequence[bytes]]("Vec<AccountId32>")
    CurrentIndex = Value[int]("u32")
    QueuedChanged = Value[bool]("bool")
    QueuedKeys = Value[Sequence[tuple[bytes, values.SessionKeys]]]("Vec<(AccountId32, SessionKeys)>")
    DisabledValidators = Value[Sequence[tuple[int, int]]]("Vec<(u32, OffenceSeverity)>")
    NextKeys = OptionalMap[bytes, values.SessionKeys]("Twox64Concat", "AccountId32", "SessionKeys")
    KeyOwner = OptionalMap[tuple[bytes, bytes], bytes]("Twox64Concat", "(KeyTypeId, Bytes)", "AccountId32")

    class Event(EventSet):
        """Events of sessions and disabled validators."""

        NewSession = event(0, session_index="u32")
        NewQueued = event(1)
        ValidatorDisabled = event(2, validator="AccountId32")
        ValidatorReenabled = event(3, validator="AccountId32")

    class Error(ErrorSet):
        """Errors of session keys."""

        InvalidProof = "Invalid ownership proof."
        NoAssociatedValidatorId = "No associated validator ID for account."
        DuplicatedKey = "Registered duplicate key."
        NoKeys = "No keys are associated with this account."
        NoAccount = "Key setting account is not live, so it's impossible to associate keys."

    class Constant(ConstantSet):
        """The deposit for session keys."""

        KeyDeposit = constant("u128", 0)

    def genesis(self, config: DevGenesis) -> None:
        """Store the first validators and their session keys."""
        self.Validators.put([account for account, _ in config.validators])
        keys = [
            (account, values.SessionKeys(aura=validator.aura, grandpa=validator.grandpa))
            for account, validator in config.validators
        ]
        self.QueuedKeys.put(keys)
        for account, session_keys in keys:
            self.NextKeys.put(account, session_keys)
            for kind, key in zip(KEY_TYPES, (session_keys.aura, session_keys.grandpa), strict=True):
                self.KeyOwner.put((kind, key), account)

    def on_initialize(self, number: int) -> None:
        """Begin the next session where the epoch demands it."""
        if self.other(Epochs).session_is_over(number):
            self._rotate(number)

    def _rotate(self, number: int) -> None:
        session = self.CurrentIndex.mutate(lambda index: index + 1)
        queued = self.other(Epochs).queue_authorities()
        self.QueuedChanged.put(queued)
        if queued:
            self.deposit(self.Event.NewQueued)
        else:
            self.other(Validator).start_epoch(number)
        self.deposit(self.Event.NewSession, session_index=session)
        if queued:
            self.other(Grandpa).keep(session)
        else:
            self.other(Grandpa).rotate(number, session)
