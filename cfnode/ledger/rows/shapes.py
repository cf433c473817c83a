"""Check that a row fits its table.

An event with other fields than expected may lead to a row that does not. The database would refuse such a
row, and with it the whole block, again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Integer, String

from cfnode.ledger import schema
from cfnode.ledger.amounts import Amount
from cfnode.ledger.columns import Receiver

__all__ = ["check"]

Fits = Callable[[Any], bool]


def check(table: str, row: dict[str, Any]) -> None:
    """Raise ValueError with the name of the first value of a row that does not fit its column."""
    for name, fits in _columns(table):
        if not fits(row[name]):
            raise ValueError(
                f"{name} of {table} cannot be {type(row[name]).__name__} {str(row[name])[:80]!r}"
            )


@cache
def _columns(table: str) -> tuple[tuple[str, Fits], ...]:
    return tuple((column.name, _fits(column)) for column in schema.metadata.tables[table].columns)


def _fits(column: Column[Any]) -> Fits:
    rule = _rule(column)
    return (lambda value: value is None or rule(value)) if column.nullable else rule


def _rule(column: Column[Any]) -> Fits:
    kind = column.type
    if isinstance(kind, Amount):
        return lambda value: type(value) is int and 0 <= value < 2**128
    if isinstance(kind, Boolean):
        return lambda value: type(value) is bool
    if isinstance(kind, Integer):
        bits = 63 if isinstance(kind, BigInteger) else 31
        return lambda value: type(value) is int and -(2**bits) <= value < 2**bits
    if isinstance(kind, Receiver):
        kind = kind.impl_instance
    assert isinstance(kind, String)
    length = kind.length
    return lambda value: (
        isinstance(value, str) and (length is None or len(value) <= length) and "\0" not in value
    )
