"""What may governance change about a chain's deposits and transfers?

Fees, least amounts and times of deposit channels; and an asset's transfers can be held back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from cfnode.core.scale import ScaleError
from cfnode.devchain.runtime.frame import Origin, call
from cfnode.devchain.runtime.frame.stored import StoredMap, StoredValue

from .storage import IngressEgressStorage

__all__ = ["IngressEgressGovernance"]

MAX_UPDATES = 10
_ITEMS: Final = {
    "ChannelOpeningFee": "ChannelOpeningFee",
    "SetMinimumDeposit": "MinimumDeposit",
    "SetDepositChannelLifetime": "DepositChannelLifetime",
    "SetWitnessSafetyMargin": "WitnessSafetyMargin",
    "SetBoostDelay": "BoostDelayBlocks",
    "SetMaximumPreallocatedChannels": "MaximumPreallocatedChannels",
    "SetIngressDelay": "IngressDelayBlocks",
}
"""What each update writes: a value, or a map's entry by the first of its two terms."""


class IngressEgressGovernance(IngressEgressStorage):
    """Governance's calls."""

    @call(1, asset="ChainAsset", set_disabled="bool")
    def enable_or_disable_egress(self, origin: Origin, asset: str, set_disabled: bool) -> None:
        """Hold transfers of an asset back, or let them go. Governance."""
        origin.ensure_governance()
        if self.DisabledEgressAssets.contains(asset) == set_disabled:
            return
        if set_disabled:
            self.DisabledEgressAssets.put(asset, ())
        else:
            self.DisabledEgressAssets.remove(asset)
        self.deposit(self.Event.AssetEgressStatusChanged, asset=asset, disabled=set_disabled)

    @call(6, updates="BoundedVec<PalletConfigUpdate>")
    def update_pallet_config(self, origin: Origin, updates: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Change fees, least amounts and times. Governance."""
        origin.ensure_governance()
        for update in updates:
            name, terms = update
            item = self.stored()[_ITEMS[name.removesuffix(self.chain.name)]]
            if isinstance(item, (StoredMap, StoredValue)):
                item.put(*terms.values())
            self.deposit(self.Event.PalletConfigUpdated, update=update)

    def check_bounds(self, name: str, arguments: Mapping[str, Any]) -> None:
        if len(arguments.get("updates", ())) > MAX_UPDATES:
            raise ScaleError(f"up to {MAX_UPDATES} updates, not {len(arguments['updates'])}")
