"""Share of an order that is left after swaps, each of which took a part of all orders at its price.

It is the product of the parts that were left: a number between zero and one, in 256 bits of mantissa and an
exponent, rounded so that the claims never exceed the amount. (`FloatBetweenZeroAndOne` of the chain's
`cf_amm::limit_orders`.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["WHOLE_SHARE", "Share"]

BITS = 256
_MAX_MANTISSA = 2**BITS - 1


@dataclass(frozen=True, slots=True)
class Share:
    """mantissa × 2^-(256 + exponent); the highest bit of the mantissa is always set."""

    mantissa: int
    exponent: int

    @classmethod
    def of(cls, value: Mapping[str, int]) -> Share:
        """Return the share in a value of the chain's type."""
        return cls(value["normalised_mantissa"], value["negative_exponent"])

    @property
    def value(self) -> dict[str, int]:
        """The share as a value of the chain's type."""
        return {"normalised_mantissa": self.mantissa, "negative_exponent": self.exponent}

    def times(self, numerator: int, denominator: int) -> Share:
        """Return this share × numerator ÷ denominator (at most one, above zero), rounded up."""
        product = self.mantissa * numerator
        shift = 2 * BITS - product.bit_length()
        quotient = -(-(product << shift) // denominator)
        too_long = quotient.bit_length() - BITS
        mantissa = -(-quotient >> too_long)
        return Share(mantissa, self.exponent + shift - too_long)

    def of_amount(self, amount: int, whole: Share) -> tuple[int, int]:
        """Return amount × this share ÷ `whole`, rounded down and rounded up.

        `whole` is not less than this share.
        """
        product, shift = amount * self.mantissa, self.exponent - whole.exponent
        floor = product // whole.mantissa >> shift
        exact = product == (floor << shift) * whole.mantissa
        return floor, floor if exact else floor + 1


WHOLE_SHARE = Share(_MAX_MANTISSA, 0)
"""The largest share, just below one."""
