"""Frozen dataclasses of the chain's values: payments.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from cfnode.core.scale import PythonForm

__all__ = ["FeeDetails", "InclusionFee", "RuntimeDispatchInfo"]

Balance = TypeVar("Balance", covariant=True)
Weight = TypeVar("Weight", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeDispatchInfo(Generic[Balance, Weight]):
    """`pallet_transaction_payment::RuntimeDispatchInfo`."""

    weight: Weight
    class_: str
    partial_fee: Balance


@dataclass(frozen=True, slots=True, kw_only=True)
class InclusionFee(Generic[Balance]):
    """`pallet_transaction_payment::InclusionFee`."""

    base_fee: Balance
    len_fee: Balance
    adjusted_weight_fee: Balance


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeDetails(Generic[Balance]):
    """`pallet_transaction_payment::FeeDetails`."""

    inclusion_fee: InclusionFee[Balance] | None
    tip: Balance


FORMS: Mapping[str, PythonForm] = {
    "FeeDetails": FeeDetails,
    "InclusionFee": InclusionFee,
    "RuntimeDispatchInfo": RuntimeDispatchInfo,
}
