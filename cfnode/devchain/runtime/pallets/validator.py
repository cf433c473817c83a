"""Hooks of the Validator pallet: epochs, authorities and the rotation of keys.

Validator (9, pallet_cf_validator): at genesis the first epoch begins; in each block an epoch may expire, and
a rotation may take its next step (`rotation`). When the session has rotated, the next epoch begins
(`epochs`).
"""

from __future__ import annotations

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.frame import Pallet, part
from cfnode.devchain.runtime.well_known import FLIP

from .account_roles import AccountRoles
from .asset_balances import AssetBalances
from .epochs import REDEMPTION_PERCENT, Epochs
from .evm_signer import EvmThresholdSigner
from .funded_accounts import FUNDED_AT_GENESIS, FundedAccounts
from .reconciliation import reconcile
from .rotation import Rotation
from .validator_storage import ValidatorStorage
from .vault import VAULTS

__all__ = ["Validator"]

BOND = 50_000 * FLIP
KEEPS_ITS_HISTORY = "Assethub"
"""The vault whose old epochs are never forgotten."""


class Validator(Pallet):
    """Epochs, authorities and the rotation of keys."""

    index = 9
    crate = "pallet_cf_validator"

    storage = part(ValidatorStorage)
    epochs = part(Epochs, storage)
    rotation = part(Rotation, storage, epochs)

    def genesis(self, config: DevGenesis) -> None:
        """Store the rules of epochs, fund and register the validators, and begin the first epoch."""
        self.storage.EpochDuration.put(config.epoch_blocks)
        self.storage.RedemptionPeriodAsPercentage.put(REDEMPTION_PERCENT)
        self.storage.Bond.put(BOND)
        self.storage.AuthoritySetMinSize.put(1)
        self.storage.AuctionParameters.put(
            values.SetSizeParameters(min_size=1, max_size=150, max_expansion=150)
        )
        self.storage.MaxAuthoritySetContractionPercentage.put(30)
        self.storage.CurrentAuthorities.put([account for account, _ in config.validators])
        for account, _ in config.validators:
            self.other(FundedAccounts).fund_account(account, BOND, FUNDED_AT_GENESIS)
            self.other(AccountRoles).register(account, "Validator")
        self.epochs.begin(1, 0)

    def on_initialize(self, number: int) -> None:
        """End expired epochs, and continue the rotation."""
        expired = self.epochs.expired(number)
        if expired is not None:
            self._expire_vaults(expired)
        self.rotation.go_on(number)

    def start_epoch(self, number: int) -> None:
        """Begin the next epoch, with the same authorities, once the session has rotated."""
        has_new_keys = self.other(EvmThresholdSigner).key_epoch > self.storage.CurrentEpoch.get()
        self.epochs.start_next(number)
        reconcile(self.other(AssetBalances))
        if has_new_keys:
            self.deposit(self.storage.Event.RotationPhaseUpdated, new_phase="Idle")

    def _expire_vaults(self, epoch: int) -> None:
        for chain in self.runtime.release.chains:
            if chain != KEEPS_ITS_HISTORY:
                self.other(VAULTS[chain]).expire(epoch)
