"""Parquet files of statements.

Lines are written in groups of 10,000; totals are in the file's metadata. Amounts are exact decimals of 38
digits; `time` is a timestamp in UTC.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from cfnode.ledger.errors import LedgerError, MissingLibrary
from cfnode.ledger.statements import COLUMNS, LedgerStatement, Line

__all__ = ["write_parquet"]

GROUP_LINES: Final = 10_000
"""Lines of a row group, which are in memory at the same time."""
_INTEGERS: Final = ("block", "event", "request", "swap", "channel", "egress")
_AMOUNTS: Final = ("amount", "to_amount")
MAX_DECIMAL128: Final = 10**38 - 1
"""The largest amount of a decimal of 38 digits; no asset has as much."""


def write_parquet(statement: LedgerStatement, path: Path) -> None:
    """Write the lines, and month, account, partner, totals and notes as JSON under `cfnode.statement`.

    Raises MissingLibrary without pyarrow, LedgerError, OSError.
    """
    try:
        import pyarrow
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise MissingLibrary("Parquet needs pyarrow: pip install 'cfnode[parquet]'") from None
    schema = pyarrow.schema([(name, _type(pyarrow, name)) for name in COLUMNS])
    with ParquetWriter(path, schema) as writer:
        for group in _groups(statement.lines()):
            columns = {name: [_value(line, name) for line in group] for name in COLUMNS}
            writer.write_table(pyarrow.table(columns, schema=schema))
        details = {
            "month": statement.month.text,
            "account": statement.account,
            "partner": statement.partner,
            "totals": [total.document() for total in statement.totals],
            "notes": statement.notes,
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
    return pyarrow.timestamp("ms", tz="UTC") if name == "time" else pyarrow.string()


def _value(line: Line, name: str) -> Any:
    value = getattr(line, name)
    if name in _AMOUNTS and value is not None:
        if value > MAX_DECIMAL128:
            raise LedgerError(
                f"an amount of block {line.block} has more digits than Parquet's decimals: use another format"
            )
        from decimal import Decimal

        return Decimal(value)
    return value
