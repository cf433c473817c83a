"""Parquet files of statements.

Lines are written in groups of 10,000; head and totals are in the file's metadata. Amounts are exact decimals
of 38 digits; `time` is a timestamp in UTC.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any, BinaryIO, Final

from cfnode.core.assets import units
from cfnode.ledger.errors import LedgerError, MissingLibrary
from cfnode.ledger.statements.lines import COLUMNS, LedgerStatement, Line
from cfnode.ledger.statements.values import VALUE_DECIMALS

__all__ = ["write_parquet"]

GROUP_LINES: Final = 10_000
"""Lines of a row group, which are in memory at the same time."""
_INTEGERS: Final = ("block", "event", "request", "swap", "channel", "egress")
_AMOUNTS: Final = ("amount", "to_amount")
MAX_DECIMAL128: Final = 10**38 - 1
"""The largest amount of a decimal of 38 digits; no asset has as much."""


def write_parquet(statement: LedgerStatement, file: BinaryIO) -> None:
    """Write the lines, and head, totals and notes as JSON under `cfnode.statement`.

    Raises MissingLibrary without pyarrow, LedgerError, OSError.
    """
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise MissingLibrary("Parquet needs pyarrow: pip install 'cfnode[parquet]'") from None
    schema = pyarrow.schema([(name, _type(pyarrow, name)) for name in COLUMNS])
    with ParquetWriter(file, schema) as writer:
        for group in _groups(statement.lines()):
            columns = {name: [_value(line, name) for line in group] for name in COLUMNS}
            writer.write_table(pyarrow.table(columns, schema=schema))
        details = statement.head | {
            "totals": [total.document() for total in statement.totals],
            "notes": statement.notes,
            "unvalued": statement.unvalued,
        }
        writer.add_key_value_metadata({"cfnode.statement": json.dumps(details)})


def _groups(lines: Iterable[Line]) -> Iterator[list[Line]]:
    remaining = iter(lines)
    while group := list(islice(remaining, GROUP_LINES)):
        yield group


def _type(pyarrow: Any, name: str) -> Any:
    if name in _INTEGERS:
        return pyarrow.int64()
    if name in _AMOUNTS:
        return pyarrow.decimal128(38, 0)
    if name == "value":
        return pyarrow.decimal128(38, VALUE_DECIMALS)
    return pyarrow.timestamp("ms", tz="UTC") if name == "time" else pyarrow.string()


def _value(line: Line, name: str) -> Any:
    value = getattr(line, name)
    if value is None or name not in (*_AMOUNTS, "value"):
        return value
    if value > MAX_DECIMAL128:
        raise LedgerError(
            f"an amount of block {line.block} has more digits than Parquet's decimals: use another format"
        )
    return Decimal(units(value, VALUE_DECIMALS) if name == "value" else value)
