"""Amounts as callers give them, in base units or whole units, and their exact conversion."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TypeAlias

from cfnode.core.assets import ForeignAsset, asset_text
from cfnode.core.foreign import ForeignError, decimal_number
from cfnode.sdk.assets import asset_given
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.names import AssetName

__all__ = ["Quantity", "base_units", "base_units_or_none", "exact_number", "whole_units"]

Quantity: TypeAlias = int | str | Decimal
"""An amount: an int is base units, text or a Decimal is whole units of the asset ("0.5" BTC)."""

_EXACT = Context(prec=700)
_MAX_AMOUNT = 2**128 - 1
_MAX_TEXT, _MAX_EXPONENT = 500, 100
"""Maximum digits of a number (the exact price of a tick has up to 300), and of its power of ten."""


def base_units(amount: Quantity, asset: AssetName | ForeignAsset, field: str = "amount") -> int:
    """Return an amount above zero in base units, unrounded.

    An int is base units already; text or a Decimal is whole units. Raises ValidationError, also for more
    digits than the asset has.
    """
    units = _units(amount, asset, field)
    if not 0 < units <= _MAX_AMOUNT:
        raise ValidationError.at(field, f"expected an amount above 0 and below 2^128, not {amount!s:.60}")
    return units


def base_units_or_none(amount: Quantity, asset: AssetName | ForeignAsset, field: str) -> int:
    """Return an amount in base units, which may be zero; raise ValidationError.

    An int is base units already; text or a Decimal is whole units, without more digits than the asset has.
    """
    units = _units(amount, asset, field)
    return units and base_units(units, asset, field)


def _units(amount: Quantity, asset: AssetName | ForeignAsset, field: str) -> int:
    spec = asset_given(asset, "asset")
    if isinstance(amount, int) and not isinstance(amount, bool):
        return amount
    numerator, denominator = exact_number(amount, field).scaleb(spec.decimals, _EXACT).as_integer_ratio()
    if denominator != 1:
        text = f"{asset_text(spec)} has {spec.decimals} decimals, and {amount!s:.60} has more"
        raise ValidationError.at(field, text)
    return numerator


def whole_units(amount: int, asset: AssetName | ForeignAsset) -> Decimal:
    """Return base units in whole units of the asset, exactly."""
    return Decimal(amount).scaleb(-asset_given(asset, "asset").decimals, _EXACT)


def exact_number(value: object, field: str) -> Decimal:
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
        raise ValidationError.at(field, f"number out of range: {value!s:.60}")
    return value


def _parsed(text: str) -> Decimal | str:
    try:
        return decimal_number(text.strip())
    except ForeignError:
        return text
