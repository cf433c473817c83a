"""Types of the lending configuration, and its values at genesis.

LendingPools (53, pallet_cf_lending_pools). Users cannot borrow on a development chain: only the rules are
there, with the values that the main net's runtime has at first. Governance sets them.
"""

from __future__ import annotations

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import struct

__all__ = ["FIRST_RULES"]

DOLLAR = 10**6
PERCENT = 10_000
"""A hundredth, in Permill."""

_CONFIG = "pallet_cf_lending_pools::general_lending::config"
struct(
    f"{_CONFIG}::InterestRateConfiguration",
    interest_at_zero_utilisation="Permill",
    junction_utilisation="Permill",
    interest_at_junction_utilisation="Permill",
    interest_at_max_utilisation="Permill",
)
struct(
    f"{_CONFIG}::LendingPoolConfiguration",
    origination_fee="Permill",
    liquidation_fee="Permill",
    interest_rate_curve="InterestRateConfiguration",
)
struct(
    f"{_CONFIG}::LtvThresholds",
    target="Permill",
    soft_liquidation="Permill",
    soft_liquidation_abort="Permill",
    hard_liquidation="Permill",
    hard_liquidation_abort="Permill",
    low_ltv="Permill",
)
struct(
    f"{_CONFIG}::NetworkFeeContributions",
    extra_interest="Permill",
    from_origination_fee="Permill",
    from_liquidation_fee="Permill",
    low_ltv_penalty_max="Permill",
)
struct(
    f"{_CONFIG}::LendingConfiguration",
    default_pool_config="LendingPoolConfiguration",
    ltv_thresholds="LtvThresholds",
    network_fee_contributions="NetworkFeeContributions",
    fee_swap_interval_blocks="u32",
    interest_payment_interval_blocks="u32",
    interest_collection_threshold_usd="u128",
    fee_swap_threshold_usd="u128",
    soft_liquidation_max_oracle_slippage="u16",
    hard_liquidation_max_oracle_slippage="u16",
    soft_liquidation_swap_chunk_size_usd="u128",
    hard_liquidation_swap_chunk_size_usd="u128",
    fee_swap_max_oracle_slippage="u16",
    pool_config_overrides="BTreeMap<Asset, LendingPoolConfiguration>",
    minimum_loan_amount_usd="u128",
    minimum_supply_amount_usd="u128",
    minimum_update_loan_amount_usd="u128",
    minimum_update_supply_amount_usd="u128",
    liquidation_coverage_factor="Percent",
)

FIRST_RULES = values.LendingConfiguration(
    default_pool_config=values.LendingPoolConfiguration(
        origination_fee=100,
        liquidation_fee=500,
        interest_rate_curve=values.InterestRateConfiguration(
            interest_at_zero_utilisation=2 * PERCENT,
            junction_utilisation=90 * PERCENT,
            interest_at_junction_utilisation=8 * PERCENT,
            interest_at_max_utilisation=50 * PERCENT,
        ),
    ),
    ltv_thresholds=values.LtvThresholds(
        target=80 * PERCENT,
        soft_liquidation=90 * PERCENT,
        soft_liquidation_abort=88 * PERCENT,
        hard_liquidation=95 * PERCENT,
        hard_liquidation_abort=93 * PERCENT,
        low_ltv=50 * PERCENT,
    ),
    network_fee_contributions=values.NetworkFeeContributions(
        extra_interest=PERCENT,
        from_origination_fee=20 * PERCENT,
        from_liquidation_fee=20 * PERCENT,
        low_ltv_penalty_max=PERCENT,
    ),
    fee_swap_interval_blocks=10,
    interest_payment_interval_blocks=10,
    interest_collection_threshold_usd=DOLLAR // 10,
    fee_swap_threshold_usd=20 * DOLLAR,
    soft_liquidation_max_oracle_slippage=50,
    hard_liquidation_max_oracle_slippage=500,
    soft_liquidation_swap_chunk_size_usd=10_000 * DOLLAR,
    hard_liquidation_swap_chunk_size_usd=50_000 * DOLLAR,
    fee_swap_max_oracle_slippage=50,
    pool_config_overrides=[],
    minimum_loan_amount_usd=100 * DOLLAR,
    minimum_supply_amount_usd=100 * DOLLAR,
    minimum_update_loan_amount_usd=10 * DOLLAR,
    minimum_update_supply_amount_usd=10 * DOLLAR,
    liquidation_coverage_factor=100,
)
