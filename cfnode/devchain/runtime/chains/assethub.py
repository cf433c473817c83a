"""Assethub."""

from __future__ import annotations

from cfnode.devchain.runtime import values

from .chain import AssetTerms, ChainInstance
from .substrate import DOT, SUBSTRATE, VERSION, SubstrateCosts

__all__ = ["ASSETHUB"]

ASSETHUB = ChainInstance(
    name="Assethub",
    module="hub",
    family=SUBSTRATE,
    tracking_index=48,
    vault_index=49,
    broadcaster_index=50,
    ingress_egress_index=51,
    witness_period=3,
    safety_buffer=1,
    broadcast_timeout=20,
    safe_mode_heights=10,
    tracked_type="AssethubTrackedData",
    tracked_data=values.AssethubTrackedData(median_tip=0, runtime_version=VERSION),
    costs=SubstrateCosts(),
    assets={"HubDot": DOT, "HubUsdt": AssetTerms(), "HubUsdc": AssetTerms()},
    takes_reports=False,
)
