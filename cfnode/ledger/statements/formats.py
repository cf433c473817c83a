"""Formats of a statement's file: name, end of the file's name, content type, and the writer."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Final, TextIO, cast

from cfnode.ledger.statements.journal import write_beancount, write_ledger
from cfnode.ledger.statements.lines import LedgerStatement
from cfnode.ledger.statements.parquet import write_parquet
from cfnode.ledger.statements.text import write_csv, write_csv_totals, write_json
from cfnode.ledger.statements.xlsx import write_xlsx

__all__ = ["FORMATS", "StatementFormat", "file_name"]


@dataclass(frozen=True, slots=True)
class StatementFormat:
    """Format of a file; `words` say what it is for."""

    name: str
    words: str
    suffix: str
    content_type: str
    write: Callable[[LedgerStatement, BinaryIO], None]
    is_text: bool = True


def _as_text(
    write: Callable[[LedgerStatement, TextIO], None], statement: LedgerStatement, file: BinaryIO
) -> None:
    # Not io.TextIOWrapper, which flushes the file, also after an error.
    write(statement, cast(TextIO, codecs.getwriter("utf-8")(file)))


_XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
FORMATS: Final = {
    form.name: form
    for form in (
        StatementFormat("csv", "CSV, lines", ".csv", "text/csv; charset=utf-8", partial(_as_text, write_csv)),
        StatementFormat(
            "csv-totals",
            "CSV, totals",
            "-totals.csv",
            "text/csv; charset=utf-8",
            partial(_as_text, write_csv_totals),
        ),
        StatementFormat("json", "JSON", ".json", "application/json", partial(_as_text, write_json)),
        StatementFormat("xlsx", "Excel", ".xlsx", _XLSX, write_xlsx, is_text=False),
        StatementFormat(
            "parquet", "Parquet", ".parquet", "application/vnd.apache.parquet", write_parquet, is_text=False
        ),
        StatementFormat(
            "beancount",
            "Journal for beancount",
            ".beancount",
            "text/plain; charset=utf-8",
            partial(_as_text, write_beancount),
        ),
        StatementFormat(
            "ledger",
            "Journal for ledger-cli",
            ".ledger",
            "text/plain; charset=utf-8",
            partial(_as_text, write_ledger),
        ),
    )
}
"""Formats by name."""


def file_name(statement: LedgerStatement, form: StatementFormat, *, is_whole: bool = True) -> str:
    """Return the name of a statement's file, such as `statement-2026-11-wallet.csv`.

    The name of one whose period has not ended in the books has `so-far`.
    """
    parts = ["statement", statement.period.text, statement.account, statement.partner]
    parts += [] if is_whole else ["so-far"]
    return "-".join(part for part in parts if part is not None) + form.suffix
