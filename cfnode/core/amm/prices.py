"""Conversion between prices, their square roots and amounts.

A price is units of the quote asset for one unit of the base asset, smallest units both, with 128 fractional
bits; its square root has 96. Fees are in parts per million.
"""

from __future__ import annotations

from math import isqrt

from .ticks import MAX_SQRT_PRICE, MIN_SQRT_PRICE

__all__ = ["beating", "in_range", "price_of", "sqrt_price_of", "sqrt_price_of_amounts", "with_fee", "worse"]

PIPS = 10**6


def price_of(sqrt_price: int) -> int:
    """Return the price of a square root."""
    return sqrt_price * sqrt_price >> 64


def sqrt_price_of(price: int) -> int:
    """Return the square root of a price, clamped to the range of pools."""
    return _clamped(isqrt(price << 128) >> 32)


def in_range(price: int) -> bool:
    """Return whether the price is in the range of pools."""
    return MIN_SQRT_PRICE <= isqrt(price << 128) >> 32 <= MAX_SQRT_PRICE


def sqrt_price_of_amounts(base: int, quote: int) -> int:
    """Return the square root of the price at which `base` is worth `quote`, both in smallest units."""
    return _clamped(isqrt((quote << 256) // base) >> 32)


def worse(sold: str, sqrt_price: int, than: int) -> bool:
    """Return whether a price is worse than another for a seller of "base" or "quote"."""
    return sqrt_price < than if sold == "base" else sqrt_price > than


def with_fee(sold: str, sqrt_price: int, fee: int) -> int:
    """Return the price of the range orders for a seller, after the fee."""
    return _shrunk(sqrt_price, fee) if sold == "base" else _grown(sqrt_price, fee)


def beating(sold: str, sqrt_price: int, fee: int) -> int:
    """Return the price of range orders that would, after their fee, be as good as that of a limit order."""
    return _grown(sqrt_price, fee) if sold == "base" else _shrunk(sqrt_price, fee)


def _grown(sqrt_price: int, fee: int) -> int:
    return sqrt_price_of(min(price_of(sqrt_price) * PIPS // (PIPS - fee), 2**256 - 1))


def _shrunk(sqrt_price: int, fee: int) -> int:
    return sqrt_price_of(price_of(sqrt_price) * (PIPS - fee) // PIPS)


def _clamped(sqrt_price: int) -> int:
    return max(MIN_SQRT_PRICE, min(sqrt_price, MAX_SQRT_PRICE))
