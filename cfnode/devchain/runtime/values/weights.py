"""Frozen dataclasses of the chain's values: weights.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from cfnode.core.scale import PythonForm

__all__ = [
    "BlockLength",
    "BlockWeights",
    "DispatchEventInfo",
    "PerDispatchClass",
    "RuntimeDbWeight",
    "Weight",
    "WeightsPerClass",
]

T = TypeVar("T", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """`sp_weights::Weight`."""

    ref_time: int
    proof_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeDbWeight:
    """`sp_weights::RuntimeDbWeight`."""

    read: int
    write: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PerDispatchClass(Generic[T]):
    """`frame_support::PerDispatchClass`."""

    normal: T
    operational: T
    mandatory: T


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchEventInfo:
    """`frame_system::DispatchEventInfo`."""

    weight: Weight
    class_: str
    pays_fee: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsPerClass:
    """`frame_system::WeightsPerClass`."""

    base_extrinsic: Weight
    max_extrinsic: Weight | None
    max_total: Weight | None
    reserved: Weight | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockWeights:
    """`frame_system::BlockWeights`."""

    base_block: Weight
    max_block: Weight
    per_class: PerDispatchClass[WeightsPerClass]


@dataclass(frozen=True, slots=True)
class BlockLength:
    """`frame_system::BlockLength`."""

    max: PerDispatchClass[int]


FORMS: Mapping[str, PythonForm] = {
    "BlockLength": BlockLength,
    "BlockWeights": BlockWeights,
    "DispatchEventInfo": DispatchEventInfo,
    "PerDispatchClass": PerDispatchClass,
    "RuntimeDbWeight": RuntimeDbWeight,
    "Weight": Weight,
    "WeightsPerClass": WeightsPerClass,
}
