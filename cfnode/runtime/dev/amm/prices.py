"""How do prices, their square roots and amounts go together?

A price is units of the quote asset for one unit of the base asset, smallest units both, with 128 fractional
bits; its square root has 96.
"""

from __future__ import annotations

from math import isqrt

from .ticks import MAX_SQRT_PRICE, MIN_SQRT_PRICE

__all__ = ["price_of", "sqrt_price_of", "sqrt_price_of_amounts"]


def price_of(sqrt_price: int) -> int:
    """The price of a square root."""
    return sqrt_price * sqrt_price >> 64


def sqrt_price_of(price: int) -> int:
    """The square root of a price, within the range that pools know."""
    return _clamped(isqrt(price << 128) >> 32)


def sqrt_price_of_amounts(base: int, quote: int) -> int:
    """The square root of the price at which `base` is worth `quote`, both in smallest units."""
    return _clamped(isqrt((quote << 256) // base) >> 32)


def _clamped(sqrt_price: int) -> int:
    return max(MIN_SQRT_PRICE, min(sqrt_price, MAX_SQRT_PRICE))
