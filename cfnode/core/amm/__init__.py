"""Arithmetic of the pools: ticks, prices, range and limit orders (the chain's `state-chain/amm`)."""

from __future__ import annotations

from .errors import OrderRefused, OutOfLiquidity
from .limit_orders import LimitPool, PoolLimitOrder, other
from .pool import AmmPool, Sold
from .prices import in_range, price_of, sqrt_price_of, sqrt_price_of_amounts
from .range_orders import MAX_GROSS_LIQUIDITY, RangePool, liquidity_for_quote
from .range_positions import RangeChange, burned, check_range, minted, position_of, required_ratio
from .ticks import MAX_SQRT_PRICE, MAX_TICK, MIN_SQRT_PRICE, MIN_TICK, sqrt_price_at, tick_at

__all__ = [
    "MAX_GROSS_LIQUIDITY",
    "MAX_SQRT_PRICE",
    "MAX_TICK",
    "MIN_SQRT_PRICE",
    "MIN_TICK",
    "AmmPool",
    "LimitPool",
    "OrderRefused",
    "OutOfLiquidity",
    "PoolLimitOrder",
    "RangeChange",
    "RangePool",
    "Sold",
    "burned",
    "check_range",
    "in_range",
    "liquidity_for_quote",
    "minted",
    "other",
    "position_of",
    "price_of",
    "required_ratio",
    "sqrt_price_at",
    "sqrt_price_of",
    "sqrt_price_of_amounts",
    "tick_at",
]
