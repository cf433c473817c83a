"""Unread events, whose fields this version cannot read, and their reading by a later version.

A runtime that is newer or older than this version may emit them; they wait in the table `unread`. A later
version of cfnode that can read them goes back to the first one, and follows again from there. Where no node
has that block's state any more, only the events themselves are read again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import trio
from sqlalchemy import Connection, Table, delete, func, select

from cfnode.ledger import schema
from cfnode.ledger.block_rows import insert_rows
from cfnode.ledger.books import Books, known_of
from cfnode.ledger.chain import ChainReader
from cfnode.ledger.database import Database
from cfnode.ledger.day_totals import forget_totals
from cfnode.ledger.decoding import DecodedBlock, DecodedEvent, fields_of
from cfnode.ledger.openings import note_openings
from cfnode.ledger.rows import Rows, rows_of
from cfnode.ledger.webhooks.outbox import WebhookOutbox

__all__ = ["DISCARD_MARGIN_BLOCKS", "UnreadKind", "read_unread", "unread_kinds"]

log = logging.getLogger("cfnode.ledger")
DISCARD_MARGIN_BLOCKS = 8
"""Blocks whose states a node may discard while older ones are looked for or read."""


@dataclass(frozen=True, slots=True)
class UnreadKind:
    """Unread events of one kind: how many, and block and reason of the first."""

    kind: str
    count: int
    block: int
    reason: str

    def __str__(self) -> str:
        """Return the number of events with their kind, the first block and the reason."""
        return f"{self.count} events {self.kind} since block {self.block}: {self.reason}"


def unread_kinds(database: Database) -> list[UnreadKind]:
    """Return the kinds of unread events, the oldest first. Blocks: call it in a thread."""
    table = schema.unread.c
    groups = select(table.pallet, table.name, func.count(), func.min(table.block))
    kinds = []
    with database.reading() as connection:
        for pallet, name, count, first in connection.execute(groups.group_by(table.pallet, table.name)):
            conditions = (table.pallet == pallet, table.name == name, table.block == first)
            reason = select(table.reason).where(*conditions).order_by(table.event).limit(1)
            kind = f"{pallet}.{name}"
            kinds.append(UnreadKind(kind, count, first, connection.execute(reason).scalar() or ""))
    return sorted(kinds, key=lambda kind: (kind.block, kind.kind))


async def read_unread(books: Books, readers: Sequence[ChainReader]) -> None:
    """Go back to the first unread event that this version can read, if a node has the states since then.

    Otherwise read only these events again.
    """
    first = await trio.to_thread.run_sync(_first_readable, books)
    if first is None:
        return
    for reader in readers:
        if await reader.has_state(max(first - DISCARD_MARGIN_BLOCKS, 0)):
            log.info("Going back to block %d: this version can read an event of it", first)
            await trio.to_thread.run_sync(books.go_back, first)
            return
    count = await trio.to_thread.run_sync(_read_alone, books)
    log.warning(
        "Read %d events again, the first of block %d. No node still has that block's state, so rows of later "
        "events that depend on these did not change: build new books with --archive to complete them",
        count,
        first,
    )


def _first_readable(books: Books) -> int | None:
    """Return the first block with an unread event that this version can read; None without one."""
    with books.database.reading() as connection:
        for block, unread in _blocks(connection):
            if unread - _still_unread(rows_of(block, known_of(connection))):
                return block.number
    return None


def _read_alone(books: Books) -> int:
    """Add the facts of the unread events that this version can read; return how many these events are."""
    table, count = schema.unread, 0
    with books.database.writing() as connection:
        for block, unread in list(_blocks(connection)):
            rows = rows_of(block, known_of(connection))
            read_events = unread - _still_unread(rows)
            for event in read_events:
                conditions = (table.c.block == block.number, table.c.event == event)
                connection.execute(delete(table).where(*conditions))
            read_rows = {
                name: [row for row in table_rows if row["event"] in read_events]
                for name, table_rows in rows.items()
            }
            insert_rows(connection, read_rows)
            if read_rows.get("channels"):
                note_openings(connection, block.number)
            forget_totals(connection, block.number)
            newest = connection.execute(select(func.max(schema.blocks.c.number))).scalar_one()
            WebhookOutbox(connection).note(newest, time.time_ns() // 1_000_000, read_rows)
            count += len(read_events)
    books.forget()
    return count


def _still_unread(rows: Rows) -> set[int]:
    return {row["event"] for row in rows.get("unread", ())}


def _blocks(connection: Connection) -> Iterator[tuple[DecodedBlock, set[int]]]:
    """Yield each block with unread events, as the books have it, and the indexes of these events."""
    numbers = select(schema.unread.c.block).distinct().order_by(schema.unread.c.block)
    for number in list(connection.execute(numbers).scalars()):
        unread = _events(connection, schema.unread, number)
        events = sorted([*unread, *_events(connection, schema.events, number)], key=lambda event: event.index)
        yield DecodedBlock(number, "", "", 0, 0, tuple(events)), {event.index for event in unread}


def _events(connection: Connection, table: Table, number: int) -> list[DecodedEvent]:
    rows = connection.execute(
        select(table.c.event, table.c.pallet, table.c.name, table.c.fields).where(table.c.block == number)
    )
    return [DecodedEvent(row.event, row.pallet, row.name, fields_of(row.fields)) for row in rows]
