"""Epochs of the authorities: their beginning, end and expiry.

Validator (9): an epoch lasts `EpochDuration` blocks, then the next begins in one block, with the same
authorities. `rotation` has new keys generated before that, where governance or genesis wants them.
"""

from __future__ import annotations

from cfnode.devchain.runtime import values

from .dev_storage import DevStorage
from .validator_storage import ValidatorStorage

__all__ = ["REDEMPTION_PERCENT", "Epochs"]

REDEMPTION_PERCENT = 50
"""Percent of an epoch after which the previous epoch expires."""


class Epochs:
    """Epochs of a validator pallet."""

    def __init__(self, validator: ValidatorStorage) -> None:
        self.validator = validator

    def session_is_over(self, number: int) -> bool:
        """Return whether the next session begins in block `number`."""
        validator = self.validator
        phase = validator.CurrentRotationPhase.get()
        if phase == "Idle":
            return validator.is_over(number) and not self.rotates_keys
        return isinstance(phase, (values.RotationPhaseNewKeysActivated, values.RotationPhaseSessionRotating))

    def queue_authorities(self) -> bool:
        """Queue the next authorities if a rotation has activated their keys. Return whether it has."""
        validator = self.validator
        phase = validator.CurrentRotationPhase.get()
        if not isinstance(phase, values.RotationPhaseNewKeysActivated):
            return False
        state = phase.value
        validator.enter_phase(values.RotationPhaseSessionRotating((state.primary_candidates, state.bond)))
        return True

    def end_epoch(self) -> None:
        """Let the next epoch begin in the next block, without new keys. Fails with RotationInProgress."""
        validator = self.validator
        validator.ensure(validator.CurrentRotationPhase.get() == "Idle", validator.Error.RotationInProgress)
        following = (validator.CurrentAuthorities.get(), validator.Bond.get())
        validator.CurrentRotationPhase.put(values.RotationPhaseSessionRotating(following))

    def start_next(self, number: int) -> None:
        """Begin the next epoch, with the same authorities."""
        validator = self.validator
        old_epoch = validator.CurrentEpoch.get()
        for pallet in validator.runtime.pallets:
            pallet.on_epoch_ending(old_epoch)
        lasting = validator.EpochDuration.get() * REDEMPTION_PERCENT // 100
        validator.EpochExpiries.put(number + max(1, lasting), old_epoch)
        validator.CurrentRotationPhase.put("Idle")
        self.begin(old_epoch + 1, number)
        for pallet in validator.runtime.pallets:
            pallet.on_new_epoch(old_epoch + 1)
        validator.deposit(validator.Event.NewEpoch, old_epoch + 1)

    @property
    def rotates_keys(self) -> bool:
        """Whether an epoch that is over is followed by one with new keys."""
        return self.validator.other(DevStorage).RotatesKeys.get()

    def expired(self, number: int) -> int | None:
        """Expire the epoch that is due in block `number`, and return it; None if none is due.

        Its authorities are free then.
        """
        validator = self.validator
        epoch = validator.EpochExpiries.take(number)
        if epoch is None:
            return None
        validator.LastExpiredEpoch.put(epoch)
        for account in validator.HistoricalAuthorities.get(epoch):
            validator.HistoricalActiveEpochs.mutate(
                account, lambda active: [entry for entry in active if entry[0] > epoch]
            )
        return epoch

    def begin(self, epoch: int, number: int) -> None:
        """Begin an epoch, with the current authorities and bond."""
        validator = self.validator
        authorities, bond = validator.CurrentAuthorities.get(), validator.Bond.get()
        validator.CurrentEpoch.put(epoch)
        validator.CurrentEpochStartedAt.put(number)
        validator.HistoricalAuthorities.put(epoch, authorities)
        validator.HistoricalBonds.put(epoch, bond)
        for position, account in enumerate(authorities):
            validator.AuthorityIndex.put(epoch, account, position)
            validator.HistoricalActiveEpochs.mutate(account, lambda active: [*active, (epoch, bond)])
