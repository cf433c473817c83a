"""Frozen dataclasses of the chain's values: trading strategies.

Classes of the declared types. Written by scripts/chain_values.py: change the declarations instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from cfnode.core.scale import PythonForm

__all__ = [
    "TradingStrategy",
    "TradingStrategyInfo",
    "TradingStrategyInventoryBased",
    "TradingStrategyLimits",
    "TradingStrategyOracleTracking",
    "TradingStrategySimpleBuySell",
    "TradingStrategyTickZeroCentered",
]

Amount = TypeVar("Amount", covariant=True)


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


FORMS: Mapping[str, PythonForm] = {
    "TradingStrategy": {
        "TickZeroCentered": TradingStrategyTickZeroCentered,
        "SimpleBuySell": TradingStrategySimpleBuySell,
        "InventoryBased": TradingStrategyInventoryBased,
        "OracleTracking": TradingStrategyOracleTracking,
    },
    "TradingStrategyInfo": TradingStrategyInfo,
    "TradingStrategyLimits": TradingStrategyLimits,
}
