"""Rotation of the authorities' keys from one epoch to the next.

Validator (9), the rest of it. Governance begins a rotation. An auction names the next authorities; they
generate a key for each signature scheme, and take over the old one where the chain needs that. The old key
signs the transactions that set the new one on the foreign chains (`setAggKeyWithAggKey`). Once they are
signed, the session rotates twice, and the epoch begins (pallet_cf_validator: RotationPhase).

The authorities of a development chain stay, so each auction has the same winners. An epoch that is over
begins a rotation only where genesis says so; else, and by `Dev.end_epoch`, the next one follows at once
with the same keys.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import Origin, call
from cfnode.devchain.runtime.keys import AggKey

from .broadcast.pallet import BROADCASTERS, EvmBroadcaster
from .environment_storage import EnvironmentStorage
from .epochs import Epochs
from .evm_signer import EvmThresholdSigner
from .key_rotation import KeyRotation
from .signers import BitcoinThresholdSigner, PolkadotThresholdSigner, SolanaThresholdSigner
from .validator_storage import ValidatorStorage
from .vault import VAULTS

__all__ = ["Rotation"]

State = values.RotationState[bytes, int]

SIGNERS: tuple[type[KeyRotation], ...] = (
    EvmThresholdSigner,
    PolkadotThresholdSigner,
    BitcoinThresholdSigner,
    SolanaThresholdSigner,
)
"""Threshold signers, in the order in which a rotation goes over them."""


class Rotation:
    """The rotation of keys, step by step."""

    def __init__(self, validator: ValidatorStorage, epochs: Epochs) -> None:
        self.validator = validator
        self.epochs = epochs

    @call(1)
    def force_rotation(self, origin: Origin) -> None:
        """Begin a rotation to the next epoch, with new keys. Governance."""
        validator = self.validator
        origin.ensure_governance()
        validator.ensure(validator.CurrentRotationPhase.get() == "Idle", validator.Error.RotationInProgress)
        validator.ensure(self._enabled, validator.Error.RotationsDisabled)
        self._generate_keys()

    def go_on(self, number: int) -> None:
        """Take the next step if the last one is complete; begin a rotation if the epoch is over."""
        validator = self.validator
        phase = validator.CurrentRotationPhase.get()
        if phase == "Idle":
            if self.epochs.rotates_keys and validator.is_over(number):
                self._begin_rotation()
            return
        if isinstance(phase, (values.RotationPhaseNewKeysActivated, values.RotationPhaseSessionRotating)):
            return
        if isinstance(phase, values.RotationPhaseActivatingKeys):
            self._activate_vaults()
        match phase, self._outcome():
            case _, "Failed":
                self._generate_keys()
            case values.RotationPhaseKeygensInProgress(state), "KeygenComplete":
                self._hand_over(state)
            case values.RotationPhaseKeyHandoversInProgress(state), "KeyHandoverComplete":
                self._activate_keys(state)
            case values.RotationPhaseActivatingKeys(state), "RotationComplete":
                validator.enter_phase(values.RotationPhaseNewKeysActivated(state))

    def _begin_rotation(self) -> None:
        """Begin a rotation, unless the last one's transactions are still pending."""
        validator = self.validator
        broadcasters = [validator.other(BROADCASTERS[chain]) for chain in validator.runtime.release.chains]
        if any(broadcaster.IncomingKeyAndBroadcastId.get() is not None for broadcaster in broadcasters):
            validator.deposit(validator.Event.PreviousRotationStillPending)
        elif self._enabled:
            self._generate_keys()

    @property
    def _enabled(self) -> bool:
        return self.validator.other(EnvironmentStorage).safe_mode("validator", "authority_rotation_enabled")

    @property
    def _signers(self) -> Sequence[KeyRotation]:
        return [self.validator.other(signer) for signer in SIGNERS]

    def _chains(self, signer: KeyRotation) -> Sequence[str]:
        """Return the chains whose vaults a scheme's key holds, except those that the main net has left."""
        release = self.validator.runtime.release
        chains = [name for name, chain in release.chains.items() if chain.family.signer == signer.name]
        return [name for name in chains if name not in release.left]

    def _outcome(self) -> str:
        """Return the outcome of a step for all schemes: Pending until each has one, Failed if they differ."""
        outcomes = {signer.outcome for signer in self._signers}
        if "Pending" in outcomes:
            return "Pending"
        return outcomes.pop() if len(outcomes) == 1 else "Failed"

    def _generate_keys(self) -> None:
        """Hold the auction, and have its winners generate keys."""
        validator = self.validator
        outcome, epoch = validator.next_auction(), validator.CurrentEpoch.get() + 1
        winners, bond = outcome.winners, outcome.bond
        validator.deposit(validator.Event.AuctionCompleted, winners, bond)
        for signer in self._signers:
            signer.reset()
        for signer in self._signers:
            signer.generate_key(sorted(winners), epoch)
        state = values.RotationState(primary_candidates=winners, banned=[], bond=bond, new_epoch_index=epoch)
        validator.enter_phase(values.RotationPhaseKeygensInProgress(state))

    def _hand_over(self, state: State) -> None:
        validator = self.validator
        if not self._enabled:
            self._abort()
            return
        candidates = sorted(state.primary_candidates)
        for signer in self._signers:
            signer.hand_over(validator.quorum(), candidates, state.new_epoch_index)
        validator.enter_phase(values.RotationPhaseKeyHandoversInProgress(state))

    def _activate_keys(self, state: State) -> None:
        epoch = state.new_epoch_index
        for signer in self._signers:
            requests = [
                request
                for chain in self._chains(signer)
                for request in self._rotate_vault(chain, signer.new_key, epoch)
            ]
            signer.await_activation(epoch, requests)
            if type(signer) is BitcoinThresholdSigner:
                signer.complete()
        self.validator.enter_phase(values.RotationPhaseActivatingKeys(state))

    def _rotate_vault(self, chain: str, new_key: AggKey, epoch: int) -> Sequence[int]:
        """Have a chain take the new key. Return the ids of the signature requests that this needs.

        Bitcoin needs no transaction for it: outputs of the old key are spent, or joined, little by little.
        """
        validator = self.validator
        vault, broadcaster = validator.other(VAULTS[chain]), validator.other(BROADCASTERS[chain])
        if vault.chain.family.crypto == "BitcoinCrypto":
            vault.activate(epoch)
            return []
        api_call = None
        if isinstance(broadcaster, EvmBroadcaster) and isinstance(new_key, values.EvmAggKey):
            api_call = broadcaster.bound_call(
                values.EvmApiSetAggKeyWithAggKey, values.SetAggKeyWithAggKey(new_key)
            )
        requests = broadcaster.start_rotation(api_call, new_key)
        vault.await_activation(new_key)
        return requests

    def _activate_vaults(self) -> None:
        """Activate the vaults of each scheme whose rotation transactions are all signed."""
        validator = self.validator
        epoch = validator.CurrentEpoch.get() + 1
        for signer in self._signers:
            requests = signer.activation_requests
            if requests is None or any(map(signer.is_unsigned, requests)):
                continue
            for chain in self._chains(signer):
                validator.other(VAULTS[chain]).activate(epoch)
            signer.complete()

    def _abort(self) -> None:
        validator = self.validator
        for signer in self._signers:
            signer.reset()
        validator.enter_phase("Idle")
        validator.deposit(validator.Event.RotationAborted)
