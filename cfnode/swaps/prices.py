"""Prices of one asset in another: as decimal text, and as the chain has them, with 128 fractional bits."""

from __future__ import annotations

from decimal import ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import Final

from cfnode.core.assets import ASSETS

__all__ = ["fixed_price", "output_at", "paid_price", "price_of"]

_EXACT: Final = Context(prec=400, rounding=ROUND_HALF_UP)
_FLOOR: Final = Context(prec=120, rounding=ROUND_FLOOR)
_PLACES: Final = Decimal(1).scaleb(-20)


def price_of(fixed: int, source: str, target: str) -> str:
    """Convert a price in smallest units, with 128 fractional bits, to one in whole units."""
    price = _EXACT.divide(Decimal(fixed), Decimal(1 << 128)).quantize(_PLACES, context=_EXACT)
    return _plain(price.scaleb(ASSETS[source].decimals - ASSETS[target].decimals, _EXACT))


def output_at(amount: int, fixed: int) -> int:
    """Return the smallest units of the target for an amount of the source at a price, rounded half up."""
    return (amount * fixed + (1 << 127)) >> 128


def paid_price(paid: int, received: int, source: str, target: str) -> str:
    """Return the whole units of the target for one of the source; the amounts are in smallest units."""
    paid_amount = Decimal(paid).scaleb(-ASSETS[source].decimals, _EXACT)
    received_amount = Decimal(received).scaleb(-ASSETS[target].decimals, _EXACT)
    return _plain(_EXACT.divide(received_amount, paid_amount).quantize(_PLACES, context=_EXACT))


def fixed_price(price: str, slippage_percent: int, source: str, target: str) -> int:
    """Return a price in whole units, less a slippage, in smallest units with 128 fractional bits."""
    share = Decimal(100 - slippage_percent) / 100
    reduced = _FLOOR.multiply(Decimal(price), share)
    exact = reduced.scaleb(ASSETS[target].decimals - ASSETS[source].decimals, _FLOOR)
    return int(_FLOOR.multiply(exact, Decimal(1 << 128)))


def _plain(number: Decimal) -> str:
    """Return the digits of a number without exponent and trailing zeros."""
    return format(number.normalize(_EXACT), "f")
