"""Amounts that a form has as text: whole coins, as a number of smallest units."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from cfnode.core.foreign import ForeignError, decimal_number

__all__ = ["smallest_units"]

MAX_AMOUNT_COINS: Final = 10**15
MAX_AMOUNT_CHARS: Final = 40


def smallest_units(text: str, decimals: int) -> int:
    """Return the smallest units of a number of whole coins, not negative. Raise ValueError."""
    try:
        value = decimal_number(text) if len(text) <= MAX_AMOUNT_CHARS else Decimal(-1)
    except ForeignError:
        value = Decimal(-1)
    scaled: Any = value.scaleb(decimals) if 0 <= value < MAX_AMOUNT_COINS else Decimal(-1)
    if scaled < 0 or scaled != int(scaled):
        raise ValueError(f"Write a number with at most {decimals} digits behind the point.")
    return int(scaled)
