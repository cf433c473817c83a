"""XLSX files of statements: a sheet with head, totals and notes, and sheets with the lines.

A spreadsheet's number has 15 digits. So amounts in smallest units are text, exact to the unit; amounts in
whole units and values are numbers, for sums. No cell is a formula. Rows go to temporary files as they are
read, so memory does not grow with the statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, BinaryIO, Final

from cfnode.ledger.errors import LedgerError, MissingLibrary
from cfnode.ledger.statements.lines import COLUMNS, LedgerStatement, Line, value_text
from cfnode.ledger.statements.text import TOTAL_COLUMNS

__all__ = ["write_xlsx"]

SHEET_LINES: Final = 1_000_000
"""Lines of a sheet, which may have 1,048,576 rows."""
_HEAD: Final = {
    "title": "Title",
    "period": "Period",
    "begins": "Begins (UTC)",
    "ends": "Ends (UTC)",
    "account": "Account",
    "partner": "Partner",
    "currency": "Currency",
}
_NUMBERS: Final = ("units", "to_units", "value")
_WIDTHS: Final = {
    "time": 19,
    "account": 50,
    "destination": 44,
    "channel_id": 24,
    "amount": 24,
    "to_amount": 24,
}
DEFAULT_WIDTH: Final = 14


def write_xlsx(statement: LedgerStatement, file: BinaryIO) -> None:
    """Write the statement. Raises MissingLibrary without XlsxWriter, LedgerError, OSError."""
    try:
        from xlsxwriter import Workbook
    except ImportError:
        raise MissingLibrary("XLSX needs XlsxWriter: pip install 'cfnode[xlsx]'") from None
    options = {"constant_memory": True, "remove_timezone": True}
    book = Workbook(file, options)
    book.set_properties({"title": statement.title})
    first = _Sheet(book, "Statement")
    _write_lines(book, statement)
    _write_summary(first, statement)
    book.close()


class _Sheet:
    """Sheet that is written row by row."""

    def __init__(self, book: Any, name: str) -> None:
        self.sheet, self.rows = book.add_worksheet(name), 0
        self._bold, self._time = (
            book.add_format({"bold": True}),
            book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        )

    def write(self, cells: Iterable[Any], *, is_bold: bool = False) -> None:
        """Write a row: texts as texts, numbers and times as such; None is an empty cell."""
        for column, value in enumerate(cells):
            fault = 0
            if isinstance(value, str):
                format_ = self._bold if is_bold else None
                fault = self.sheet.write_string(self.rows, column, value, format_)
            elif isinstance(value, datetime):
                fault = self.sheet.write_datetime(self.rows, column, value, self._time)
            elif value is not None:
                fault = self.sheet.write_number(self.rows, column, value)
            if fault:
                raise LedgerError(f"a cell is too long for XLSX: {str(value)[:40]}…: use another format")
        self.rows += 1


def _write_lines(book: Any, statement: LedgerStatement) -> None:
    """Write the lines, each `SHEET_LINES` in a sheet; an empty statement has a sheet with the header."""
    sheet, number = _lines_sheet(book, 1), 1
    for line in statement.lines():
        if sheet.rows > SHEET_LINES:
            number += 1
            sheet = _lines_sheet(book, number)
        sheet.write(_cells(line))


def _lines_sheet(book: Any, number: int) -> _Sheet:
    sheet = _Sheet(book, "Lines" if number == 1 else f"Lines {number}")
    _set_widths(sheet, COLUMNS)
    sheet.sheet.freeze_panes(1, 0)
    sheet.write(COLUMNS, is_bold=True)
    return sheet


def _set_widths(sheet: _Sheet, columns: Sequence[str]) -> None:
    for place, name in enumerate(columns):
        sheet.sheet.set_column(place, place, _WIDTHS.get(name, DEFAULT_WIDTH))


def _cells(line: Line) -> Iterator[Any]:
    for name in COLUMNS:
        value = getattr(line, name)
        if name == "time":
            yield datetime.fromtimestamp(value // 1000, UTC)
        elif name in ("amount", "to_amount"):
            yield None if value is None else str(value)
        else:
            yield _number(value_text(value) if name == "value" else value, name)


def _number(value: Any, name: str) -> Any:
    """Return a text of digits as a number, in the columns that have numbers."""
    return float(value) if name in _NUMBERS and value is not None else value


def _write_summary(sheet: _Sheet, statement: LedgerStatement) -> None:
    _set_widths(sheet, TOTAL_COLUMNS)
    head = statement.head
    for name, words in _HEAD.items():
        if head[name] is not None:
            sheet.write((words, head[name]), is_bold=name == "title")
    sheet.write(())
    sheet.write(TOTAL_COLUMNS, is_bold=True)
    for total in statement.totals:
        document = total.document()
        sheet.write(_number(document[name], name) for name in TOTAL_COLUMNS)
    sheet.write(())
    for remark in statement.remarks:
        sheet.write((remark,))
