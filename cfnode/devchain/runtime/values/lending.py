"""Frozen dataclasses of the chain's values: lending.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

from .requests import Beneficiary

__all__ = [
    "BoostConfiguration",
    "BoostPoolContribution",
    "BoostedDeposit",
    "GeneralLoan",
    "InterestBreakdown",
    "InterestRateConfiguration",
    "LendingConfiguration",
    "LendingPool",
    "LendingPoolConfiguration",
    "LoanRepaidActionType",
    "LoanRepaidActionTypeLiquidation",
    "LoanType",
    "LoanTypeBoost",
    "LoanTypeUser",
    "LtvThresholds",
    "NetworkFeeContributions",
    "ScaledAmount",
]

AccountId = TypeVar("AccountId", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class InterestRateConfiguration:
    """`pallet_cf_lending_pools::InterestRateConfiguration`."""

    interest_at_zero_utilisation: int
    junction_utilisation: int
    interest_at_junction_utilisation: int
    interest_at_max_utilisation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LendingPoolConfiguration:
    """`pallet_cf_lending_pools::LendingPoolConfiguration`."""

    origination_fee: int
    liquidation_fee: int
    interest_rate_curve: InterestRateConfiguration


@dataclass(frozen=True, slots=True, kw_only=True)
class LtvThresholds:
    """`pallet_cf_lending_pools::LtvThresholds`."""

    target: int
    soft_liquidation: int
    soft_liquidation_abort: int
    hard_liquidation: int
    hard_liquidation_abort: int
    low_ltv: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFeeContributions:
    """`pallet_cf_lending_pools::NetworkFeeContributions`."""

    extra_interest: int
    from_origination_fee: int
    from_liquidation_fee: int
    low_ltv_penalty_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LendingConfiguration:
    """`pallet_cf_lending_pools::LendingConfiguration`."""

    default_pool_config: LendingPoolConfiguration
    ltv_thresholds: LtvThresholds
    network_fee_contributions: NetworkFeeContributions
    fee_swap_interval_blocks: int
    interest_payment_interval_blocks: int
    interest_collection_threshold_usd: int
    fee_swap_threshold_usd: int
    soft_liquidation_max_oracle_slippage: int
    hard_liquidation_max_oracle_slippage: int
    soft_liquidation_swap_chunk_size_usd: int
    hard_liquidation_swap_chunk_size_usd: int
    fee_swap_max_oracle_slippage: int
    pool_config_overrides: Sequence[tuple[str, LendingPoolConfiguration]]
    minimum_loan_amount_usd: int
    minimum_supply_amount_usd: int
    minimum_update_loan_amount_usd: int
    minimum_update_supply_amount_usd: int
    liquidation_coverage_factor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LendingPool:
    """`pallet_cf_lending_pools::LendingPool`."""

    total_amount: int
    available_amount: int
    lender_shares: Sequence[tuple[bytes, int]]
    owed_to_network: int | None = None


@dataclass(frozen=True, slots=True)
class ScaledAmount:
    """`pallet_cf_lending_pools::ScaledAmount`."""

    val: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InterestBreakdown:
    """`pallet_cf_lending_pools::InterestBreakdown`."""

    network: ScaledAmount
    pool: ScaledAmount
    broker: ScaledAmount
    low_ltv_penalty: ScaledAmount


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneralLoan:
    """`pallet_cf_lending_pools::GeneralLoan`."""

    id: int
    asset: str
    created_at_block: int
    owed_principal: int
    pending_interest: InterestBreakdown
    broker: Beneficiary[bytes] | None


@dataclass(frozen=True, slots=True)
class LoanTypeUser(Generic[AccountId]):
    """`pallet_cf_lending_pools::LoanType::User`."""

    value: AccountId


@dataclass(frozen=True, slots=True)
class LoanTypeBoost:
    """`pallet_cf_lending_pools::LoanType::Boost`."""

    value: int


LoanType: TypeAlias = LoanTypeUser[AccountId] | LoanTypeBoost


@dataclass(frozen=True, slots=True)
class LoanRepaidActionTypeLiquidation:
    """`pallet_cf_lending_pools::LoanRepaidActionType::Liquidation`."""

    swap_request_id: int


LoanRepaidActionType: TypeAlias = Literal["Manual", "BoostFinalisation"] | LoanRepaidActionTypeLiquidation


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostPoolContribution:
    """`pallet_cf_lending_pools::BoostPoolContribution`."""

    core_pool_id: int
    loan_id: int
    boosted_amount: int
    network_fee: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostedDeposit:
    """`pallet_cf_lending_pools::BoostedDeposit`."""

    deposit_amount: int
    lending_loan_id: int | None
    boost_pool_contribution: BoostPoolContribution | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoostConfiguration:
    """`pallet_cf_lending_pools::BoostConfiguration`."""

    network_fee_deduction_from_boost_percent: int
    minimum_add_funds_amount: Sequence[tuple[str, int]]
    min_lending_pool_share: int


FORMS: Mapping[str, PythonForm] = {
    "BoostConfiguration": BoostConfiguration,
    "BoostPoolContribution": BoostPoolContribution,
    "BoostedDeposit": BoostedDeposit,
    "GeneralLoan": GeneralLoan,
    "InterestBreakdown": InterestBreakdown,
    "InterestRateConfiguration": InterestRateConfiguration,
    "LendingConfiguration": LendingConfiguration,
    "LendingPool": LendingPool,
    "LendingPoolConfiguration": LendingPoolConfiguration,
    "LoanRepaidActionType": {"Liquidation": LoanRepaidActionTypeLiquidation},
    "LoanType": {"User": LoanTypeUser, "Boost": LoanTypeBoost},
    "LtvThresholds": LtvThresholds,
    "NetworkFeeContributions": NetworkFeeContributions,
    "ScaledAmount": ScaledAmount,
}
