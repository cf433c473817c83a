"""Frozen dataclasses of the chain's values: boost.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from cfnode.core.scale import PythonForm

__all__ = ["BoostPoolDepth", "BoostPoolDetails", "OwedAmount"]

AccountId = TypeVar("AccountId", covariant=True)
AmountT = TypeVar("AmountT", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostPoolDepth:
    """`state_chain_runtime::BoostPoolDepth`."""

    asset: str
    tier: int
    available_amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedAmount(Generic[AmountT]):
    """`pallet_cf_lending_pools::OwedAmount`."""

    total: AmountT
    fee: AmountT


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostPoolDetails(Generic[AccountId]):
    """`pallet_cf_lending_pools::BoostPoolDetails`."""

    available_amounts: Sequence[tuple[AccountId, int]]
    pending_boosts: Sequence[tuple[int, Sequence[tuple[AccountId, OwedAmount[int]]]]]
    pending_withdrawals: Sequence[tuple[AccountId, Sequence[int]]]
    network_fee_deduction_percent: int


FORMS: Mapping[str, PythonForm] = {
    "BoostPoolDepth": BoostPoolDepth,
    "BoostPoolDetails": BoostPoolDetails,
    "OwedAmount": OwedAmount,
}
