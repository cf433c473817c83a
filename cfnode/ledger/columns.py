"""Columns of the books' tables, and tables of facts, whose key is block and event."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Table, Text

from cfnode.ledger.amounts import Amount

__all__ = ["amount", "facts", "metadata", "number", "text"]

metadata = MetaData()


def facts(
    name: str,
    *columns: Column[Any],
    has_place: bool = False,
    indexed_by: tuple[tuple[str, ...], ...] = (),
    ordered_by: tuple[tuple[str, ...], ...] = (),
) -> Table:
    """Return a table of facts, whose key is block and event, and with `has_place` also place.

    `indexed_by` are the columns of each index, and `ordered_by` those of each index that continues with the
    key: rows with equal columns are read in the order of their keys, from any block on.
    """
    keys = [
        Column("block", BigInteger, primary_key=True, autoincrement=False),
        Column("event", Integer, primary_key=True, autoincrement=False),
    ]
    if has_place:
        keys.append(Column("place", Integer, primary_key=True, autoincrement=False))
    key = tuple(column.name for column in keys)
    indexed_by += tuple(names + key for names in ordered_by)
    indexes = [Index(f"{name}_by_{'_'.join(names)}", *names) for names in indexed_by]
    return Table(name, metadata, *keys, *columns, *indexes)


def text(name: str, length: int = 0, *, null: bool = False) -> Column[Any]:
    """Return a column of text, of at most `length` characters unless it is 0."""
    return Column(name, String(length) if length else Text, nullable=null)


def number(name: str, *, null: bool = False) -> Column[Any]:
    """Return a column of integers of 64 bits."""
    return Column(name, BigInteger, nullable=null)


def amount(name: str, *, null: bool = False) -> Column[Any]:
    """Return a column of amounts in smallest units."""
    return Column(name, Amount, nullable=null)
