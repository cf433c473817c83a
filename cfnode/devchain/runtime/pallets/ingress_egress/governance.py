"""Governance calls on a chain's deposits and transfers.

Governance sets fees, least amounts and times of deposit channels, and can hold back an asset's transfers.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.core.scale import ScaleError
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import Origin, call
from cfnode.devchain.runtime.frame.calls import Arguments

from .storage import IngressEgressStorage

__all__ = ["IngressEgressGovernance"]

MAX_INGRESS_EGRESS_UPDATES = 10


class IngressEgressGovernance:
    """Governance's calls."""

    def __init__(self, pallet: IngressEgressStorage) -> None:
        self.pallet = pallet

    @call(1, asset="ChainAsset", set_disabled="bool")
    def enable_or_disable_egress(self, origin: Origin, asset: str, set_disabled: bool) -> None:
        """Hold transfers of an asset back, or let them go. Governance."""
        pallet = self.pallet
        origin.ensure_governance()
        if pallet.DisabledEgressAssets.contains(asset) == set_disabled:
            return
        if set_disabled:
            pallet.DisabledEgressAssets.put(asset, ())
        else:
            pallet.DisabledEgressAssets.remove(asset)
        pallet.deposit(pallet.Event.AssetEgressStatusChanged, asset=asset, disabled=set_disabled)

    @call(6, updates="BoundedVec<PalletConfigUpdate>")
    def update_pallet_config(
        self, origin: Origin, updates: Sequence[values.IngressEgressConfigUpdate]
    ) -> None:
        """Change fees, least amounts and times. Governance."""
        pallet = self.pallet
        origin.ensure_governance()
        for update in updates:
            self._update(update)
            pallet.deposit(pallet.Event.PalletConfigUpdated, update=update)

    def _update(self, update: values.IngressEgressConfigUpdate) -> None:
        pallet = self.pallet
        match update:
            case values.IngressEgressConfigUpdateChannelOpeningFee(fee):
                pallet.ChannelOpeningFee.put(fee)
            case values.IngressEgressConfigUpdateSetMinimumDeposit():
                pallet.MinimumDeposit.put(update.asset, update.minimum_deposit)
            case values.IngressEgressConfigUpdateSetDepositChannelLifetime(lifetime):
                pallet.DepositChannelLifetime.put(lifetime)
            case values.IngressEgressConfigUpdateSetWitnessSafetyMargin(margin):
                pallet.WitnessSafetyMargin.put(margin)
            case values.IngressEgressConfigUpdateSetBoostDelay(blocks):
                pallet.BoostDelayBlocks.put(blocks)
            case values.IngressEgressConfigUpdateSetMaximumPreallocatedChannels():
                pallet.MaximumPreallocatedChannels.put(update.account_role, update.num_channels)
            case values.IngressEgressConfigUpdateSetIngressDelay(blocks):
                pallet.IngressDelayBlocks.put(blocks)

    def check_bounds(self, arguments: Arguments) -> None:
        """Raise ScaleError if a call has more updates than the chain decodes."""
        if len(arguments.get("updates", ())) > MAX_INGRESS_EGRESS_UPDATES:
            raise ScaleError(f"up to {MAX_INGRESS_EGRESS_UPDATES} updates, not {len(arguments['updates'])}")
