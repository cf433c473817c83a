"""Statements as CSV or JSON, written line by line.

The totals have a CSV file of their own, so that the sum of a column is not twice as large. JSON has both.
"""

from __future__ import annotations

from typing import Any, Final, TextIO

from msgspec.json import encode

from cfnode.ledger.spreadsheet import CsvTable
from cfnode.ledger.statements.lines import COLUMNS, LedgerStatement, Line, value_text
from cfnode.ledger.times import time_text

__all__ = ["TOTAL_COLUMNS", "members", "write_csv", "write_csv_totals", "write_json"]

TOTAL_COLUMNS: Final = (
    *("line", "kind", "state", "count", "asset", "amount", "units", "to_asset", "to_amount", "to_units"),
    *("value", "currency"),
)
"""Members of a total, in their order."""
_HEAD: Final = ("title", "period", "account", "partner")
"""Members of the statement before those of a total in CSV."""


def members(line: Line) -> dict[str, Any]:
    """Return the members of a line: amounts and value as decimal digits, `time` as ISO 8601."""
    values = {name: getattr(line, name) for name in COLUMNS}
    for name in ("amount", "to_amount"):
        values[name] = None if values[name] is None else str(values[name])
    return values | {"time": time_text(line.time), "value": value_text(line.value)}


def write_csv(statement: LedgerStatement, file: TextIO) -> None:
    """Write the lines as CSV."""
    table = CsvTable(file, COLUMNS)
    for line in statement.lines():
        table.write(members(line))


def write_csv_totals(statement: LedgerStatement, file: TextIO) -> None:
    """Write the totals as CSV, each with the statement's title, period, account and partner."""
    table = CsvTable(file, (*_HEAD, *TOTAL_COLUMNS))
    for _ in statement.lines():
        pass
    head = {name: statement.head[name] for name in _HEAD}
    for total in statement.totals:
        table.write(head | total.document())


def write_json(statement: LedgerStatement, file: TextIO) -> None:
    """Write the statement as one JSON object; its lines are written as they are read."""
    file.write(f'{encode(statement.head).decode()[:-1]},"lines":[')
    separator = "\n"
    for line in statement.lines():
        file.write(separator + encode(members(line)).decode())
        separator = ",\n"
    totals = encode([total.document() for total in statement.totals]).decode()
    notes, unvalued = encode(statement.notes).decode(), encode(statement.unvalued).decode()
    file.write(f'\n],"totals":{totals},"notes":{notes},"unvalued":{unvalued}}}\n')
