"""What are the values of lending in Python?

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from .requests import Beneficiary

__all__ = [
    "AssetAndAmount",
    "BoostConfiguration",
    "BoostPoolContribution",
    "BoostedDeposit",
    "GeneralLoan",
    "InterestBreakdown",
    "InterestRateConfiguration",
    "LendingConfiguration",
    "LendingPool",
    "LendingPoolAndSupplyPositions",
    "LendingPoolConfiguration",
    "LendingSupplyPosition",
    "LoanRepaidActionType",
    "LoanRepaidActionTypeLiquidation",
    "LoanType",
    "LoanTypeBoost",
    "LoanTypeUser",
    "LtvThresholds",
    "NetworkFeeContributions",
    "RpcLendingConfig",
    "RpcLendingPool",
    "RpcLiquidationStatus",
    "RpcLiquidationSwap",
    "RpcLoan",
    "RpcLoanAccount",
    "ScaledAmount",
    "TradingStrategy",
    "TradingStrategyInfo",
    "TradingStrategyInventoryBased",
    "TradingStrategyLimits",
    "TradingStrategyOracleTracking",
    "TradingStrategySimpleBuySell",
    "TradingStrategyTickZeroCentered",
]

AccountId = TypeVar("AccountId", covariant=True)
Amount = TypeVar("Amount", covariant=True)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TradingStrategyTickZeroCentered:
    """`pallet_cf_trading_strategy::TradingStrategy::TickZeroCentered`."""

    spread_tick: int
    base_asset: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TradingStrategySimpleBuySell:
    """`pallet_cf_trading_strategy::TradingStrategy::SimpleBuySell`."""

    buy_tick: int
    sell_tick: int
    base_asset: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TradingStrategyInventoryBased:
    """`pallet_cf_trading_strategy::TradingStrategy::InventoryBased`."""

    min_buy_tick: int
    max_buy_tick: int
    min_sell_tick: int
    max_sell_tick: int
    base_asset: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TradingStrategyOracleTracking:
    """`pallet_cf_trading_strategy::TradingStrategy::OracleTracking`."""

    min_buy_offset_tick: int
    max_buy_offset_tick: int
    min_sell_offset_tick: int
    max_sell_offset_tick: int
    base_asset: str
    quote_asset: str


TradingStrategy: TypeAlias = (
    TradingStrategyTickZeroCentered
    | TradingStrategySimpleBuySell
    | TradingStrategyInventoryBased
    | TradingStrategyOracleTracking
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TradingStrategyInfo(Generic[Amount]):
    """`state_chain_runtime::TradingStrategyInfo`."""

    lp_id: bytes
    strategy_id: bytes
    strategy: TradingStrategy
    balance: Sequence[tuple[str, Amount]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TradingStrategyLimits:
    """`state_chain_runtime::TradingStrategyLimits`."""

    minimum_deployment_amount: dict[str, dict[str, int | None]]
    minimum_added_funds_amount: dict[str, dict[str, int | None]]


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
