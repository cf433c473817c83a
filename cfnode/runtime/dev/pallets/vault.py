"""From which block of a foreign chain on does an epoch's key hold the vault?

‹Chain›Vault (pallet_cf_vaults). The development chain keeps its keys through all epochs (`runtime.dev.keys`),
so there is never a rotation to activate.
"""

from __future__ import annotations

from typing import Any

from cfnode.runtime.dev.frame import ErrorSet, EventSet, Map, Value, event
from cfnode.runtime.dev.pallets.chain_pallet import ChainPallet, per_chain
from cfnode.runtime.dev.pallets.chain_tracking import CHAIN_TRACKING

__all__ = ["VAULTS", "Vault"]

GENESIS_EPOCH = 1


class Vault(ChainPallet):
    """The vault of one chain."""

    crate = "pallet_cf_vaults"

    VaultStartBlockNumbers = Map("Blake2_128Concat", "u32", "Height", optional=True)
    ChainInitialized = Value("bool")

    class Event(EventSet):
        VaultActivationCompleted = event(0)
        VaultRotatedExternally = event(1, "AggKey")
        AwaitingGovernanceActivation = event(2, new_public_key="AggKey")
        ActivationTxFailedAwaitingGovernance = event(3, new_public_key="AggKey")
        ChainInitialized = event(4)

    class Error(ErrorSet):
        NoActiveRotation = "There is currently no vault rotation in progress for this chain."
        InvalidRotationStatus = "The requested call is invalid based on the current rotation state."

    def genesis(self, config: Any) -> None:
        self.VaultStartBlockNumbers.put(GENESIS_EPOCH, 0)
        self.ChainInitialized.put(True)

    def on_new_epoch(self, epoch: int) -> None:
        """The key of the new epoch holds the vault from now on."""
        self.VaultStartBlockNumbers.put(epoch, self.other(CHAIN_TRACKING[self.chain.name]).height())


VAULTS = per_chain(Vault, lambda chain: chain.vault_index)
