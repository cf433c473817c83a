"""Rows of some blocks, written in one transaction.

While the books catch up, a transaction for each block would take more time than the rows. So some blocks
share one: it has all of their rows, or, after a kill or a fault, none. Rows wait until a look-up may need
them, or until the transaction ends, and are inserted together.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Insert, bindparam, func, insert, select

from cfnode.ledger import schema
from cfnode.ledger.chain import Head
from cfnode.ledger.decoding import DecodedBlock
from cfnode.ledger.errors import WrongNodeChain
from cfnode.ledger.heights import note_heights
from cfnode.ledger.partners.replaced import follow_replaced, replaced_by
from cfnode.ledger.prices import Price
from cfnode.ledger.rows import Known, Rows, rows_of
from cfnode.ledger.updates import announce
from cfnode.ledger.webhooks.outbox import WebhookOutbox
from cfnode.swaps.identity import ChannelId

__all__ = ["BLOCK_HASH", "block_row", "insert_rows", "other_block", "parts", "tip_of", "write_blocks"]

MAX_TRANSACTION_BLOCKS: Final = 32
MAX_TRANSACTION_EVENTS: Final = 1_000
"""Most blocks, and most events, of one transaction, unless one block has more: other processes that write
wait until it ends."""

BLOCK_HASH: Final = select(schema.blocks.c.hash).where(schema.blocks.c.number == bindparam("block"))
_TIP: Final = select(schema.blocks.c.number, schema.blocks.c.hash).where(
    schema.blocks.c.number == select(func.max(schema.blocks.c.number)).scalar_subquery()
)
"""Statements that are made once, since each transaction needs them."""


def parts(blocks: Sequence[DecodedBlock]) -> Iterator[Sequence[DecodedBlock]]:
    """Yield the blocks in parts, in their order, each for one transaction."""
    start = events = 0
    for place, block in enumerate(blocks):
        is_full = place - start == MAX_TRANSACTION_BLOCKS or (
            events + len(block.events) > MAX_TRANSACTION_EVENTS
        )
        if is_full and place > start:
            yield blocks[start:place]
            start, events = place, 0
        events += len(block.events)
    if start < len(blocks):
        yield blocks[start:]


def write_blocks(
    connection: Connection,
    known: Known,
    blocks: Sequence[DecodedBlock],
    prices: Mapping[int, Sequence[Price]],
) -> list[dict[str, Any]]:
    """Write those of the blocks that continue the books, and return their rows of `unread`.

    Raises WrongNodeChain.
    """
    written = _continuing(connection, blocks)
    if not written:
        return []
    waiting, outbox, now = _WaitingRows(connection), WebhookOutbox(connection), time.time_ns() // 1_000_000
    known.at(connection, waiting.insert)
    for block in written:
        rows = rows_of(block, known)
        if rows:
            _add_prices(rows, block.number, prices.get(block.number, ()))
        waiting.add(block, rows)
        _follow_replaced(connection, waiting, rows)
        if outbox.concerns(rows):
            waiting.insert()
            outbox.note(block.number, now, rows)
        if passing := outbox.passing(block, rows):
            waiting.insert()
            outbox.note_expired(block.number, now, passing)
    waiting.insert()
    note_heights(connection, written)
    announce(connection, written[-1].number)
    return waiting.unread


def _follow_replaced(connection: Connection, waiting: _WaitingRows, rows: Rows) -> None:
    """Give the opened channels of a block what the swap service stored under ids that a fork has replaced."""
    for row in rows.get(schema.channels.name, ()):
        channel = ChannelId(row["chain"], row["channel"], row["block"])
        answers = replaced_by(connection, channel) if row["kind"] == "swap" else []
        if answers:
            waiting.insert()
            opening = next(event for event in rows[schema.events.name] if event["event"] == row["event"])
            follow_replaced(connection, channel, opening["fields"], answers)


class _WaitingRows:
    """Rows of blocks that are inserted together, before they are looked up."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: Rows = defaultdict(list)
        self.unread: list[dict[str, Any]] = []

    def add(self, block: DecodedBlock, rows: Rows) -> None:
        """Add the rows of a block."""
        self._rows[schema.blocks.name].append(block_row(block))
        for name, values in rows.items():
            self._rows[name] += values
        self.unread += rows.get(schema.unread.name, ())

    def insert(self) -> None:
        """Insert all rows that wait."""
        insert_rows(self._connection, self._rows)
        self._rows.clear()


def _continuing(connection: Connection, blocks: Sequence[DecodedBlock]) -> list[DecodedBlock]:
    """Return the blocks that come directly after the newest one of the books, in their order.

    Blocks of the books are left out; so are blocks behind a gap that another process is filling. Raises
    WrongNodeChain if the books have another block with the number of one of these, or of a parent.
    """
    newest, continuing = tip_of(connection), list[DecodedBlock]()
    for block in blocks:
        if newest is None or block.number <= newest.number:
            _check_known(connection, block)
        elif block.number == newest.number + 1:
            if block.parent != newest.hash:
                raise WrongNodeChain(other_block(newest.number, block.parent, newest.hash))
            continuing.append(block)
            newest = Head(block.number, block.hash)
    return continuing


def _check_known(connection: Connection, block: DecodedBlock) -> None:
    known_hash = connection.execute(BLOCK_HASH, {"block": block.number}).scalar()
    if known_hash is not None and known_hash != block.hash:
        raise WrongNodeChain(other_block(block.number, block.hash, known_hash))


def tip_of(connection: Connection) -> Head | None:
    """Return the newest block of the books; None for empty books."""
    row = connection.execute(_TIP).first()
    return None if row is None else Head(*row)


def other_block(number: int, block_of_node: str, block_of_books: str) -> str:
    """Return the text of a WrongNodeChain: two blocks with one number."""
    return (
        f"block {number} of the node is {block_of_node}, that of the books {block_of_books}: "
        "the node follows another chain with the same genesis, such as a purged development chain; "
        "name another --database"
    )


def insert_rows(connection: Connection, rows: Rows) -> None:
    """Insert rows, by table."""
    for name, values in rows.items():
        if values:
            connection.execute(_insertion(name), values)


@cache
def _insertion(table: str) -> Insert:
    return insert(schema.metadata.tables[table])


def block_row(block: DecodedBlock) -> dict[str, Any]:
    """Return the row of a block."""
    return {
        "number": block.number,
        "hash": block.hash,
        "parent": block.parent,
        "time": block.time,
        "spec_version": block.spec_version,
        "events": len(block.events),
    }


def _add_prices(rows: Rows, number: int, prices: Sequence[Price]) -> None:
    if prices:
        rows["prices"] = [
            {"block": number, "event": 0, "place": place, "source": source, "asset": asset, "value": value}
            for place, (source, asset, value) in enumerate(prices)
        ]
