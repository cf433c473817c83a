"""Statements as CSV or JSON, written line by line, with the totals at their end."""

from __future__ import annotations

import csv
from typing import Any, TextIO

from msgspec.json import encode

from cfnode.ledger.statements import COLUMNS, Line, Statement
from cfnode.ledger.times import time_text

__all__ = ["members", "write_csv", "write_json"]


def members(line: Line) -> dict[str, Any]:
    """Return the members of a line: amounts as decimal digits, `time` as ISO 8601."""
    values = {name: getattr(line, name) for name in COLUMNS}
    for name in ("amount", "to_amount"):
        values[name] = None if values[name] is None else str(values[name])
    return values | {"time": time_text(line.time)}


def write_csv(statement: Statement, file: TextIO) -> None:
    """Write the lines as CSV, then the totals, whose `line` begins with `total`."""
    writer = csv.DictWriter(file, (*COLUMNS, "count"), lineterminator="\n")
    writer.writeheader()
    for line in statement.lines():
        writer.writerow(members(line))
    for total in statement.totals:
        document = total.document()
        writer.writerow(document | {"line": f"total {document['line']}"})


def write_json(statement: Statement, file: TextIO) -> None:
    """Write the statement as one JSON object; its lines are written as they are read."""
    head = {"month": statement.month.text, "account": statement.account, "partner": statement.partner}
    file.write(f'{encode(head).decode()[:-1]},"lines":[')
    separator = "\n"
    for line in statement.lines():
        file.write(separator + encode(members(line)).decode())
        separator = ",\n"
    totals = encode([total.document() for total in statement.totals]).decode()
    file.write(f'\n],"totals":{totals},"notes":{encode(statement.notes).decode()}}}\n')
