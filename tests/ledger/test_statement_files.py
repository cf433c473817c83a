"""Statements for an accountant: values of lines, rates, and files that others read, with the books' sums."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from datetime import UTC
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from cfnode.core.assets import ASSETS
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.statements import CalendarPeriod, LedgerStatement, xlsx
from cfnode.ledger.statements.formats import FORMATS, file_name
from cfnode.ledger.statements.rates import read_rates
from tests.ledger.conftest import MakeDatabase
from tests.support.cli.commands import run
from tests.support.ledger.blocks import NOVEMBER
from tests.support.ledger.broker_books import BROKER, HOSTILE, fill_books

RATE = "date,usd_per_eur"
RATES = f"{RATE}\n2026-11-02,1.25\n2026-11-06,1.5\n2026-11-09,1.6\n2026-11-19,2\n"


@pytest.fixture
def books(make_database: MakeDatabase) -> Database:
    """Return books of the month, on each kind of database."""
    database = make_database()
    fill_books(database)
    return database


@pytest.fixture
def sqlite_books(tmp_path: Path) -> Database:
    """Return books of the month in SQLite, for what does not depend on the database."""
    database = Database(sqlite_url(tmp_path / "books.sqlite"))
    fill_books(database)
    return database


def written(statement: LedgerStatement, form: str) -> bytes:
    """Return the file of a statement."""
    file = io.BytesIO()
    FORMATS[form].write(statement, file)
    return file.getvalue()


def totals_of(statement: LedgerStatement) -> Counter[tuple[str, ...]]:
    """Return sums of the lines, by line, kind, state and asset; a swap's output apart."""
    sums = Counter[tuple[str, ...]]()
    for line in statement.lines():
        sums[line.line, line.kind, line.state or "", line.asset] += line.amount or 0
        if line.to_asset is not None:
            sums["bought", line.kind, line.state or "", line.to_asset] += line.to_amount or 0
    return sums


def test_each_line_has_its_value(books: Database) -> None:
    """Value each line by its swap, as dollars or by the pool, and remark what has no price."""
    statement = LedgerStatement(books, NOVEMBER)
    valued_lines = {(line.line, line.kind, line.block, line.place): (line.value, line.valued_by)
             for line in statement.lines()}  # fmt: skip
    assert valued_lines["swap", "chunk", 3, 0] == (6_000_000_000, "swap")
    assert valued_lines["fee", "network", 3, 0] == (6_000_001, "usdc")
    assert valued_lines["fee", "transaction", 10, 0] in ((1_999_999_999, "pool"), (2_000_000_000, "pool"))
    assert valued_lines["fee", "opening", 10, 0] == (None, None)
    assert valued_lines["commission", "broker", 3, 1] == (1, "usdc")
    assert statement.unvalued == {"Flip": 1}
    assert statement.notes == []
    assert statement.remarks == [
        "Without a value: 1 lines with Flip, since the books have no price of Flip in the week before"
    ]
    for total in statement.totals:
        lines = [line for line in statement.lines() if (line.line, line.kind, line.asset, line.state) ==
                 (total.line, total.kind, total.asset, total.state)]  # fmt: skip
        values = [line.value for line in lines if line.value is not None]
        assert total.value == (sum(values) if values else None)


def test_a_price_is_of_the_block_else_the_newest_before_of_a_week(
    books: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Value FLIP by the newest price of a week before, and not by an older one."""
    from cfnode.ledger.statements import values

    def value() -> int | None:
        return next(
            line.value for line in LedgerStatement(books, NOVEMBER).lines() if line.kind == "transaction"
        )

    monkeypatch.setattr(values, "MAX_PRICE_AGE_BLOCKS", 8)
    assert value() is not None
    monkeypatch.setattr(values, "MAX_PRICE_AGE_BLOCKS", 7)
    assert value() is None


def test_values_in_euros_are_by_the_rate_of_the_newest_day(sqlite_books: Database, tmp_path: Path) -> None:
    """Convert by the newest rate before a day, from a table of either direction or of the central bank."""
    path = tmp_path / "rates.csv"
    path.write_text(RATES)
    statement = LedgerStatement(sqlite_books, NOVEMBER, rates=read_rates(path, "EUR"))
    values = {(line.kind, line.block, line.place): line.value for line in statement.lines()}
    assert values["chunk", 3, 0] == 4_800_000_000
    assert values["broker", 3, 0] == 9_600_000
    assert values["egress", 20, 0] == 250_000
    path.write_text("date,eur_per_usd\n2026-11-02,0.8\n2026-11-09,0.625\n2026-11-19,0.5\n")
    inverse = LedgerStatement(sqlite_books, NOVEMBER, rates=read_rates(path, "EUR"))
    assert {(line.kind, line.block, line.place): line.value for line in inverse.lines()} == values
    bank = "Date,USD,JPY,\n2026-11-19,2,1,\n2026-11-09,1.6,N/A,\n2026-11-03,N/A,1,\n2026-11-02,1.25,9,\n"
    path.write_text(bank)
    of_bank = LedgerStatement(sqlite_books, NOVEMBER, rates=read_rates(path, "EUR"))
    assert {(line.kind, line.block, line.place): line.value for line in of_bank.lines()} == values
    document = json.loads(written(of_bank, "json"))
    assert {part["currency"] for part in (document, *document["lines"], *document["totals"])} == {"EUR"}


GAP = "has no rate of EUR for 2026-11-{:02}, nor for the 7 days before: add that day"


@pytest.mark.parametrize(
    ("header", "lines", "words"),
    [
        ("", "", "is empty"),
        ("day;rate", "", "line 1: expected the header date,usd_per_eur"),
        (
            "date;usd_per_eur",
            "2026-11-01;1,25",
            "line 1: expected the header date,usd_per_eur .* with commas",
        ),
        ("Date,JPY,", "2026-11-03,1,", "line 1: expected the header"),
        ("date,usd_per_gbp", "2026-11-01,1.3", "has usd_per_gbp, and the statement needs usd_per_eur"),
        ("date,eur_per_eur", "2026-11-01,1.3", "has eur_per_eur, and the statement needs usd_per_eur"),
        (RATE, "", "has no rates"),
        (RATE, "2026-11-01,1,25", "line 2: expected 2 cells, not 3: write decimals with a point"),
        (RATE, '2026-11-01,"1,25"', "line 2: '1,25' is not a rate .*: write decimals with a point"),
        (RATE, "2026-11-01", "line 2: expected 2 cells, not 1"),
        (RATE, "2026-11-01,1.2\n\n2026-11-01,1.2", "line 4: 2026-11-01 has a rate already"),
        (RATE, "01.11.2026,1.2", "line 2: '01.11.2026' is not a day"),
        (RATE, "2026-11-31,1.2", "line 2: '2026-11-31' is not a day"),
        (RATE, "2026-11-01,0", "line 2: '0' is not a rate"),
        (RATE, "2026-11-01,0.000", "line 2: '0.000' is not a rate"),
        (RATE, "2026-11-01,-1", "line 2: '-1' is not a rate"),
        (RATE, "2026-11-01,nan", "line 2: 'nan' is not a rate"),
        (RATE, "2026-11-01,1e3", "line 2: '1e3' is not a rate"),
        (RATE, "2026-10-01,1.2", GAP.format(3)),
        (RATE, "2026-11-04,1.2", GAP.format(3)),
        (RATE, "2026-11-03,1\n2026-11-12,1", GAP.format(20)),
    ],
)
def test_a_wrong_file_of_rates_is_refused_with_its_line(
    sqlite_books: Database, tmp_path: Path, header: str, lines: str, words: str
) -> None:
    """Name the line and the fault of a file of rates, or the days that it lacks."""
    path = tmp_path / "rates.csv"
    path.write_text(f"{header}\n{lines}\n" if header else "")
    with pytest.raises(LedgerError, match=words):
        list(LedgerStatement(sqlite_books, NOVEMBER, rates=read_rates(path, "EUR")).lines())


def test_rates_of_the_bank_are_for_one_euro(tmp_path: Path) -> None:
    """Refuse the central bank's rates for another currency than euros, and a file that is not UTF-8."""
    path = tmp_path / "rates.csv"
    path.write_text("Date,USD,\n2026-11-03,1.2,\n")
    with pytest.raises(LedgerError, match="has dollars for one EUR, not for one GBP"):
        read_rates(path, "GBP")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LedgerError, match="is not CSV in UTF-8"):
        read_rates(path, "EUR")


def test_a_spreadsheet_has_the_books_to_the_unit_and_no_formula(
    books: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Write a workbook that openpyxl reads: texts of whole amounts, sheets of ten lines, no formula."""
    monkeypatch.setattr(xlsx, "SHEET_LINES", 10)
    statement = LedgerStatement(books, NOVEMBER, BROKER)
    book = openpyxl.load_workbook(io.BytesIO(written(statement, "xlsx")))
    assert book.sheetnames == ["Statement", "Lines", "Lines 2"]
    assert [cell.data_type for sheet in book for row in sheet for cell in row].count("f") == 0
    rows = [record for sheet in book.worksheets[1:] for record in records(sheet.values)]
    lines = list(LedgerStatement(books, NOVEMBER, BROKER).lines())
    assert [(row["line"], row["amount"], row["to_amount"], row["destination"]) for row in rows] == [
        (line.line, text(line.amount), text(line.to_amount), line.destination) for line in lines
    ]
    for row, line in zip(rows, lines, strict=True):
        assert row["time"].replace(tzinfo=UTC).timestamp() * 1000 == line.time
        assert row["units"] == (None if line.units is None else float(line.units))
        assert row["value"] == (None if line.value is None else line.value / 10**6)
    summary = list(book["Statement"].values)
    head = dict(row[:2] for row in summary[:6])
    assert head["Title"] == f"Statement of 2026-11, account {BROKER}"
    assert (head["Period"], head["Account"], head["Currency"]) == ("2026-11", BROKER, "USD")
    amounts = {(record["line"], record["kind"], record["state"] or "", record["asset"]): int(record["amount"])
             for record in records(summary[7:]) if record["asset"] is not None}  # fmt: skip
    sums = totals_of(LedgerStatement(books, NOVEMBER, BROKER))
    assert amounts == {key: amount for key, amount in sums.items() if key[0] != "bought"}
    assert "Without a value: 1 lines with Flip" in str(summary[-1][0])


def text(amount: int | None) -> str | None:
    """Return an amount as text, None for none."""
    return None if amount is None else str(amount)


def records(rows: Any) -> list[dict[str, Any]]:
    """Return rows by the names of the first one."""
    names, *following = rows
    return [dict(zip(names, row, strict=True)) for row in following]


def test_no_cell_of_csv_is_a_formula_and_each_text_comes_back(books: Database) -> None:
    """Escape cells that a spreadsheet would run, and lose no letter of them."""
    data = written(LedgerStatement(books, NOVEMBER), "csv").decode()
    table = list(csv.DictReader(io.StringIO(data, newline="")))
    payouts = [row["destination"] for row in table if (row["line"], row["kind"]) == ("payout", "swap")]
    assert [payout.removeprefix("'") for payout in payouts] == list(HOSTILE)
    assert not [cell for row in table for cell in row.values() if cell[:1] in tuple("=+-@\t\r\n")]
    assert not re.search("(?<!\r)\n(?!lines)", data)
    code, printed, _ = run(
        "ledger", "show", "payouts", "--csv", "--database", books._engine.url.render_as_string(False)
    )
    assert (code, "'=HYPERLINK" in printed, ",=HYPERLINK" in printed) == (0, True, False)


POSTING = re.compile(r"    ([A-Z][A-Za-z0-9:-]+)  (-?[0-9.]+) ([A-Z]+)(?: @@ ([0-9.]+) USD)?")
DECIMALS = {name.upper(): asset.decimals for name, asset in ASSETS.items()}


def postings(transaction: str) -> list[tuple[str, int, str]]:
    """Return account, amount in smallest units, and commodity of each posting of a transaction."""
    lines = [line for line in transaction.splitlines() if line.startswith("    ") and ";" not in line]
    matches = [POSTING.fullmatch(line) for line in lines]
    return [
        (match[1], int(Decimal(match[2]).scaleb(DECIMALS[match[3]])), match[3])
        for match in matches
        if match is not None or pytest.fail(transaction)
    ]


def account_of(line: str, kind: str, state: str, asset: str) -> str:
    """Return the account that has the total."""
    if kind == "withdrawal":
        return "Assets:Withdrawn"
    of_line = {
        "swap": "Sold",
        "bought": "Bought",
        "payout": f"Payouts:{kind.capitalize()}:{state.capitalize()}",
    }
    if line in of_line:
        return f"Equity:Swaps:{of_line[line]}"
    if line == "commission":
        return "Income:Commissions"
    root = "Equity:Swaps" if kind in ("network", "ingress") else "Expenses"
    return f"{root}:Fees:{kind.capitalize()}"


@pytest.mark.parametrize("form", ["beancount", "ledger"])
def test_a_journal_balances_and_its_accounts_have_the_totals_of_the_books(books: Database, form: str) -> None:
    """Balance each transaction of a journal, and give each account its total of the books."""
    journal = written(LedgerStatement(books, NOVEMBER), form).decode()
    balances = Counter[tuple[str, str]]()
    for transaction in journal.split("\n\n"):
        sums = Counter[str]()
        for account, amount, commodity in postings(transaction):
            sums[commodity] += amount
            balances[account, commodity] += amount
        assert set(sums.values()) <= {0}, transaction
    expected = Counter[tuple[str, str]]()
    for key, amount in totals_of(LedgerStatement(books, NOVEMBER)).items():
        expected[account_of(*key), key[3].upper()] += (
            -amount if key[0] in ("bought", "commission") else amount
        )
    others = ("Equity:Swaps:Customers", "Assets:Chainflip")
    own_balances = Counter({key: amount for key, amount in balances.items() if not key[0].startswith(others)})
    assert own_balances == expected
    assert len(+expected) > 5
    own = f"Assets:Chainflip:Account-{BROKER}"
    assert balances[own, "USDC"] == 12_000_000 - 500_000 - 11_500_000
    assert balances[own, "FLIP"] == -5
    assert "Without a value: 1 lines with Flip" in journal
    if form == "beancount":
        opened = re.findall(r"^2026-11-01 open (\S+)$", journal, re.MULTILINE)
        assert sorted(opened) == sorted({account for account, _ in balances})


def test_months_add_up_to_their_quarter_and_quarters_to_their_year(books: Database) -> None:
    """Join months and quarters without a gap or an overlap; their lines make up the year's."""
    months = [CalendarPeriod.parse(f"2026-{number:02}") for number in range(1, 13)]
    quarters = [CalendarPeriod.parse(f"2026-Q{number}") for number in range(1, 5)]
    year = CalendarPeriod.parse("2026")
    for parts in (months, quarters):
        assert [part.start for part in parts] == [year.start, *(part.end for part in parts[:-1])]
        assert parts[-1].end == year.end
    assert (quarters[3].start, quarters[0].end) == (months[9].start, months[3].start)
    lines = list(LedgerStatement(books, year).lines())
    assert len(lines) > 15
    assert lines == list(LedgerStatement(books, quarters[3]).lines())
    assert lines == [line for month in months for line in LedgerStatement(books, month).lines()]


def test_the_name_of_a_file_has_the_period_and_whose_it_is(sqlite_books: Database) -> None:
    """Put period, partner and form into the name of a file."""
    of_wallet = LedgerStatement(sqlite_books, CalendarPeriod.parse("2026-Q4"), partner="wallet")
    assert file_name(of_wallet, FORMATS["csv-totals"]) == "statement-2026-Q4-wallet-totals.csv"
    assert of_wallet.title == "Statement of 2026-Q4, partner wallet"
