"""Frozen dataclasses of the chain's values: lending reports.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from cfnode.core.scale import PythonForm

from .lending import LendingPoolConfiguration, LoanType, LtvThresholds, NetworkFeeContributions
from .requests import Beneficiary

__all__ = [
    "AssetAndAmount",
    "LendingPoolAndSupplyPositions",
    "LendingSupplyPosition",
    "RpcLendingConfig",
    "RpcLendingPool",
    "RpcLiquidationStatus",
    "RpcLiquidationSwap",
    "RpcLoan",
    "RpcLoanAccount",
]

Amount = TypeVar("Amount", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcLoan(Generic[Amount]):
    """`pallet_cf_lending_pools::RpcLoan`."""

    loan_id: int
    loan_type: LoanType[bytes]
    asset: str
    created_at: int
    principal_amount: Amount
    broker: Beneficiary[bytes] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcLiquidationSwap:
    """`pallet_cf_lending_pools::RpcLiquidationSwap`."""

    swap_request_id: int
    loan_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcLiquidationStatus:
    """`pallet_cf_lending_pools::RpcLiquidationStatus`."""

    liquidation_swaps: Sequence[RpcLiquidationSwap]
    liquidation_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetAndAmount(Generic[Amount]):
    """`cf_primitives::AssetAndAmount`."""

    asset: str
    amount: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcLoanAccount(Generic[Amount]):
    """`pallet_cf_lending_pools::RpcLoanAccount`."""

    account: bytes
    ltv_ratio: int | None
    collateral: Sequence[AssetAndAmount[Amount]]
    loans: Sequence[RpcLoan[Amount]]
    liquidation_status: RpcLiquidationStatus | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LendingSupplyPosition(Generic[Amount]):
    """`pallet_cf_lending_pools::LendingSupplyPosition`."""

    lp_id: bytes
    total_amount: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class LendingPoolAndSupplyPositions(Generic[Amount]):
    """`pallet_cf_lending_pools::LendingPoolAndSupplyPositions`."""

    asset: str
    positions: Sequence[LendingSupplyPosition[Amount]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcLendingConfig:
    """`state_chain_runtime::RpcLendingConfig`."""

    ltv_thresholds: LtvThresholds
    network_fee_contributions: NetworkFeeContributions
    fee_swap_interval_blocks: int
    interest_payment_interval_blocks: int
    fee_swap_threshold_usd: int
    interest_collection_threshold_usd: int
    soft_liquidation_swap_chunk_size_usd: int
    hard_liquidation_swap_chunk_size_usd: int
    soft_liquidation_max_oracle_slippage: int
    hard_liquidation_max_oracle_slippage: int
    fee_swap_max_oracle_slippage: int
    minimum_loan_amount_usd: int
    minimum_supply_amount_usd: int
    minimum_update_loan_amount_usd: int
    minimum_update_supply_amount_usd: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcLendingPool(Generic[Amount]):
    """`pallet_cf_lending_pools::RpcLendingPool`."""

    asset: str
    total_amount: Amount
    available_amount: Amount
    owed_to_network: Amount | None = None
    utilisation_rate: int
    utilisation_cap: int
    current_interest_rate: int
    config: LendingPoolConfiguration


FORMS: Mapping[str, PythonForm] = {
    "AssetAndAmount": AssetAndAmount,
    "LendingPoolAndSupplyPositions": LendingPoolAndSupplyPositions,
    "LendingSupplyPosition": LendingSupplyPosition,
    "RpcLendingConfig": RpcLendingConfig,
    "RpcLendingPool": RpcLendingPool,
    "RpcLiquidationStatus": RpcLiquidationStatus,
    "RpcLiquidationSwap": RpcLiquidationSwap,
    "RpcLoan": RpcLoan,
    "RpcLoanAccount": RpcLoanAccount,
}
