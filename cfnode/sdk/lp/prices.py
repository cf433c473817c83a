"""Exact conversion between ticks and prices, and between base units and whole units.

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
from cfnode.core.assets import AnyAsset, Asset
from cfnode.core.foreign import ForeignError, decimal_number
from cfnode.sdk.assets import asset_given
from cfnode.sdk.errors import ValidationError

__all__ = [
    "Quantity",
    "Side",
    "asset_of",
    "base_units",
    "base_units_or_none",
    "checked_tick",
    "price_at_square_root",
    "price_of_tick",
    "range_end",
    "rounded",
    "tick_of_price",
    "whole_units",
]

Quantity: TypeAlias = int | str | Decimal
"""An amount: an int is base units, text or a Decimal is whole units of the asset ("0.5" BTC)."""
Side: TypeAlias = Literal["sell", "buy"]
"""The side of an order: whether it sells or buys the base asset."""

_EXACT = Context(prec=700)
_FRACTION = 192
"""Fractional bits of a squared square root."""
_MAX_AMOUNT = 2**128 - 1
_MAX_TEXT, _MAX_EXPONENT = 500, 100
"""Maximum digits of a number (the exact price of a tick has up to 300), and of its power of ten."""


def asset_of(asset: AnyAsset, field: str) -> Asset:
    """Return the asset of any form: `BTC`, `ArbEth`, `Arbitrum/ETH`, in any case. Raises ValidationError."""
    return asset_given(asset, field)


def checked_tick(tick: object, field: str = "tick") -> int:
    """Return a tick from −887,272 to 887,272; raise ValidationError for any other value."""
    if isinstance(tick, bool) or not isinstance(tick, int) or not MIN_TICK <= tick <= MAX_TICK:
        raise ValidationError.at(field, f"expected a tick from {MIN_TICK} to {MAX_TICK}, not {tick!r:.40}")
    return tick


def range_end(value: Quantity, base: str, quote: str, *, field: str, side: Side) -> int:
    """Return the tick at an end of a range: an int is a tick, text or a Decimal a price in whole units.

    The range contains the price: for side "buy" (the lower end) the tick is not above it, for "sell" (the
    upper one) not below it. Raises ValidationError.
    """
    if isinstance(value, int):
        return checked_tick(value, field)
    return tick_of_price(value, base, quote, side=side, field=field)


def price_of_tick(tick: int, base: str, quote: str = "USDC") -> Decimal:
    """Return the exact price of a tick: whole units of `quote` for one whole unit of `base`.

    Nothing is rounded, so the result may have some 200 digits; `rounded` shortens it for people. The chain
    itself trades at this price cut to 128 fractional bits of base units. Raises ValidationError.
    """
    root = sqrt_price_at(checked_tick(tick))
    return price_at_square_root(root, asset_of(base, "base"), asset_of(quote, "quote"))


def price_at_square_root(root: int, base: Asset, quote: Asset) -> Decimal:
    """Return the exact price, in whole units, of a square root with 96 fractional bits."""
    price = _EXACT.divide(Decimal(root * root), Decimal(1 << _FRACTION))
    return price.scaleb(base.decimals - quote.decimals, _EXACT)


def tick_of_price(
    price: Quantity, base: str, quote: str = "USDC", *, side: Side, field: str = "price"
) -> int:
    """Return the tick next to a price in whole units (text, int or Decimal), in favor of the order's owner.

    A seller gets the lowest tick that is not below the price, a buyer the highest that is not above it; so no
    order trades at a worse price than the one given. Raises ValidationError, which names `field`, also for a
    price out of range.
    """
    number = _exact_number(price, field)
    scale = asset_of(quote, "quote").decimals - asset_of(base, "base").decimals
    over, under = number.scaleb(scale, _EXACT).as_integer_ratio()
    square, rest = divmod(over << _FRACTION, under)
    lowest, highest = sqrt_price_at(MIN_TICK) ** 2, sqrt_price_at(MAX_TICK) ** 2
    if square < lowest or square > highest or (square == highest and rest):
        limits = " to ".join(rounded(price_of_tick(tick, base, quote)) for tick in (MIN_TICK, MAX_TICK))
        raise ValidationError.at(field, f"expected a price from {limits}, not {price!s:.40}")
    tick = tick_at(isqrt(square))
    is_exact = not rest and sqrt_price_at(tick) ** 2 == square
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


def base_units(amount: Quantity, asset: str, field: str = "amount") -> int:
    """Return an amount above zero in base units, unrounded.

    An int is base units already; text or a Decimal is whole units. Raises ValidationError, also for more
    digits than the asset has.
    """
    units = _units(amount, asset, field)
    if not 0 < units <= _MAX_AMOUNT:
        raise ValidationError.at(field, f"expected an amount above 0 and below 2^128, not {amount!s:.60}")
    return units


def base_units_or_none(amount: Quantity, asset: str, field: str) -> int:
    """Return an amount in base units, which may be zero; raise ValidationError.

    An int is base units already; text or a Decimal is whole units, without more digits than the asset has.
    """
    units = _units(amount, asset, field)
    return units and base_units(units, asset, field)


def _units(amount: Quantity, asset: str, field: str) -> int:
    known = asset_of(asset, "asset")
    if isinstance(amount, int) and not isinstance(amount, bool):
        return amount
    over, under = _exact_number(amount, field).scaleb(known.decimals, _EXACT).as_integer_ratio()
    if under != 1:
        text = f"{known.name} has {known.decimals} decimals, and {amount!s:.60} has more"
        raise ValidationError.at(field, text)
    return over


def whole_units(amount: int, asset: str) -> Decimal:
    """Return base units in whole units of the asset, exactly."""
    return Decimal(amount).scaleb(-asset_of(asset, "asset").decimals, _EXACT)


def _exact_number(value: object, field: str) -> Decimal:
    """Return a finite number without a float's error; raise ValidationError."""
    if isinstance(value, float):
        raise ValidationError.at(
            field, f'expected text or a Decimal, which are exact: "{value}", not {value}'
        )
    if isinstance(value, str) and len(value) <= _MAX_TEXT and value.isascii():
        value = _parsed(value)
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < _MAX_TEXT:
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite() or len(value.as_tuple().digits) > _MAX_TEXT:
        raise ValidationError.at(field, f"expected a decimal number, not {value!r:.60}")
    if value and abs(value.adjusted()) > _MAX_EXPONENT:
        raise ValidationError.at(field, f"expected a number of usual size, not {value!s:.60}")
    return value


def _parsed(text: str) -> Decimal | str:
    try:
        return decimal_number(text.strip())
    except ForeignError:
        return text
