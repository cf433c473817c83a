"""`cfnode ledger statement`: the statement of a month or a day: all lines, and totals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from cfnode.cli.exits import ExitCode, Failure
from cfnode.cli.ledger.options import database_option, explained, opened
from cfnode.cli.options import json_option
from cfnode.cli.output import output_option, replaced, written_to
from cfnode.cli.values import AccountId, OneOf

if TYPE_CHECKING:
    from cfnode.ledger.statements import Month, Statement

__all__ = ["statement"]

_WIDTHS = {"time": 20, "line": 10, "kind": 11, "state": 9, "account": 49, "request": 8}
"""Columns of the table before the amounts, with their least widths; a longer value is printed whole."""


class MonthText(click.ParamType[Any]):
    """A month, `2026-11`, or a day, `2026-11-25`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the Month."""
        with explained():
            from cfnode.ledger.errors import MissingLibrary

            try:
                from cfnode.ledger.statements import Month
            except ImportError as error:
                raise MissingLibrary(f"the ledger needs {error.name}: pip install 'cfnode[ledger]'") from None
        try:
            read = Month.day if self.name == "day" else Month.parse
            return value if isinstance(value, Month) else read(str(value))
        except ValueError as error:
            return self.fail(str(error), param, ctx)


@click.command()
@click.option("--month", type=MonthText("month"), metavar="YYYY-MM", help="The month, in UTC.")
@click.option("--day", type=MonthText("day"), metavar="YYYY-MM-DD", help="A day, in UTC, instead of a month.")
@database_option
@click.option("--account", type=AccountId(), metavar="ACCOUNT", help="Only lines of this account.")
@click.option("--partner", metavar="NAME", help="Only lines of this partner's channels and their swaps.")
@click.option(
    "--format",
    "form",
    type=OneOf(("table", "csv", "json", "parquet")),
    metavar="FORMAT",
    default="table",
    show_default=True,
    help="table, csv, json, or parquet (needs --output and `pip install 'cfnode[parquet]'`).",
)
@output_option
@json_option
def statement(
    month: Month | None,
    day: Month | None,
    database: str | None,
    account: str | None,
    partner: str | None,
    form: str,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print the statement of a month or a day: each executed chunk, fee, payout and commission, and totals.

    Amounts are in smallest units and in whole units. A file has its name only when it is complete.
    """
    form = "json" if as_json and form == "table" else form
    period = month or day
    if period is None or (month is not None and day is not None):
        raise Failure("name the month or the day: --month 2026-11, or --day 2026-11-25", ExitCode.USAGE)
    if form == "parquet" and output is None:
        raise Failure("--format parquet needs --output FILE", ExitCode.USAGE)
    with opened(database) as books:
        from cfnode.ledger.statements import Statement

        books.require()
        if partner is not None:
            from cfnode.ledger.partners.registry import require

            require(books, partner)
        report = Statement(books, period, account, partner)
        if form == "parquet":
            from cfnode.ledger.parquet import write_parquet

            assert output is not None
            with replaced(output) as path:
                write_parquet(report, path)
        else:
            with written_to(output) as file:
                _FORMATS[form](report, file)
    for note in report.notes:
        click.echo(f"Not complete: {note}", err=True)


def _csv(statement: Statement, file: TextIO) -> None:
    from cfnode.ledger.statement_text import write_csv

    write_csv(statement, file)


def _json(statement: Statement, file: TextIO) -> None:
    from cfnode.ledger.statement_text import write_json

    write_json(statement, file)


def _table(statement: Statement, file: TextIO) -> None:
    from cfnode.ledger.statement_text import members

    for line in statement.lines():
        file.write(_row(members(line)) + "\n")
    file.write(f"\nTotals of {statement.month.text}\n")
    for total in statement.totals:
        document = total.document()
        head = f"{document['line']:10} {document['kind']:11} {document['state'] or '':9} {total.count:8}  "
        file.write(head + " -> ".join(_sums(document)) + "\n")


def _row(members: dict[str, Any]) -> str:
    cells = [
        f"{'' if members[name] is None else str(members[name]):{width}}" for name, width in _WIDTHS.items()
    ]
    return " ".join((*cells, " -> ".join(_sums(members))))


def _sums(members: dict[str, Any]) -> Iterator[str]:
    """Yield the amounts of a line or total in whole units, with their assets."""
    for prefix in ("", "to_"):
        if members[f"{prefix}units"] is not None:
            yield f"{members[f'{prefix}units']} {members[f'{prefix}asset']}"


_FORMATS = {"csv": _csv, "json": _json, "table": _table}
