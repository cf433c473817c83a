"""Vaults of the foreign chains: the height from which an epoch's key holds each.

‹Chain›Vault (pallet_cf_vaults). A rotation activates the vault of each chain: when the transaction that sets
the new key there has been signed, or at once where none is needed.
"""

from __future__ import annotations

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.frame import ErrorSet, EventSet, OptionalMap, OptionalValue, Value, event
from cfnode.devchain.runtime.keys import GENESIS_EPOCH, AggKey
from cfnode.devchain.runtime.pallets.chain_pallet import ChainPallet, per_chain
from cfnode.devchain.runtime.pallets.chain_tracking import CHAIN_TRACKING

__all__ = ["VAULTS", "Vault"]


class Vault(ChainPallet):
    """The vault of one chain."""

    crate = "pallet_cf_vaults"

    PendingVaultActivation = OptionalValue[values.VaultActivationStatus]("VaultActivationStatus")
    VaultStartBlockNumbers = OptionalMap[int, int]("Blake2_128Concat", "u32", "Height")
    ChainInitialized = Value[bool]("bool")

    class Event(EventSet):
        """Events of the activation of a vault's new key."""

        VaultActivationCompleted = event(0)
        VaultRotatedExternally = event(1, "AggKey")
        AwaitingGovernanceActivation = event(2, new_public_key="AggKey")
        ActivationTxFailedAwaitingGovernance = event(3, new_public_key="AggKey")
        ChainInitialized = event(4)

    class Error(ErrorSet):
        """Errors of a vault's rotation."""

        NoActiveRotation = "There is currently no vault rotation in progress for this chain."
        InvalidRotationStatus = "The requested call is invalid based on the current rotation state."

    def genesis(self, config: DevGenesis) -> None:
        """Store that the vault of the first epoch is active from height 0."""
        self.VaultStartBlockNumbers.put(GENESIS_EPOCH, 0)
        self.ChainInitialized.put(True)

    def on_new_epoch(self, epoch: int) -> None:
        """Store that the key holds the vault from now on, unless a rotation has set another height."""
        if not self.VaultStartBlockNumbers.contains(epoch):
            self.VaultStartBlockNumbers.put(epoch, self._height())

    def await_activation(self, new_key: AggKey) -> None:
        """Note that the transaction which sets a new key is being signed."""
        self.PendingVaultActivation.put(values.VaultActivationStatusAwaitingActivation(new_key))

    def activate(self, epoch: int) -> None:
        """Let the new key hold the vault from the chain's next block on."""
        self.PendingVaultActivation.put("Complete")
        self.VaultStartBlockNumbers.put(epoch, self.chain.after_period(self._height()))
        self.deposit(self.Event.VaultActivationCompleted)

    def expire(self, epoch: int) -> None:
        """Remove the heights from which the keys of this epoch and older ones held the vault."""
        for vault_epoch, _ in list(self.VaultStartBlockNumbers.items()):
            if vault_epoch <= epoch:
                self.VaultStartBlockNumbers.remove(vault_epoch)

    def _height(self) -> int:
        return self.other(CHAIN_TRACKING[self.chain.name]).height()


VAULTS = per_chain(Vault, lambda chain: chain.vault_index)
