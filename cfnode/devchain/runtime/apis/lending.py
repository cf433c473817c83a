"""`CustomRuntimeApi` methods for lending and trading strategies.

A development chain has lending pools and their rules. It has no borrowers and no strategies; its only loans
are those that boost deposits.
"""

from __future__ import annotations

from dataclasses import fields

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import RuntimeApi, enum, method, struct
from cfnode.devchain.runtime.frame.types import Catalog
from cfnode.devchain.runtime.pallets.boost_funding import LENDER, BoostFunding
from cfnode.devchain.runtime.pallets.trading_strategy import TradingStrategy
from cfnode.devchain.runtime.releases import Release, by_release

__all__ = ["LendingApi"]

MILLION, BILLION = 10**6, 10**9

_API = "state_chain_runtime::runtime_apis::custom_api::types"
_STRATEGIES = "pallet_cf_trading_strategy"
_LENDING = "pallet_cf_lending_pools::general_lending"

enum(
    f"{_STRATEGIES}::TradingStrategy",
    "TickZeroCentered{spread_tick: i32, base_asset: Asset}",
    "SimpleBuySell{buy_tick: i32, sell_tick: i32, base_asset: Asset}",
    "InventoryBased{min_buy_tick: i32, max_buy_tick: i32, min_sell_tick: i32, max_sell_tick: i32,"
    " base_asset: Asset}",
    "OracleTracking{min_buy_offset_tick: i32, max_buy_offset_tick: i32, min_sell_offset_tick: i32,"
    " max_sell_offset_tick: i32, base_asset: Asset, quote_asset: Asset}",
)
struct(
    f"{_API}::TradingStrategyInfo<Amount>",
    lp_id="AccountId32",
    strategy_id="AccountId32",
    strategy="TradingStrategy",
    balance="Vec<(Asset, Amount)>",
)
struct("sp_arithmetic::fixed_point::FixedU64", "u64")
struct("cf_primitives::AssetAndAmount<Amount>", asset="Asset", amount="Amount")
enum(f"{_LENDING}::LiquidationType", "SoftVoluntary", "Soft", "Hard")
struct(
    f"{_LENDING}::rpc::RpcLoan<Amount>",
    loan_id="LoanId",
    loan_type="LoanType<AccountId32>",
    asset="Asset",
    created_at="u32",
    principal_amount="Amount",
    broker="Option<Beneficiary<AccountId32>>",
)
struct(f"{_LENDING}::rpc::RpcLiquidationSwap", swap_request_id="SwapRequestId", loan_id="LoanId")
struct(
    f"{_LENDING}::rpc::RpcLiquidationStatus",
    liquidation_swaps="Vec<RpcLiquidationSwap>",
    liquidation_type="LiquidationType",
)
struct(
    f"{_LENDING}::rpc::RpcLoanAccount<Amount>",
    account="AccountId32",
    ltv_ratio="Option<FixedU64>",
    collateral="Vec<AssetAndAmount<Amount>>",
    loans="Vec<RpcLoan<Amount>>",
    liquidation_status="Option<RpcLiquidationStatus>",
)
struct(f"{_LENDING}::rpc::LendingSupplyPosition<Amount>", lp_id="AccountId32", total_amount="Amount")
struct(
    f"{_LENDING}::rpc::LendingPoolAndSupplyPositions<Amount>",
    asset="Asset",
    positions="Vec<LendingSupplyPosition<Amount>>",
)
_IN_DOLLARS = (
    "fee_swap_threshold_usd",
    "interest_collection_threshold_usd",
    "soft_liquidation_swap_chunk_size_usd",
    "hard_liquidation_swap_chunk_size_usd",
)
_SLIPPAGES = tuple(
    f"{kind}_max_oracle_slippage" for kind in ("soft_liquidation", "hard_liquidation", "fee_swap")
)
_LEAST = tuple(f"minimum_{kind}_amount_usd" for kind in ("loan", "supply", "update_loan", "update_supply"))
struct(
    f"{_API}::RpcLendingConfig",
    ltv_thresholds="LtvThresholds",
    network_fee_contributions="NetworkFeeContributions",
    fee_swap_interval_blocks="u32",
    interest_payment_interval_blocks="u32",
    **dict.fromkeys(_IN_DOLLARS, "U256"),
    **dict.fromkeys(_SLIPPAGES, "u16"),
    **dict.fromkeys(_LEAST, "U256"),
)
struct(
    f"{_API}::TradingStrategyLimits",
    minimum_deployment_amount="AssetMap<Option<u128>>",
    minimum_added_funds_amount="AssetMap<Option<u128>>",
)


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    network_fields = {"owed_to_network": "Amount"} if release.rules.lending_pools_owe_network else {}
    catalog.struct(
        f"{_LENDING}::rpc::RpcLendingPool<Amount>",
        asset="Asset",
        total_amount="Amount",
        available_amount="Amount",
        **network_fields,
        utilisation_rate="Permill",
        utilisation_cap="Permill",
        current_interest_rate="Permill",
        config="LendingPoolConfiguration",
    )


class LendingApi(RuntimeApi):
    """The rules, and lists without entries."""

    api = "CustomRuntimeApi"

    @method("RpcLendingConfig")
    def cf_lending_config(self) -> values.RpcLendingConfig:
        """Return the rules of lending; those of single pools are part of the pools."""
        rules = self.other(BoostFunding).LendingConfig.get()
        names = (field.name for field in fields(values.RpcLendingConfig))
        return values.RpcLendingConfig(**{name: getattr(rules, name) for name in names})

    @method("TradingStrategyLimits")
    def cf_trading_strategy_limits(self) -> values.TradingStrategyLimits:
        """Return the minimum to begin a strategy with, and to add; no strategy has other assets."""
        strategies = self.other(TradingStrategy)
        minimum_deployment = dict(strategies.MinimumDeploymentAmountForStrategy.get())
        minimum_added = dict(strategies.MinimumAddedFundsToStrategy.get())
        return values.TradingStrategyLimits(
            minimum_deployment_amount=self.runtime.release.asset_map(minimum_deployment.get),
            minimum_added_funds_amount=self.runtime.release.asset_map(minimum_added.get),
        )

    @method("Vec<TradingStrategyInfo<u128>>", lp_id="Option<AccountId32>")
    def cf_get_trading_strategies(self, lp_id: bytes | None) -> list[values.TradingStrategyInfo[int]]:
        """Trading strategies: none."""
        return []

    @method("Vec<RpcLendingPool<u128>>", asset="Option<Asset>")
    def cf_lending_pools(self, asset: str | None) -> list[values.RpcLendingPool[int]]:
        """Return what the lending pools have, and at what interest they would lend."""
        rules = self.other(BoostFunding).LendingConfig.get()
        return [_offer(name, pool, rules) for name, pool in self._pools(asset)]

    @method("Vec<LendingPoolAndSupplyPositions<u128>>", asset="Option<Asset>")
    def cf_lending_pool_supply_balances(
        self, asset: str | None
    ) -> list[values.LendingPoolAndSupplyPositions[int]]:
        """Return the lenders of each pool."""
        return [
            values.LendingPoolAndSupplyPositions(
                asset=name,
                positions=[values.LendingSupplyPosition(lp_id=LENDER, total_amount=pool.total_amount)],
            )
            for name, pool in self._pools(asset)
        ]

    def _pools(self, asset: str | None) -> list[tuple[str, values.LendingPool]]:
        pools = self.other(BoostFunding).GeneralLendingPools
        return [(name, pool) for name, pool in pools.items() if asset in (None, name)]

    @method("Vec<RpcLoanAccount<u128>>", borrower_id="Option<AccountId32>")
    def cf_loan_accounts(self, borrower_id: bytes | None) -> list[values.RpcLoanAccount[int]]:
        """Borrowers: none."""
        return []

    @method("Vec<RpcLoan<u128>>")
    def cf_all_loans(self) -> list[values.RpcLoan[int]]:
        """Loans: those that boost deposits."""
        lending = self.other(BoostFunding)
        return [
            _loan(lending.BoostLoans.known(boosted.lending_loan_id), deposit_id)
            for _, deposit_id, boosted in lending.BoostedDeposits.all()
            if boosted.lending_loan_id is not None
        ]


def _loan(loan: values.GeneralLoan, deposit_id: int) -> values.RpcLoan[int]:
    return values.RpcLoan(
        loan_id=loan.id,
        loan_type=values.LoanTypeBoost(deposit_id),
        asset=loan.asset,
        created_at=loan.created_at_block,
        principal_amount=loan.owed_principal,
        broker=loan.broker,
    )


def _offer(
    asset: str, pool: values.LendingPool, rules: values.LendingConfiguration
) -> values.RpcLendingPool[int]:
    """Return a pool's amounts, utilisation and interest; without borrowers' collateral all may be lent."""
    total = pool.total_amount
    config = dict(rules.pool_config_overrides).get(asset, rules.default_pool_config)
    used_amount = total - max(0, pool.available_amount - (pool.owed_to_network or 0))
    utilisation = used_amount * MILLION // total if total else MILLION
    interest = _interest(config.interest_rate_curve, utilisation)
    extra = rules.network_fee_contributions.extra_interest
    return values.RpcLendingPool(
        asset=asset,
        total_amount=total,
        available_amount=pool.available_amount,
        owed_to_network=pool.owed_to_network,
        utilisation_rate=utilisation,
        utilisation_cap=MILLION,
        current_interest_rate=min(MILLION, interest + extra),
        config=config,
    )


def _interest(curve: values.InterestRateConfiguration, utilisation: int) -> int:
    """Return the interest in parts per million a year.

    The curve is two straight lines that meet at the junction, in steps of a billionth.
    """
    junction, junction_interest = curve.junction_utilisation, curve.interest_at_junction_utilisation
    if utilisation < junction:
        start, end, low, high = 0, junction, curve.interest_at_zero_utilisation, junction_interest
    else:
        start, end, low, high = junction, MILLION, junction_interest, curve.interest_at_max_utilisation
    slope = (high - low) * BILLION // (end - start)
    return low + slope * (utilisation - start) // BILLION
