"""Polkadot, which the main net has left: the authorities do not watch it any more."""

from __future__ import annotations

from cfnode.devchain.runtime import values

from .chain import ChainInstance
from .substrate import DOT, SUBSTRATE, VERSION, SubstrateCosts

__all__ = ["POLKADOT"]

POLKADOT = ChainInstance(
    name="Polkadot",
    module="dot",
    family=SUBSTRATE,
    tracking_index=19,
    vault_index=22,
    broadcaster_index=28,
    ingress_egress_index=33,
    witness_period=1,
    safety_buffer=None,
    broadcast_timeout=40,
    tracked_type="PolkadotTrackedData",
    tracked_data=values.PolkadotTrackedData(median_tip=0, runtime_version=VERSION),
    costs=SubstrateCosts(),
    assets={"Dot": DOT},
    tracked=False,
    takes_reports=False,
)
