"""Amounts up to 2^128 - 1 in the database, and their exact sums.

Their type is NUMERIC on PostgreSQL, and text of 39 digits on SQLite.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import Dialect, Integer, Numeric, String, TypeDecorator, cast, func
from sqlalchemy.types import TypeEngine

__all__ = ["Amount", "exact_sum", "whole"]

_PARTS: Final = ((1, 7), (8, 8), (16, 8), (24, 8), (32, 8))
"""The 39 digits of an amount on SQLite, in parts whose sums fit into 64 bits: first digit, length."""
AMOUNT_DIGITS: Final = 39
"""Decimal digits of 2^128 - 1, the largest amount of the chain."""


class Amount(TypeDecorator[int]):
    """Column type of an exact integer from 0 to 2^128 - 1: NUMERIC(39, 0), and on SQLite text of 39 digits.

    SQLite's numbers have 64 bits, and larger ones lose digits; texts of equal length sort as numbers do.
    """

    impl = String(AMOUNT_DIGITS)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the column type: text with leading zeros in SQLite, NUMERIC elsewhere."""
        is_text = dialect.name == "sqlite"
        return dialect.type_descriptor(String(AMOUNT_DIGITS) if is_text else Numeric(AMOUNT_DIGITS, 0))

    def process_bind_param(self, value: int | None, dialect: Dialect) -> Any:
        """Convert an amount for the database. Raises ValueError outside of u128."""
        if value is None:
            return None
        if not 0 <= value < 2**128:
            raise ValueError(f"{value} is not an amount of the chain")
        return f"{value:0{AMOUNT_DIGITS}d}" if dialect.name == "sqlite" else Decimal(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:
        """Convert an amount from the database to int."""
        return None if value is None else int(value)


def exact_sum(column: Any, dialect: str) -> list[Any]:
    """Return columns whose values `whole` adds up to the exact sum of an amount column."""
    if dialect != "sqlite":
        return [func.sum(column)]
    return [func.sum(cast(func.substr(column, first, length), Integer)) for first, length in _PARTS]


def whole(sums: Iterable[Any]) -> int:
    """Return the sum whose parts are the values of the columns of `exact_sum`."""
    total = 0
    for part, (_, length) in zip(sums, _PARTS, strict=False):
        total = total * 10**length + int(part or 0)
    return total
