"""Frozen dataclasses of the chain's values: pools.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

__all__ = [
    "AskBidMap",
    "AssetPair",
    "CloseOrder",
    "CloseOrderLimit",
    "CloseOrderRange",
    "Decrease",
    "Increase",
    "IncreaseOrDecrease",
    "LimitOrder",
    "LimitOrderLiquidity",
    "LimitOrderUpdate",
    "LimitOrderUpdateDetails",
    "LimitOrderUpdateDetailsSet",
    "LimitOrderUpdateDetailsUpdate",
    "Pool",
    "PoolInfo",
    "PoolLiquidity",
    "PoolOrder",
    "PoolOrderbook",
    "PoolOrders",
    "PoolPrice",
    "PoolPriceV1",
    "PoolsConfigUpdate",
    "PoolsConfigUpdateLimitOrderAutoSweepingThreshold",
    "PoolsConfigUpdateSetMinimumLimitOrderAmount",
    "RangeOrder",
    "RangeOrderChange",
    "RangeOrderLiquidity",
    "RangeOrderSize",
    "RangeOrderSizeAssetAmounts",
    "RangeOrderSizeLiquidity",
    "UnidirectionalPoolDepth",
    "UnidirectionalSubPoolDepth",
]

AccountId = TypeVar("AccountId", covariant=True)
BlockNumber = TypeVar("BlockNumber", covariant=True)
P = TypeVar("P", covariant=True)
S = TypeVar("S", covariant=True)
T = TypeVar("T", covariant=True)


@dataclass(frozen=True, slots=True)
class AssetPair:
    """`cf_amm::AssetPair`."""

    assets: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskBidMap(Generic[S]):
    """`cf_amm::AskBidMap`."""

    asks: S
    bids: S


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """`pallet_cf_pools::Pool`."""

    range_orders_cache: Sequence[tuple[bytes, Sequence[tuple[int, Mapping[str, int]]]]]
    limit_orders_cache: Mapping[str, Sequence[tuple[bytes, Sequence[tuple[int, int]]]]]
    pool_state: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPriceV1:
    """`pallet_cf_pools::PoolPriceV1`."""

    price: int
    sqrt_price: int
    tick: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPrice(Generic[P]):
    """`pallet_cf_pools::PoolPrice`."""

    sell: P | None
    buy: P | None
    range_order: P


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolInfo:
    """`pallet_cf_pools::PoolInfo`."""

    range_order_fee_hundredth_pips: int
    range_order_total_fees_earned: Mapping[str, int]
    range_total_swap_inputs: Mapping[str, int]
    limit_total_swap_inputs: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnidirectionalSubPoolDepth:
    """`pallet_cf_pools::UnidirectionalSubPoolDepth`."""

    price: int | None
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnidirectionalPoolDepth:
    """`pallet_cf_pools::UnidirectionalPoolDepth`."""

    limit_orders: UnidirectionalSubPoolDepth
    range_orders: UnidirectionalSubPoolDepth


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOrderLiquidity:
    """`pallet_cf_pools::LimitOrderLiquidity`."""

    tick: int
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeOrderLiquidity:
    """`pallet_cf_pools::RangeOrderLiquidity`."""

    tick: int
    liquidity: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLiquidity:
    """`pallet_cf_pools::PoolLiquidity`."""

    limit_orders: AskBidMap[Sequence[LimitOrderLiquidity]]
    range_orders: Sequence[RangeOrderLiquidity]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOrder:
    """`pallet_cf_pools::PoolOrder`."""

    amount: int
    sqrt_price: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOrderbook:
    """`pallet_cf_pools::PoolOrderbook`."""

    bids: Sequence[PoolOrder]
    asks: Sequence[PoolOrder]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOrder(Generic[AccountId]):
    """`cf_amm::LimitOrder`."""

    lp: AccountId
    id: int
    tick: int
    sell_amount: int
    fees_earned: int
    original_sell_amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeOrder(Generic[AccountId]):
    """`pallet_cf_pools::RangeOrder`."""

    lp: AccountId
    id: int
    range: Mapping[str, int]
    liquidity: int
    fees_earned: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOrders(Generic[AccountId]):
    """`pallet_cf_pools::PoolOrders`."""

    limit_orders: AskBidMap[Sequence[LimitOrder[AccountId]]]
    range_orders: Sequence[RangeOrder[AccountId]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeOrderChange:
    """`pallet_cf_pools::RangeOrderChange`."""

    liquidity: int
    amounts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeOrderSizeAssetAmounts:
    """`pallet_cf_pools::RangeOrderSize::AssetAmounts`."""

    maximum: Mapping[str, int]
    minimum: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RangeOrderSizeLiquidity:
    """`pallet_cf_pools::RangeOrderSize::Liquidity`."""

    liquidity: int


RangeOrderSize: TypeAlias = RangeOrderSizeAssetAmounts | RangeOrderSizeLiquidity


@dataclass(frozen=True, slots=True)
class Increase(Generic[T]):
    """`cf_traits::IncreaseOrDecrease::Increase`."""

    value: T


@dataclass(frozen=True, slots=True)
class Decrease(Generic[T]):
    """`cf_traits::IncreaseOrDecrease::Decrease`."""

    value: T


IncreaseOrDecrease: TypeAlias = Increase[T] | Decrease[T]


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseOrderLimit:
    """`pallet_cf_pools::CloseOrder::Limit`."""

    base_asset: str
    quote_asset: str
    side: str
    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseOrderRange:
    """`pallet_cf_pools::CloseOrder::Range`."""

    base_asset: str
    quote_asset: str
    id: int


CloseOrder: TypeAlias = CloseOrderLimit | CloseOrderRange


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOrderUpdateDetailsUpdate:
    """`pallet_cf_pools::LimitOrderUpdateDetails::Update`."""

    option_tick: int | None
    amount_change: IncreaseOrDecrease[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOrderUpdateDetailsSet(Generic[BlockNumber]):
    """`pallet_cf_pools::LimitOrderUpdateDetails::Set`."""

    option_tick: int | None
    sell_amount: int
    close_order_at: BlockNumber | None


LimitOrderUpdateDetails: TypeAlias = (
    Literal["Close"] | LimitOrderUpdateDetailsUpdate | LimitOrderUpdateDetailsSet[BlockNumber]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOrderUpdate:
    """`pallet_cf_pools::LimitOrderUpdate`."""

    lp: bytes
    base_asset: str
    quote_asset: str
    side: str
    id: int
    details: LimitOrderUpdateDetails[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolsConfigUpdateLimitOrderAutoSweepingThreshold:
    """`pallet_cf_pools::PalletConfigUpdate::LimitOrderAutoSweepingThreshold`."""

    asset: str
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolsConfigUpdateSetMinimumLimitOrderAmount:
    """`pallet_cf_pools::PalletConfigUpdate::SetMinimumLimitOrderAmount`."""

    asset: str
    amount: int


PoolsConfigUpdate: TypeAlias = (
    PoolsConfigUpdateLimitOrderAutoSweepingThreshold | PoolsConfigUpdateSetMinimumLimitOrderAmount
)


FORMS: Mapping[str, PythonForm] = {
    "AskBidMap": AskBidMap,
    "AssetPair": AssetPair,
    "CloseOrder": {"Limit": CloseOrderLimit, "Range": CloseOrderRange},
    "IncreaseOrDecrease": {"Increase": Increase, "Decrease": Decrease},
    "LimitOrder": LimitOrder,
    "LimitOrderLiquidity": LimitOrderLiquidity,
    "LimitOrderUpdate": LimitOrderUpdate,
    "LimitOrderUpdateDetails": {"Update": LimitOrderUpdateDetailsUpdate, "Set": LimitOrderUpdateDetailsSet},
    "Pool": Pool,
    "PoolInfo": PoolInfo,
    "PoolLiquidity": PoolLiquidity,
    "PoolOrder": PoolOrder,
    "PoolOrderbook": PoolOrderbook,
    "PoolOrders": PoolOrders,
    "PoolPrice": PoolPrice,
    "PoolPriceV1": PoolPriceV1,
    "RangeOrder": RangeOrder,
    "RangeOrderChange": RangeOrderChange,
    "RangeOrderLiquidity": RangeOrderLiquidity,
    "RangeOrderSize": {"AssetAmounts": RangeOrderSizeAssetAmounts, "Liquidity": RangeOrderSizeLiquidity},
    "UnidirectionalPoolDepth": UnidirectionalPoolDepth,
    "UnidirectionalSubPoolDepth": UnidirectionalSubPoolDepth,
    "pools::PalletConfigUpdate": {
        "LimitOrderAutoSweepingThreshold": PoolsConfigUpdateLimitOrderAutoSweepingThreshold,
        "SetMinimumLimitOrderAmount": PoolsConfigUpdateSetMinimumLimitOrderAmount,
    },
}
