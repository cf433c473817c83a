"""Audit of the books: the tables are recomputed from the stored events, and compared row by row.

The second copy is an SQLite file in a temporary folder. Blocks, openings, gaps and prices do not follow from
events. Not compared are names and texts of module errors, which are in the metadata of a runtime, and in
books of chosen accounts the commissions, which need the credits of all accounts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Table, insert, select

from cfnode.ledger import schema, service_tables
from cfnode.ledger.books import ALL_ACCOUNTS, Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.decoding import DecodedBlock, DecodedEvent, fields_of

__all__ = ["TableDifference", "recomputed"]

COPIED: Final = ("ledger", "gaps", "openings")
NOT_OF_EVENTS: Final = (*COPIED, "blocks", "checks", "expectations", "prices", *service_tables.NAMES)
MODULE_ERROR: Final = "Module"
"""Name of a module error where the metadata is missing."""
PAGE_BLOCKS: Final = 500
"""Blocks that are read at once."""


@dataclass(frozen=True, slots=True)
class TableDifference:
    """Number of rows of a table that differ, and the block of the first."""

    table: str
    rows: int
    block: int

    def __str__(self) -> str:
        """Return the number of rows with their table and the first block."""
        return f"{self.rows} rows of {self.table}, the first of block {self.block}"


def recomputed(database: Database) -> list[TableDifference]:
    """Return the tables that differ from the rows of their events. Blocks for minutes: use a thread."""
    with tempfile.TemporaryDirectory(prefix="cfnode-ledger-") as folder, database.reading() as connection:
        copy = Database(sqlite_url(Path(folder) / "copy.sqlite"))
        try:
            keeps_all = Books(database).value("accounts") == ALL_ACCOUNTS
            _make_again(connection, copy, has_all_credits=keeps_all)
            with copy.reading() as copied:
                differences = [_compared(table, connection, copied) for table in _tables(keeps_all=keeps_all)]
        finally:
            copy.close()
    return [difference for difference in differences if difference.rows]


def _tables(*, keeps_all: bool) -> list[Table]:
    left_out = {*NOT_OF_EVENTS, *(() if keeps_all else ("commissions",))}
    return [table for name, table in schema.metadata.tables.items() if name not in left_out]


def _make_again(connection: Connection, copy: Database, *, has_all_credits: bool) -> None:
    copy.migrate()
    table = schema.blocks
    anchors = set(connection.execute(select(schema.openings.c.block).distinct()).scalars())
    anchors |= set(connection.execute(select(schema.gaps.c.last)).scalars())
    with copy.writing() as writing:
        for name in COPIED:
            rows = [dict(row) for row in connection.execute(select(schema.metadata.tables[name])).mappings()]
            if rows:
                writing.execute(insert(schema.metadata.tables[name]), rows)
    books, last, is_first = Books(copy, has_all_credits=has_all_credits), -1, True
    while rows := _blocks(connection, last):
        for row in rows:
            if is_first or (row["number"] in anchors and not _follows(books, row)):
                with copy.writing() as writing:
                    writing.execute(insert(table), row)
                is_first = False
                continue
            books.write([_block(connection, row)], {})
        last = rows[-1]["number"]


def _blocks(connection: Connection, after: int) -> list[dict[str, Any]]:
    table = schema.blocks
    query = select(table).where(table.c.number > after).order_by(table.c.number).limit(PAGE_BLOCKS)
    return [dict(row) for row in connection.execute(query).mappings()]


def _follows(books: Books, row: dict[str, Any]) -> bool:
    """Return whether a block's parent is the newest block, so that the block is no anchor behind a gap."""
    tip = books.tip()
    return tip is not None and tip.number + 1 == row["number"]


def _block(connection: Connection, row: dict[str, Any]) -> DecodedBlock:
    """Return a block with the events that the books have of it."""
    events: list[DecodedEvent] = []
    for table in (schema.events, schema.unread):
        query = select(table.c.event, table.c.pallet, table.c.name, table.c.fields)
        events += [
            DecodedEvent(event_row.event, event_row.pallet, event_row.name, fields_of(event_row.fields))
            for event_row in connection.execute(query.where(table.c.block == row["number"]))
        ]
    events.sort(key=lambda event: event.index)
    return DecodedBlock(
        row["number"], row["hash"], row["parent"], row["time"], row["spec_version"], tuple(events)
    )


def _compared(table: Table, connection: Connection, copied: Connection) -> TableDifference:
    count, first_block = 0, -1
    for ours, theirs in zip_longest(_rows(table, connection), _rows(table, copied)):
        if ours is None or theirs is None or not _equal(ours, theirs):
            count += 1
            if first_block < 0:
                first_block = min(row["block"] for row in (ours, theirs) if row is not None)
    return TableDifference(table.name, count, first_block)


def _rows(table: Table, connection: Connection) -> Iterator[dict[str, Any]]:
    query = select(table).order_by(*table.primary_key.columns).execution_options(yield_per=1_000)
    for row in connection.execute(query).mappings():
        yield dict(row)


def _equal(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    if theirs.get("reason") == MODULE_ERROR and ours.get("reason"):
        names = [name for name in ("reason", "explanation") if name in theirs]
        unknown: dict[str, Any] = {name: theirs[name] for name in names}
        return {**ours, **unknown} == theirs
    return ours == theirs
