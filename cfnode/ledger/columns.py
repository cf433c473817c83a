"""Columns of the books' tables, and tables of facts, whose key is block and event."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

from cfnode.ledger.amounts import Amount
from cfnode.swaps.checksums import checksum_text, evm_account

__all__ = ["Receiver", "amount", "facts", "metadata", "number", "receiver", "text"]

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


class Receiver(TypeDecorator[str]):
    """Column type of a receiver's address: in lower case on EVM chains, and read in checksum form."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the stored text of an address, with which comparisons in queries are made, too."""
        if value is None or not value.startswith("0x") or evm_account(value.lower()) is None:
            return value
        return value.lower()

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        """Return an EVM address with its checksum, as a person may have written it."""
        return None if value is None else checksum_text(value)


def receiver(name: str, *, null: bool = False) -> Column[Any]:
    """Return a column of addresses that people wrote: receivers of outputs and refunds."""
    return Column(name, Receiver, nullable=null)


def number(name: str, *, null: bool = False) -> Column[Any]:
    """Return a column of integers of 64 bits."""
    return Column(name, BigInteger, nullable=null)


def amount(name: str, *, null: bool = False) -> Column[Any]:
    """Return a column of amounts in smallest units."""
    return Column(name, Amount, nullable=null)
