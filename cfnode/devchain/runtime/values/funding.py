"""Frozen dataclasses of the chain's values: funding.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

__all__ = [
    "FundingSource",
    "FundingSourceEthTransaction",
    "FundingSourceInitialFunding",
    "FundingSourceSwap",
    "PendingRedemptionInfo",
    "RedemptionAmount",
    "RedemptionAmountExact",
]

FlipBalance = TypeVar("FlipBalance", covariant=True)
T = TypeVar("T", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRedemptionInfo(Generic[FlipBalance]):
    """`pallet_cf_funding::PendingRedemptionInfo`."""

    total: FlipBalance
    restricted: FlipBalance
    redeem_address: bytes


@dataclass(frozen=True, slots=True)
class RedemptionAmountExact(Generic[T]):
    """`pallet_cf_funding::RedemptionAmount::Exact`."""

    value: T


RedemptionAmount: TypeAlias = Literal["Max"] | RedemptionAmountExact[T]


@dataclass(frozen=True, slots=True, kw_only=True)
class FundingSourceEthTransaction:
    """`cf_traits::FundingSource::EthTransaction`."""

    tx_hash: bytes
    funder: bytes


@dataclass(frozen=True, slots=True)
class FundingSourceSwap:
    """`cf_traits::FundingSource::Swap`."""

    swap_request_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FundingSourceInitialFunding:
    """`cf_traits::FundingSource::InitialFunding`."""

    channel_id: int | None
    asset: str


FundingSource: TypeAlias = (
    Literal["FreeBalance"] | FundingSourceEthTransaction | FundingSourceSwap | FundingSourceInitialFunding
)


FORMS: Mapping[str, PythonForm] = {
    "FundingSource": {
        "EthTransaction": FundingSourceEthTransaction,
        "Swap": FundingSourceSwap,
        "InitialFunding": FundingSourceInitialFunding,
    },
    "PendingRedemptionInfo": PendingRedemptionInfo,
    "RedemptionAmount": {"Exact": RedemptionAmountExact},
}
