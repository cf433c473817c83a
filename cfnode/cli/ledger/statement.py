"""`cfnode ledger statement`: the statement of a year, quarter, month or day: all lines, and totals."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from cfnode.cli.exits import CommandFailure, ExitCode
from cfnode.cli.ledger.options import database_option, explained, opened
from cfnode.cli.options import json_option
from cfnode.cli.output import output_option, replaced, written_to
from cfnode.cli.values import AccountId, OneOf

if TYPE_CHECKING:
    from cfnode.ledger.statements import CalendarPeriod, LedgerStatement
    from cfnode.ledger.statements.rates import ExchangeRates

__all__ = ["statement"]

_WIDTHS = {"time": 20, "line": 10, "kind": 11, "state": 9, "account": 49, "request": 8, "value": 14}
"""Columns of the table before the amounts, with their least widths; a longer value is printed whole."""
_FILES: Final = ("csv", "csv-totals", "json", "xlsx", "parquet", "beancount", "ledger")
"""Formats of files; the ledger's own list needs its libraries."""
_NOT_PRINTED: Final = ("xlsx", "parquet")


class PeriodText(click.ParamType[Any]):
    """A year, `2026`, quarter, `2026-Q4`, month, `2026-11`, or day, `2026-11-25`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the CalendarPeriod."""
        with explained():
            from cfnode.ledger.errors import MissingLibrary

            try:
                from cfnode.ledger.statements import CalendarPeriod
            except ImportError as error:
                raise MissingLibrary(f"the ledger needs {error.name}: pip install 'cfnode[ledger]'") from None
        try:
            read = getattr(CalendarPeriod, self.name)
            period = value if isinstance(value, CalendarPeriod) else read(str(value))
            period.require_begun(time.time_ns() // 1_000_000)
            return period
        except ValueError as error:
            return self.fail(str(error), param, ctx)


@click.command()
@click.option("--month", type=PeriodText("month"), metavar="YYYY-MM", help="The month, in UTC.")
@click.option("--quarter", type=PeriodText("quarter"), metavar="YYYY-QN", help="A quarter, such as 2026-Q4.")
@click.option("--year", type=PeriodText("year"), metavar="YYYY", help="A year.")
@click.option("--day", type=PeriodText("day"), metavar="YYYY-MM-DD", help="A day.")
@database_option
@click.option("--account", type=AccountId(), metavar="ACCOUNT", help="Only lines of this account.")
@click.option("--partner", metavar="NAME", help="Only lines of this partner's channels and their swaps.")
@click.option(
    "--currency",
    metavar="CODE",
    default="USD",
    show_default=True,
    help="Currency of the values. Any other than USD needs --rates.",
)
@click.option(
    "--rates",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="CSV with the rates of the currency: date,usd_per_eur, or the file of the European Central Bank.",
)
@click.option(
    "--format",
    "form",
    type=OneOf(("table", *_FILES)),
    metavar="FORMAT",
    default="table",
    show_default=True,
    help="table, csv (lines), csv-totals, json, xlsx (`pip install 'cfnode[xlsx]'`), parquet (`pip install "
    "'cfnode[parquet]'`), or a journal: beancount, ledger. xlsx and parquet need --output.",
)
@output_option
@json_option
def statement(
    month: CalendarPeriod | None,
    quarter: CalendarPeriod | None,
    year: CalendarPeriod | None,
    day: CalendarPeriod | None,
    database: str | None,
    account: str | None,
    partner: str | None,
    currency: str,
    rates: Path | None,
    form: str,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print a statement: each executed chunk, fee, payout and commission of a period, and totals.

    The period is a month, a quarter, a year or a day, in UTC. Amounts are in smallest units and in whole
    units; each line has its value in dollars, or in another currency by --rates. A file has its name only
    when it is complete.
    """
    form = "json" if as_json and form == "table" else form
    periods = [period for period in (month, quarter, year, day) if period is not None]
    if len(periods) != 1:
        raise CommandFailure(
            "name one period: --month 2026-11, --quarter 2026-Q4, --year 2026, or --day 2026-11-25",
            ExitCode.USAGE,
        )
    if form in _NOT_PRINTED and output is None:
        raise CommandFailure(f"--format {form} needs --output FILE: add it", ExitCode.USAGE)
    with opened(database) as books:
        from cfnode.ledger.statements import LedgerStatement

        exchange_rates = _rates(currency, rates)
        books.require()
        if partner is not None:
            from cfnode.ledger.partners.registry import require

            require(books, partner)
        report = LedgerStatement(books, periods[0], account, partner, exchange_rates)
        _write(report, form, output)
    for remark in report.remarks:
        click.echo(remark, err=True)


def _rates(currency: str, rates: Path | None) -> ExchangeRates | None:
    """Return the rates of a currency; None for dollars."""
    from cfnode.ledger.statements.rates import CURRENCY, DOLLARS, read_rates

    if CURRENCY.fullmatch(currency) is None:
        raise CommandFailure(
            f"--currency {currency[:40]!r} is not a code: give one such as EUR", ExitCode.USAGE
        )
    if currency == DOLLARS:
        if rates is not None:
            raise CommandFailure("--rates needs --currency: add it, such as --currency EUR", ExitCode.USAGE)
        return None
    if rates is None:
        raise CommandFailure(
            f"--currency {currency} needs --rates FILE: add it, CSV with date,usd_per_{currency.lower()}",
            ExitCode.USAGE,
        )
    return read_rates(rates, currency)


def _write(report: LedgerStatement, form: str, output: Path | None) -> None:
    from cfnode.ledger.statements.formats import FORMATS

    if form == "table":
        with written_to(output) as file:
            _table(report, file)
    elif output is None:
        FORMATS[form].write(report, sys.stdout.buffer)
    else:
        with replaced(output) as path, path.open("wb") as binary:
            FORMATS[form].write(report, binary)


def _table(statement: LedgerStatement, file: TextIO) -> None:
    from cfnode.ledger.statements.text import members

    file.write(f"{statement.title}\n\n")
    for line in statement.lines():
        file.write(_row(members(line)) + "\n")
    file.write(f"\nTotals of {statement.period.text}, values in {statement.currency}\n")
    for total in statement.totals:
        document = total.document()
        head = f"{document['line']:10} {document['kind']:11} {document['state'] or '':9} {total.count:8} "
        head += f"{document['value'] or '':14} "
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
