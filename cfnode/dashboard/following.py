"""Which is the newest block of the books? A stream of numbers, by asking the database every second."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database

__all__ = ["updates"]

POLL_S: Final = 1.0


@asynccontextmanager
async def updates(database: Database) -> AsyncIterator[AsyncIterator[int]]:
    """The number of the newest block, and of each newer one. Raises LedgerError."""
    books = Books(database)

    async def numbers() -> AsyncIterator[int]:
        known = None
        while True:
            tip = await trio.to_thread.run_sync(books.tip)
            if tip is not None and tip.hash != known:
                known = tip.hash
                yield tip.number
            await trio.sleep(POLL_S)

    yield numbers()
