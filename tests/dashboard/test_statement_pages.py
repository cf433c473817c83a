"""Statements on the page: periods of the books, files as the command writes them, and a form with faults."""

from __future__ import annotations

import io
from pathlib import Path

import openpyxl
import pytest

from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.partners.registry import Partner, add
from cfnode.ledger.statements import CalendarPeriod, LedgerStatement
from cfnode.ledger.statements.formats import FORMATS
from tests.dashboard.visiting import visitor
from tests.support.dashboard.pages import text_of
from tests.support.ledger.broker_books import fill_books

ACCOUNT = "cFMTNSQQVfBo2HqtekvhLPfZY764kuJDVFG1EvnnDGYxc3LRW"


@pytest.fixture
def month(tmp_path: Path) -> Database:
    """Return books of November 2026, and a partner without swaps."""
    database = Database(sqlite_url(tmp_path / "month.sqlite"))
    fill_books(database)
    add(database, Partner("wallet", 25))
    return database


def file_of(database: Database, period: str, form: str, **chosen: str) -> bytes:
    """Return the file that the command would write."""
    out = io.BytesIO()
    FORMATS[form].write(LedgerStatement(database, CalendarPeriod.parse(period), **chosen), out)
    return out.getvalue()


async def test_the_page_has_a_link_for_each_period_of_the_books_and_each_format(month: Database) -> None:
    """Link each period since the first block, in each format, and mark the running one as "so far"."""
    with visitor(month) as (_, guest):
        await guest.log_in()
        text = await text_of(guest, "/statements")
        assert "2026-12 so far" in text
        assert "2026-11 Excel" in text.replace("2026-11 CSV, lines · CSV, totals · JSON · ", "2026-11 ")
        assert "2026-09" not in text
        page = (await guest.get("/statements")).text
        for period in ("2026-11", "2026-12", "2026-Q4", "2026"):
            for form in FORMATS:
                assert f"/web/statements/file?period={period}&amp;format={form}" in page


@pytest.mark.parametrize("form", [name for name in FORMATS if name not in ("xlsx", "parquet")])
@pytest.mark.parametrize("period", ["2026-11", "2026-Q4"])
async def test_a_file_is_the_one_that_the_command_writes(month: Database, form: str, period: str) -> None:
    """Serve the bytes that the command writes, with type, name and "so-far" for an unfinished period."""
    with visitor(month) as (_, guest):
        await guest.log_in()
        answer = await guest.get(f"/statements/file?period={period}&format={form}")
        assert answer.status_code == 200
        assert answer.content == file_of(month, period, form)
        assert len(answer.content) > 200
        assert answer.headers["content-type"] == FORMATS[form].content_type
        name = f"statement-{period}{'' if period == '2026-11' else '-so-far'}{FORMATS[form].suffix}"
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_spreadsheet_of_one_partner_is_read_by_others(month: Database) -> None:
    """Serve a workbook that openpyxl reads, of one partner only, here without lines."""
    with visitor(month) as (_, guest):
        await guest.log_in()
        answer = await guest.get("/statements/file?period=2026-11&partner=wallet&format=xlsx")
        assert answer.headers["content-disposition"] == 'attachment; filename="statement-2026-11-wallet.xlsx"'
        book = openpyxl.load_workbook(io.BytesIO(answer.content))
        assert book["Statement"]["B1"].value == "Statement of 2026-11, partner wallet"
        assert book["Lines"].max_row == 1


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("period=&format=csv", "Write a month, 2026-11, a quarter"),
        ("period=2026-13&format=csv", "Write a month, 2026-11, a quarter"),
        ("period=2998-01&format=csv", "2998-01 is in the future."),
        ("period=2026-11&format=exe", "Choose a format of the list."),
        ("period=2026-11&format=csv&partner=unknown", "Choose a partner of the list."),
        ("period=2026-11&format=csv&account=cFx", "Write an account of the State Chain"),
    ],
)
async def test_a_form_with_a_fault_keeps_what_was_typed(month: Database, query: str, words: str) -> None:
    """Answer 400 with the field's fault, keep what was typed, and escape it."""
    with visitor(month) as (_, guest):
        await guest.log_in()
        answer = await guest.get(f"/statements/file?{query}&account={ACCOUNT}" if "account" not in query else
                                 f"/statements/file?{query}")  # fmt: skip
        assert answer.status_code == 400
        assert words in answer.text
        for field in query.split("&"):
            name, _, typed = field.partition("=")
            assert name == "format" or f'name="{name}" maxlength="100" value="{typed}"' in answer.text
        hostile = await guest.get('/statements/file?period="><script>alert(1)</script>&format=csv')
        assert (hostile.status_code, "<script>alert" in hostile.text) == (400, False)


async def test_statements_need_a_session_and_their_library(
    month: Database, empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redirect without a session; name the package for a missing library, and say that books are empty."""
    import sys

    with visitor(month) as (_, guest):
        for path in ("/statements", "/statements/file?period=2026-11&format=csv"):
            answer = await guest.get(path)
            assert (answer.status_code, answer.headers["location"]) == (303, "/web/login")
        await guest.log_in()
        monkeypatch.setitem(sys.modules, "xlsxwriter", None)
        answer = await guest.get("/statements/file?period=2026-11&format=xlsx")
        assert (answer.status_code, "pip install" in answer.text, "cfnode[xlsx]" in answer.text) == (
            503,
            True,
            True,
        )
    with visitor(empty) as (_, guest):
        await guest.log_in()
        assert "The books are empty." in await text_of(guest, "/statements")
        answer = await guest.get("/statements/file?period=2026-11&format=csv")
        assert (answer.status_code, "the books are empty" in answer.text) == (503, True)
