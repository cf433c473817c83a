"""Types of liquidity pools and their orders, from `cf_amm` and the pools pallet of runtime 2.2."""

from __future__ import annotations

from cfnode.devchain.runtime.frame.types import Catalog, enum, struct
from cfnode.devchain.runtime.releases import Release, by_release

from . import assets, swaps  # noqa: F401  (the declarations below name theirs)

struct("cf_amm_math::SqrtPrice", "U256")
enum("cf_amm::common::Side", "Buy", "Sell")
struct("cf_amm::common::AskBidMap<S>", asks="S", bids="S")
struct("cf_amm::limit_orders::FloatBetweenZeroAndOne", normalised_mantissa="U256", negative_exponent="U256")
struct(
    "cf_amm::limit_orders::FixedPool",
    pool_instance="u128",
    available="U256",
    percent_remaining="FloatBetweenZeroAndOne",
)
struct(
    "cf_amm::limit_orders::Position",
    name="limit_orders::Position",
    pool_instance="u128",
    amount="U256",
    last_percent_remaining="FloatBetweenZeroAndOne",
    original_amount="U256",
)
struct(
    "cf_amm::limit_orders::PoolState<LiquidityProvider>",
    name="limit_orders::PoolState",
    next_pool_instance="u128",
    fixed_pools="PoolPairsMap<BTreeMap<SqrtPrice, FixedPool>>",
    positions="PoolPairsMap<BTreeMap<(SqrtPrice, LiquidityProvider), limit_orders::Position>>",
    total_swap_inputs="PoolPairsMap<U256>",
    total_swap_outputs="PoolPairsMap<U256>",
)
struct(
    "cf_amm::range_orders::TickDelta",
    liquidity_delta="i128",
    liquidity_gross="u128",
    fee_growth_outside="PoolPairsMap<U256>",
)
struct(
    "cf_amm::range_orders::Position",
    name="range_orders::Position",
    liquidity="u128",
    last_fee_growth_inside="PoolPairsMap<U256>",
    accumulative_fees="PoolPairsMap<U256>",
    original_sqrt_price="SqrtPrice",
)
struct(
    "cf_amm::range_orders::PoolState<LiquidityProvider>",
    name="range_orders::PoolState",
    fee_hundredth_pips="u32",
    current_sqrt_price="SqrtPrice",
    current_tick="i32",
    current_liquidity="u128",
    global_fee_growth="PoolPairsMap<U256>",
    liquidity_map="BTreeMap<i32, TickDelta>",
    positions="BTreeMap<(LiquidityProvider, i32, i32), range_orders::Position>",
    total_fees_earned="PoolPairsMap<U256>",
    total_swap_inputs="PoolPairsMap<U256>",
    total_swap_outputs="PoolPairsMap<U256>",
)
struct(
    "cf_amm::PoolState<LiquidityProvider>",
    limit_orders="limit_orders::PoolState<LiquidityProvider>",
    range_orders="range_orders::PoolState<LiquidityProvider>",
)
struct(
    "pallet_cf_pools::pallet::Pool",
    range_orders_cache="BTreeMap<AccountId32, BTreeMap<u64, Range<i32>>>",
    limit_orders_cache="PoolPairsMap<BTreeMap<AccountId32, BTreeMap<u64, i32>>>",
    pool_state="PoolState<(AccountId32, u64)>",
)

# Results of runtime APIs about pools.
struct("pallet_cf_pools::PoolPriceV1", price="Price", sqrt_price="SqrtPrice", tick="i32")
struct("pallet_cf_pools::PoolPrice<P>", sell="Option<P>", buy="Option<P>", range_order="P")
struct(
    "pallet_cf_pools::PoolInfo",
    range_order_fee_hundredth_pips="u32",
    range_order_total_fees_earned="PoolPairsMap<U256>",
    range_total_swap_inputs="PoolPairsMap<U256>",
    limit_total_swap_inputs="PoolPairsMap<U256>",
)
struct("pallet_cf_pools::UnidirectionalSubPoolDepth", price="Option<SqrtPrice>", depth="U256")
struct(
    "pallet_cf_pools::UnidirectionalPoolDepth",
    limit_orders="UnidirectionalSubPoolDepth",
    range_orders="UnidirectionalSubPoolDepth",
)
struct("pallet_cf_pools::LimitOrderLiquidity", tick="i32", amount="U256")
struct("pallet_cf_pools::RangeOrderLiquidity", tick="i32", liquidity="U256")
struct(
    "pallet_cf_pools::PoolLiquidity",
    limit_orders="AskBidMap<Vec<LimitOrderLiquidity>>",
    range_orders="Vec<RangeOrderLiquidity>",
)
struct("pallet_cf_pools::PoolOrder", amount="U256", sqrt_price="SqrtPrice")
struct("pallet_cf_pools::PoolOrderbook", bids="Vec<PoolOrder>", asks="Vec<PoolOrder>")

_API = "state_chain_runtime::runtime_apis::custom_api::types"
enum(f"{_API}::DispatchErrorWithMessage", "Module(Bytes)", "RawMessage(Bytes)", "Other(DispatchError)")
struct(f"{_API}::CcmData", gas_budget="u128", message_length="u32")
enum(f"{_API}::FeeTypes", "Network", "IngressDepositChannel", "Egress", "IngressVaultSwap")
enum(
    f"{_API}::SimulateSwapAdditionalOrder",
    "LimitOrder{base_asset: Asset, quote_asset: Asset, side: Side, tick: i32, sell_amount: u128}",
)
struct(
    f"{_API}::SimulatedSwapInformation",
    intermediary="Option<u128>",
    output="u128",
    network_fee="u128",
    ingress_fee="u128",
    egress_fee="u128",
    broker_fee="u128",
)

# Orders of liquidity providers.
struct("pallet_cf_pools::pallet::RangeOrderChange", liquidity="u128", amounts="PoolPairsMap<u128>")
enum(
    "pallet_cf_pools::pallet::RangeOrderSize",
    "AssetAmounts{maximum: PoolPairsMap<u128>, minimum: PoolPairsMap<u128>}",
    "Liquidity{liquidity: u128}",
)
enum("cf_traits::liquidity::IncreaseOrDecrease<T>", "Increase(T)", "Decrease(T)")
enum(
    "pallet_cf_pools::CloseOrder",
    "Limit{base_asset: Asset, quote_asset: Asset, side: Side, id: u64}",
    "Range{base_asset: Asset, quote_asset: Asset, id: u64}",
)
enum(
    "pallet_cf_pools::LimitOrderUpdateDetails<BlockNumber>",
    "Update{option_tick: Option<i32>, amount_change: IncreaseOrDecrease<u128>}",
    "Set{option_tick: Option<i32>, sell_amount: u128, close_order_at: Option<BlockNumber>}",
    "Close",
)
struct(
    "pallet_cf_pools::LimitOrderUpdate",
    lp="AccountId32",
    base_asset="Asset",
    quote_asset="Asset",
    side="Side",
    id="u64",
    details="LimitOrderUpdateDetails<u32>",
)


@by_release
def _declare(catalog: Catalog, release: Release) -> None:
    minimum = "SetMinimumLimitOrderAmount{asset: Asset, amount: u128}"
    catalog.enum(
        "pallet_cf_pools::PalletConfigUpdate",
        "LimitOrderAutoSweepingThreshold{asset: Asset, amount: u128}",
        *([minimum] if release.rules.limit_orders_have_minimums else []),
        name="pools::PalletConfigUpdate",
    )
