"""Statements of a month: equal to what the chain's events say, to the unit, in each format, and whole."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import trio
from sqlalchemy import insert

from cfnode.core.assets import ASSETS
from cfnode.ledger import pages, schema
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.follower import Source
from cfnode.ledger.statements import COLUMNS, CalendarPeriod, LedgerStatement, Line, parquet
from cfnode.ledger.statements import lines as lines_module
from tests.documentation import block
from tests.ledger.conftest import MakeDatabase, books_of_day
from tests.ledger.contents import rows
from tests.ledger.day import Day
from tests.support.cli.commands import run
from tests.support.ledger.blocks import block_rows
from tests.support.ledger.books import followed
from tests.support.ledger.months import NOVEMBER, in_november

DAY_MS = 86_400_000
GUIDE = "docs/guide/ledger.md"


def number(value: int | str) -> int:
    """Return a number of an event; large ones are hex."""
    return int(str(value), 0)


def chain_totals(day: Day) -> Counter[tuple[str, str]]:
    """Return sums of what the node's events state, by kind and asset; nothing of the books is used."""
    totals = Counter[tuple[str, str]]()
    for height in range(1, day.head + 1):
        for event in day.chain.events(day.chain.rpc("chain_getBlockHash", height)):
            fields = event["fields"]
            if event["name"] == "SwapExecuted":
                totals["swap", fields["input_asset"]] += number(fields["input_amount"])
                totals["swap to", fields["output_asset"]] += number(fields["output_amount"])
                totals["fee network", "Usdc"] += number(fields["network_fee"])
                totals["fee broker", "Usdc"] += number(fields["broker_fee"])
                totals["commission", "Usdc"] += number(fields["broker_fee"])
            if event["name"] == "SwapEgressScheduled":
                totals["payout swap", fields["asset"]] += number(fields["amount"])
            if event["name"] == "WithdrawalRequested":
                totals["payout withdrawal", fields["egress_asset"]] += number(fields["egress_amount"])
    return +totals


def statement_totals(statement: LedgerStatement) -> Counter[tuple[str, str]]:
    """Return the sums by kind and asset of a statement's totals."""
    totals = Counter[tuple[str, str]]()
    for total in statement.totals:
        name = {"swap": "swap", "commission": "commission"}.get(total.line, f"{total.line} {total.kind}")
        totals[name, total.asset] += total.amount
        if total.to_asset is not None:
            totals["swap to", total.to_asset] += total.to_amount
    return +totals


async def test_totals_are_what_the_chain_states(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State the sums of the chain's own events, fee by fee, and those of an affiliate alone."""
    monkeypatch.setattr(pages, "FACT_PAGE_ROWS", 3)
    books = await books_of_day(day, make_database)
    in_november(books, day.head + 1)
    statement = LedgerStatement(books, NOVEMBER)
    lines = list(statement.lines())
    assert [(line.block, line.event) for line in lines] == sorted((line.block, line.event) for line in lines)
    expected = chain_totals(day)
    assert {name for name, _ in expected} >= {
        "swap",
        "swap to",
        "fee broker",
        "payout swap",
        "payout withdrawal",
    }
    totals = statement_totals(statement)
    assert {key: totals[key] for key in expected} == dict(expected)
    for table, line in (("fees", "fee"), ("payouts", "payout"), ("commissions", "commission")):
        booked = rows(books, table)
        assert len(booked) == sum(booked.line == line for booked in lines), table
        assert sum(row["amount"] or 0 for row in booked) == sum(
            total.amount for total in statement.totals if total.line == line
        )
    own = list(LedgerStatement(books, NOVEMBER, day.affiliate).lines())
    assert own == [line for line in lines if line.account == day.affiliate]
    assert {line.line for line in own} == {"commission", "fee", "payout"}


async def test_months_are_bounded_in_utc(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End a month at midnight UTC in any time zone, and note blocks that the books lack."""
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    assert NOVEMBER.start == datetime(2026, 11, 1, tzinfo=UTC).timestamp() * 1000
    assert CalendarPeriod.parse("2026-12").end - CalendarPeriod.parse("2026-12").start == 31 * DAY_MS
    books = await books_of_day(day, make_database)
    until = day.head // 2
    in_november(books, until)
    november, december = (
        LedgerStatement(books, NOVEMBER),
        LedgerStatement(books, CalendarPeriod.parse("2026-12")),
    )
    first, second = list(november.lines()), list(december.lines())
    assert first and second
    assert {line.block for line in first} <= set(range(1, until))
    assert {line.block for line in second} <= set(range(until, day.head + 1))
    assert statement_totals(november) + statement_totals(december) == statement_totals_of_all(books, day)
    assert november.notes == []
    assert december.notes == [f"the books end with block {day.head}, before the end of 2026-12"]
    with books.writing() as connection:
        gap = {"first": until - 3, "last": until + 3, "found_at": 0}
        connection.execute(insert(schema.gaps), gap)
    for month in (november, december):
        list(month.lines())
        assert f"the books lack blocks {until - 3} to {until + 3}" in month.notes
    october = LedgerStatement(books, CalendarPeriod.parse("2026-10"))
    assert list(october.lines()) == []


async def test_days_add_up_to_their_month(day: Day, make_database: MakeDatabase) -> None:
    """Give the lines of November by its thirty days, each once."""
    books = await books_of_day(day, make_database)
    in_november(books, day.head + 1)
    days = [CalendarPeriod.day(f"2026-11-{number:02}") for number in range(1, 31)]
    assert [day.start for day in days] + [NOVEMBER.end] == [NOVEMBER.start] + [day.end for day in days]
    lines = [line for day in days for line in LedgerStatement(books, day).lines()]
    assert lines == list(LedgerStatement(books, NOVEMBER).lines())


def test_unread_events_are_noted_in_their_own_month_alone(make_database: MakeDatabase) -> None:
    """Note the two unread events of the month and not those one millisecond outside."""
    books = make_database()
    books.migrate()
    times = {1: NOVEMBER.start - 1, 2: NOVEMBER.start, 3: NOVEMBER.end - 1, 4: NOVEMBER.end}
    unread = {"event": 0, "pallet": "Swapping", "name": "SwapExecuted", "fields": "{}", "reason": "unknown"}
    with books.writing() as connection:
        connection.execute(insert(schema.blocks), block_rows(times))
        connection.execute(insert(schema.unread), [unread | {"block": time} for time in times])
    november = LedgerStatement(books, NOVEMBER)
    assert list(november.lines()) == []
    assert november.notes == ["the statement lacks 2 unread events: `cfnode ledger show unread` lists them"]


def statement_totals_of_all(books: Database, day: Day) -> Counter[tuple[str, str]]:
    """Return the sums of a statement with the whole day in November."""
    in_november(books, day.head + 1)
    statement = LedgerStatement(books, NOVEMBER)
    list(statement.lines())
    in_november(books, day.head // 2)
    return statement_totals(statement)


@pytest.fixture
def books(day: Day, tmp_path: Path) -> str:
    """Return the URL of books of the day, in November 2026."""
    url = sqlite_url(tmp_path / "books.sqlite")
    database = Database(url)
    trio.run(followed, database, Source(day.url, first=1))
    in_november(database, day.head + 1)
    database.close()
    return url


def printed(books: str, form: str, *more: str) -> str:
    """Print a statement in a form; it says that the books end before the month."""
    code, text, err = run(
        "ledger", "statement", "--month", "2026-11", "--database", books, "--format", form, *more
    )
    assert code == 0, err
    assert "Not complete: the books end with block" in err
    return text


def test_each_format_has_the_same_lines_and_totals(
    books: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Write equal lines and totals as JSON, CSV, Parquet and text."""
    monkeypatch.setattr(parquet, "GROUP_LINES", 7)
    document: dict[str, Any] = json.loads(printed(books, "json"))
    lines, totals = document["lines"], document["totals"]
    assert lines
    assert (document["period"], document["title"]) == ("2026-11", "Statement of 2026-11, all accounts")
    assert (document["begins"], document["ends"]) == ("2026-11-01T00:00:00Z", "2026-11-30T23:59:59Z")
    csv_lines = csv_records(books, "csv", tmp_path)
    texts = [{name: "" if line[name] is None else str(line[name]) for name in COLUMNS} for line in lines]
    assert csv_lines == texts
    head = {"title": document["title"], "period": "2026-11", "account": "", "partner": ""}
    assert csv_records(books, "csv-totals", tmp_path) == [
        head | {name: "" if value is None else str(value) for name, value in total.items()}
        for total in totals
    ]
    path = tmp_path / "november.parquet"
    printed(books, "parquet", "--output", str(path))
    table = pyarrow.parquet.read_table(path)
    assert pyarrow.parquet.ParquetFile(path).num_row_groups == -(-len(lines) // 7)
    for name in ("block", "line", "amount", "units", "to_amount", "destination", "value", "valued_by"):
        values = [line[name] for line in lines]
        if name.endswith("amount") or name == "value":
            values = [None if value is None else Decimal(value) for value in values]
        assert table[name].to_pylist() == values, name
    about = json.loads(table.schema.metadata[b"cfnode.statement"]) if table.schema.metadata else None
    about = about or json.loads(pyarrow.parquet.read_metadata(path).metadata[b"cfnode.statement"])
    assert (about["totals"], about["period"]) == (totals, "2026-11")
    for record in (*lines, *totals):
        if record["amount"] is not None:
            assert Decimal(record["units"]).scaleb(ASSETS[record["asset"]].decimals) == int(record["amount"])
    text = printed(books, "table")
    (eth,) = (
        total
        for total in totals
        if (total["line"], total["asset"], total["to_asset"]) == ("swap", "Eth", "Btc")
    )
    assert f"{eth['units']} Eth -> {eth['to_units']} Btc\n" in text
    accounts = {line["account"] for line in lines if line["account"] is not None}
    assert accounts
    assert all(f" {account} " in text for account in accounts), text


def csv_records(books: str, form: str, folder: Path) -> list[dict[str, Any]]:
    """Return records of CSV by RFC 4180: each line ends with CR LF."""
    path = folder / f"november.{form}"
    printed(books, form, "--output", str(path))
    text = path.read_bytes().decode()
    assert text.endswith("\r\n")
    assert text.count("\n") == text.count("\r\n")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_the_guide(books: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the guide's commands as printed; each makes its file."""
    monkeypatch.chdir(tmp_path)
    commands = block(GUIDE, "cfnode ledger statement --month 2026-11")
    commands += block(GUIDE, "cfnode ledger statement --month 2026-11 --currency EUR")
    (tmp_path / "rates.csv").write_text("date,usd_per_eur\n2026-11-01,1.0876\n")
    for line in commands.splitlines():
        assert run(*line.split()[1:], "--database", books)[0] == 0, line
    names = ("november.csv", "november-totals.csv", "november.xlsx", "november.beancount")
    assert {*names} <= {path.name for path in tmp_path.iterdir()}


def test_a_file_is_written_whole_or_not_at_all(
    books: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep the old file where the writing fails, in each form, and leave no temporary one."""
    lines = LedgerStatement.lines

    def broken(self: LedgerStatement) -> Any:
        for count, line in enumerate(lines(self)):
            if count == 5:
                raise OSError(28, "No space left on device")
            yield line

    monkeypatch.setattr(LedgerStatement, "lines", broken)
    for form in ("csv", "csv-totals", "parquet", "json", "xlsx", "beancount", "ledger", "table"):
        path = tmp_path / f"statement.{form}"
        path.write_text("the old one")
        code, _, err = run("ledger", "statement", "--month", "2026-11", "--database", books, "--format", form,
                           "--output", str(path))  # fmt: skip
        assert (code, f"cannot write {path}: No space left" in err) == (1, True), err
        assert path.read_text() == "the old one"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_lines_are_read_page_by_page(books: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read at most a page of each table ahead of the line that is taken."""
    monkeypatch.setattr(pages, "FACT_PAGE_ROWS", 2)
    database, made = Database(books), 0

    class Counted(Line):
        def __init__(self, *values: Any) -> None:
            nonlocal made
            made += 1
            super().__init__(*values)

    Counted.__dataclass_fields__ = Line.__dataclass_fields__
    monkeypatch.setattr(lines_module, "Line", Counted)
    for taken, _ in enumerate(LedgerStatement(database, NOVEMBER).lines(), start=1):
        assert made <= taken + 2 * 4
    assert made == taken > 20


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (("--month", "2026-13"), 2, "not a month: write it as 2026-11"),
        (("--month", "November"), 2, "not a month: write it as 2026-11"),
        (("--month", "2026-11", "--format", "parquet"), 2, "needs --output FILE"),
        (("--month", "2026-11", "--format", "ods"), 2, "Choose from table, csv, csv-totals, json, xlsx"),
        (("--month", "2026-11", "--database", "sqlite:////no/such/x"), 4, "cannot create|no books"),
        (("--month", "2026-11", "--format", "xlsx"), 2, "needs --output FILE"),
        ((), 2, "name one period: --month 2026-11"),
        (("--month", "2026-11", "--day", "2026-11-25"), 2, "name one period"),
        (("--quarter", "2026-Q5"), 2, "not a quarter: write it as 2026-Q4"),
        (("--quarter", "2026-11"), 2, "not a quarter: write it as 2026-Q4"),
        (("--year", "26"), 2, "not a year: write it as 2026"),
        (("--year", "9999"), 2, "not a year: write it as 2026"),
        (("--year", "2998"), 2, "2998 is in the future"),
        (("--quarter", "2998-Q1"), 2, "2998-Q1 is in the future"),
        (("--month", "2998-01"), 2, "2998-01 is in the future"),
        (("--day", "2998-01-31"), 2, "2998-01-31 is in the future"),
        (("--month", "2026-11", "--currency", "euro"), 2, "is not a code: give one such as EUR"),
        (
            ("--month", "2026-11", "--currency", "EUR"),
            2,
            "needs --rates FILE: add it, CSV with date,usd_per_eur",
        ),
        (("--month", "2026-11", "--rates", "/dev/null"), 2, "--rates needs --currency"),
        (("--day", "2026-11-31"), 2, "not a day: write it as 2026-11-25"),
        (("--day", "2026-11-5"), 2, "not a day: write it as 2026-11-25"),
        (("--day", "2026-11"), 2, "not a day: write it as 2026-11-25"),
    ],
)
def test_refusals(line: tuple[str, ...], code: int, words: str) -> None:
    """Refuse malformed, future and missing periods, forms and currencies with what to write."""
    import re

    exit_code, out, err = run("ledger", "statement", *line)
    assert (exit_code, bool(re.search(words, out + err))) == (code, True), err


@pytest.mark.parametrize(
    ("form", "library", "words"),
    [
        ("parquet", "pyarrow", "Parquet needs pyarrow: pip install 'cfnode[parquet]'"),
        ("xlsx", "xlsxwriter", "XLSX needs XlsxWriter: pip install 'cfnode[xlsx]'"),
    ],
)
def test_without_its_library_a_format_names_the_extra(
    books: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, library: str, words: str
) -> None:
    """Name the package to install, and leave no file."""
    import sys

    monkeypatch.setitem(sys.modules, library, None)
    path = tmp_path / f"x.{form}"
    code, _, err = run("ledger", "statement", "--month", "2026-11", "--database", books, "--format", form,
                       "--output", str(path))  # fmt: skip
    assert (code, words in err) == (1, True)
    assert not path.exists()
