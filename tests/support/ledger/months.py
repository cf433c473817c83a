"""Books whose blocks have times in one month."""

from __future__ import annotations

from sqlalchemy import update

from cfnode.ledger import schema
from cfnode.ledger.database import Database
from cfnode.ledger.statements import CalendarPeriod
from tests.ledger.contents import rows

NOVEMBER = CalendarPeriod.parse("2026-11")


def in_november(books: Database, until: int) -> None:
    """Give the blocks times in November 2026, and those from `until` on in December."""
    table = schema.blocks.c
    with books.writing() as connection:
        for row in rows(books, "blocks"):
            at = NOVEMBER.start - 1 if row["number"] == 0 else NOVEMBER.start + row["number"] - 1
            at = NOVEMBER.end + row["number"] - until if row["number"] >= until else at
            connection.execute(update(schema.blocks).where(table.number == row["number"]).values(time=at))
