"""The pools' arithmetic: ticks, prices and range orders (state-chain/amm of the chain's source)."""

from __future__ import annotations

from .prices import price_of, sqrt_price_of, sqrt_price_of_amounts
from .range_orders import OutOfLiquidity, RangePool, liquidity_for_quote
from .ticks import MAX_SQRT_PRICE, MAX_TICK, MIN_SQRT_PRICE, MIN_TICK, sqrt_price_at, tick_at

__all__ = [
    "MAX_SQRT_PRICE",
    "MAX_TICK",
    "MIN_SQRT_PRICE",
    "MIN_TICK",
    "OutOfLiquidity",
    "RangePool",
    "liquidity_for_quote",
    "price_of",
    "sqrt_price_at",
    "sqrt_price_of",
    "sqrt_price_of_amounts",
    "tick_at",
]
