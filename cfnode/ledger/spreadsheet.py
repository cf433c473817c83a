"""CSV for spreadsheets: RFC 4180, and no cell that a spreadsheet takes for a formula.

A spreadsheet runs what begins with `=`, `+`, `-` or `@`, also after a tab or a line end. Such a text gets an
apostrophe before it, which spreadsheets take for the mark of a text.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from typing import Any, Final, TextIO

__all__ = ["CsvTable", "text_cell"]

_FORMULA_BEGINNINGS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


class CsvTable:
    """Writer of a table with a header; lines end with CR LF."""

    def __init__(self, file: TextIO, columns: Iterable[str]) -> None:
        self._writer = csv.DictWriter(file, list(columns), lineterminator="\r\n")
        self._writer.writeheader()

    def write(self, record: Mapping[str, Any]) -> None:
        """Write a record, whose members are those of the header; None is an empty cell."""
        self._writer.writerow(
            {name: text_cell(value) if isinstance(value, str) else value for name, value in record.items()}
        )


def text_cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA_BEGINNINGS) else text
