"""Minimum price of a swap in the State Chain's format.

The chain holds prices as fixed-point numbers with 128 fractional bits, in base units of the destination asset
for each base unit of the source asset. The steps and their rounding (half up) are those of the JavaScript
SDK, so that the same input gives the same bytes:

    factor       = (100 − tolerance) / 100                            to 20 decimals
    minimum      = estimated price × factor                           to the destination asset's decimals
    minimum X128 = minimum × 2^128 × 10^(destination − source decimals)  to a whole number
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

from cfnode.core.assets import ForeignAsset
from cfnode.core.foreign import ForeignError, decimal_number
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.record import Number, number_text
from cfnode.swaps.prices import price_of

__all__ = ["minimum_price", "price_from_x128", "price_to_x128", "read_number"]

_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)
_DIVISION_DIGITS = 20
_MAX_PRICE_EXPONENT = 80  # the largest X128 price, 2^256, has 78 digits
_TWO_128 = Decimal(2**128)
_MAX_X128 = 2**256 - 1


def read_number(value: object, field: str) -> Decimal:
    """Read a finite number in any notation; raise ValidationError for anything else."""
    refusal = ValidationError.at(field, f"expected a decimal number, not {value!r:.80}")
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
            raise refusal
        number = decimal_number(str(value).strip())
    except ForeignError:
        raise refusal from None
    if len(number.as_tuple().digits) > 2 * _MAX_PRICE_EXPONENT:
        raise refusal
    if number and abs(number.adjusted()) > 2 * _MAX_PRICE_EXPONENT:
        raise refusal
    return number


def minimum_price(estimated: Number, tolerance_percent: Number, destination: ForeignAsset) -> str:
    """Return the minimum price as decimal text; raise ValidationError for a malformed tolerance or price."""
    field = "fill_or_kill_params.slippage_tolerance_percent"
    tolerance = read_number(tolerance_percent, field)
    if not 0 <= tolerance <= 100:
        raise ValidationError.at(field, f"give a percentage from 0 to 100, not {tolerance}")
    price = read_number(estimated, "quote.estimated_price")
    factor = _rounded(_EXACT.divide(_EXACT.subtract(Decimal(100), tolerance), Decimal(100)), _DIVISION_DIGITS)
    return number_text(_rounded(_EXACT.multiply(price, factor), destination.decimals))


def price_to_x128(price: Number, source: ForeignAsset, destination: ForeignAsset) -> int:
    """Return a price in the chain's format; raise ValidationError for a malformed or too large one."""
    field = "fill_or_kill_params.min_price"
    number = read_number(price, field)
    scaled = _EXACT.multiply(number, _TWO_128).scaleb(destination.decimals - source.decimals, _EXACT)
    if number.is_signed() and number:
        raise ValidationError.at(field, "must not be negative")
    if (number and number.adjusted() > _MAX_PRICE_EXPONENT) or (
        result := int(_rounded(scaled, 0))
    ) > _MAX_X128:
        raise ValidationError.at(field, "larger than the State Chain can hold (256 bits)")
    return result


def price_from_x128(x128: int, source: ForeignAsset, destination: ForeignAsset) -> str:
    """Return a price of the chain's format as decimal text without trailing zeros."""
    return price_of(x128, source.name, destination.name)


def _rounded(number: Decimal, decimals: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, _EXACT)
