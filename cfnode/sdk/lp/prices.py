"""Exact conversion between ticks and prices.

A pool's price is the amount of the quote asset for one of the base asset (USDC for one BTC). The chain counts
both in base units and admits only the prices of ticks: tick 0 is 1, and each tick is 0.01 % above the one
below it. It stores √price as a number with 96 fractional bits, rounded up (`core.amm.ticks`); the price of a
tick is the exact square of that number, so that a tick converts to a price and back without loss.
"""

from __future__ import annotations

from decimal import Context, Decimal
from math import isqrt
from typing import Literal, TypeAlias

from cfnode.core.amm.ticks import MAX_TICK, MIN_TICK, sqrt_price_at, tick_at
from cfnode.core.assets import ForeignAsset
from cfnode.sdk.amounts import Quantity, exact_number
from cfnode.sdk.assets import asset_given
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.names import AssetName

__all__ = [
    "Side",
    "checked_tick",
    "price_at_square_root",
    "price_of_tick",
    "range_end",
    "rounded",
    "tick_of_price",
]

Side: TypeAlias = Literal["sell", "buy"]
"""The side of an order: whether it sells or buys the base asset."""

_EXACT = Context(prec=700)
_FRACTION = 192
"""Fractional bits of a squared square root."""


def checked_tick(tick: object, field: str = "tick") -> int:
    """Return a tick from −887,272 to 887,272; raise ValidationError for any other value."""
    if isinstance(tick, bool) or not isinstance(tick, int) or not MIN_TICK <= tick <= MAX_TICK:
        raise ValidationError.at(field, f"expected a tick from {MIN_TICK} to {MAX_TICK}, not {tick!r:.40}")
    return tick


def range_end(value: Quantity, base: AssetName, quote: AssetName, *, field: str, side: Side) -> int:
    """Return the tick at an end of a range: an int is a tick, text or a Decimal a price in whole units.

    The range contains the price: for side "buy" (the lower end) the tick is not above it, for "sell" (the
    upper one) not below it. Raises ValidationError.
    """
    if isinstance(value, int):
        return checked_tick(value, field)
    return tick_of_price(value, base, quote, side=side, field=field)


def price_of_tick(tick: int, base: AssetName, quote: AssetName = "USDC") -> Decimal:
    """Return the exact price of a tick: whole units of `quote` for one whole unit of `base`.

    Nothing is rounded, so the result may have some 200 digits; `rounded` shortens it for people. The chain
    itself trades at this price cut to 128 fractional bits of base units. Raises ValidationError.
    """
    root = sqrt_price_at(checked_tick(tick))
    return price_at_square_root(root, asset_given(base, "base"), asset_given(quote, "quote"))


def price_at_square_root(root: int, base: ForeignAsset, quote: ForeignAsset) -> Decimal:
    """Return the exact price, in whole units, of a square root with 96 fractional bits."""
    price = _EXACT.divide(Decimal(root * root), Decimal(1 << _FRACTION))
    return price.scaleb(base.decimals - quote.decimals, _EXACT)


def tick_of_price(
    price: Quantity, base: AssetName, quote: AssetName = "USDC", *, side: Side, field: str = "price"
) -> int:
    """Return the tick next to a price in whole units (text, int or Decimal), in favor of the order's owner.

    A seller gets the lowest tick that is not below the price, a buyer the highest that is not above it; so no
    order trades at a worse price than the one given. Raises ValidationError, which names `field`, also for a
    price out of range.
    """
    number = exact_number(price, field)
    scale = asset_given(quote, "quote").decimals - asset_given(base, "base").decimals
    over, under = number.scaleb(scale, _EXACT).as_integer_ratio()
    square, remainder = divmod(over << _FRACTION, under)
    lowest, highest = sqrt_price_at(MIN_TICK) ** 2, sqrt_price_at(MAX_TICK) ** 2
    if square < lowest or square > highest or (square == highest and remainder):
        limits = " to ".join(f"{price_of_tick(tick, base, quote):.4g}" for tick in (MIN_TICK, MAX_TICK))
        raise ValidationError.at(field, f"give a price from about {limits}, not {price!s:.40}")
    tick = tick_at(isqrt(square))
    is_exact = not remainder and sqrt_price_at(tick) ** 2 == square
    return tick if is_exact or checked_side(side) == "buy" else tick + 1


def checked_side(side: object) -> Side:
    """Return the side, "sell" or "buy"; raise ValidationError for any other value."""
    if side == "sell":
        return "sell"
    if side == "buy":
        return "buy"
    raise ValidationError.at("side", f'expected "sell" or "buy" (of the base asset), not {side!r:.40}')


def rounded(price: Decimal, digits: int = 10) -> str:
    """Return a price as text of `digits` significant digits, rounded half to even."""
    short = Context(prec=digits).plus(price)
    text = f"{short:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
