"""Frozen dataclasses of the chain's values: providers.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from cfnode.core.addresses import ForeignAddress
from cfnode.core.scale import PythonForm

__all__ = ["LendingPosition", "LiquidityProviderBoostPoolInfo", "LiquidityProviderInfo"]

Amount = TypeVar("Amount", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiquidityProviderBoostPoolInfo:
    """`state_chain_runtime::LiquidityProviderBoostPoolInfo`."""

    fee_tier: int
    total_balance: int
    available_balance: int
    in_use_balance: int
    is_withdrawing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LendingPosition(Generic[Amount]):
    """`state_chain_runtime::LendingPosition`."""

    asset: str
    total_amount: Amount
    available_amount: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class LiquidityProviderInfo:
    """`state_chain_runtime::LiquidityProviderInfo`."""

    refund_addresses: Sequence[tuple[str, ForeignAddress | None]]
    balances: Sequence[tuple[str, int]]
    earned_fees: dict[str, dict[str, int]]
    boost_balances: dict[str, dict[str, Sequence[LiquidityProviderBoostPoolInfo]]]
    lending_positions: Sequence[LendingPosition[int]]
    collateral_balances: Sequence[tuple[str, int]]


FORMS: Mapping[str, PythonForm] = {
    "LendingPosition": LendingPosition,
    "LiquidityProviderBoostPoolInfo": LiquidityProviderBoostPoolInfo,
    "LiquidityProviderInfo": LiquidityProviderInfo,
}
