"""Frozen dataclasses of the chain's values: flip.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

__all__ = [
    "FeeScalingRateConfig",
    "FeeScalingRateConfigDelayedExponential",
    "FlipAccount",
    "FlipConfigUpdate",
    "FlipConfigUpdateSetFeeRewardsActivationEpoch",
    "FlipConfigUpdateSetFeeScalingRate",
    "FlipConfigUpdateSetSlashingRate",
]

Amount = TypeVar("Amount", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipAccount(Generic[Amount]):
    """`pallet_cf_flip::FlipAccount`."""

    balance: Amount
    bond: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeScalingRateConfigDelayedExponential:
    """`pallet_cf_flip::FeeScalingRateConfig::DelayedExponential`."""

    threshold: int
    exponent: int


FeeScalingRateConfig: TypeAlias = Literal["NoScaling"] | FeeScalingRateConfigDelayedExponential


@dataclass(frozen=True, slots=True)
class FlipConfigUpdateSetSlashingRate:
    """`pallet_cf_flip::PalletConfigUpdate::SetSlashingRate`."""

    value: int


@dataclass(frozen=True, slots=True)
class FlipConfigUpdateSetFeeScalingRate:
    """`pallet_cf_flip::PalletConfigUpdate::SetFeeScalingRate`."""

    value: FeeScalingRateConfig


@dataclass(frozen=True, slots=True)
class FlipConfigUpdateSetFeeRewardsActivationEpoch:
    """`pallet_cf_flip::PalletConfigUpdate::SetFeeRewardsActivationEpoch`."""

    value: int


FlipConfigUpdate: TypeAlias = (
    FlipConfigUpdateSetSlashingRate
    | FlipConfigUpdateSetFeeScalingRate
    | FlipConfigUpdateSetFeeRewardsActivationEpoch
)


FORMS: Mapping[str, PythonForm] = {
    "FeeScalingRateConfig": {"DelayedExponential": FeeScalingRateConfigDelayedExponential},
    "FlipAccount": FlipAccount,
    "flip::PalletConfigUpdate": {
        "SetSlashingRate": FlipConfigUpdateSetSlashingRate,
        "SetFeeScalingRate": FlipConfigUpdateSetFeeScalingRate,
        "SetFeeRewardsActivationEpoch": FlipConfigUpdateSetFeeRewardsActivationEpoch,
    },
}
