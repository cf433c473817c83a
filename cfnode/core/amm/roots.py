"""Approximate n-th root of an integer, as the chain calculates it for order books.

The prices of an order book are a constant factor apart, and the factor is a root that the chain approximates
to one part in a million. The approximation here is the chain's, so that the order book is exactly the same.
(`nth_root_of_integer_as_fixed_point` of the chain's `cf_amm::common`.)
"""

from __future__ import annotations

from math import isqrt

__all__ = ["root_of"]

_ONE = 1 << 128
_MAX = 2**512 - 1
MAX_NEWTON_STEPS = 128
PRECISION = 20


def root_of(number: int, degree: int) -> int:
    """Return the root of a number, with 128 fractional bits.

    For a degree of 1, and for 0, it is the number itself, without fractional bits.
    """
    if not number or degree == 1:
        return number
    radicand = number << 128
    # The root of the next lower power of two is never less than the wanted one.
    low, high = 0, radicand
    for _ in range(degree.bit_length() - 1):
        high = isqrt(high << 128)
    if degree & (degree - 1) == 0:
        return high
    for _ in range(MAX_NEWTON_STEPS):
        middle = (low + high) // 2
        power = _power(middle, degree)
        if abs(power - radicand) <= power >> PRECISION:
            break
        low, high = (low, middle) if power > radicand else (middle, high)
    return middle


def _power(base: int, exponent: int) -> int:
    """Return a power with 128 fractional bits, rounded at each step; the largest number if it overflows."""
    result = _ONE
    for bit in bin(exponent)[2:]:
        for factor in (result, base if bit == "1" else None):
            if factor is not None:
                product = result * factor
                if product > _MAX:
                    return _MAX
                result = product >> 128
    return result
