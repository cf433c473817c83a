"""Stream of the newest block of the books, for pages and services.

    async with updates(database) as stream:
        async for block in stream:
            ...

The state of a swap changes only with a block, so its number announces both. On PostgreSQL the writer of a
block notifies all processes in the block's own transaction (NOTIFY), and each listens on a connection of its
own. On SQLite, which has no notifications, the newest block is read every `NEWEST_BLOCK_POLL_S` seconds.
Books that have not begun are waited for in the same way: their first block is news as any other. A database
that does not answer cannot announce its return, so it is tried again with growing pauses; the stream goes on
with the newest block.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import trio
from sqlalchemy import Connection, func, inspect, select, text

from cfnode.flow.restarts import Restarts
from cfnode.flow.wakeup import Wakeup
from cfnode.ledger import schema
from cfnode.ledger.database import Database, Listener
from cfnode.ledger.errors import LedgerError

__all__ = ["CHANNEL", "NEWEST_BLOCK_POLL_S", "Updates", "announce", "updates"]

log = logging.getLogger("cfnode.ledger")
CHANNEL: Final = "cfnode_blocks"
"""PostgreSQL's channel of notifications; the payload is the newest block's number."""
NEWEST_BLOCK_POLL_S: Final = 0.5
"""Seconds between two reads of the newest block from SQLite."""
NOTIFICATION_TIMEOUT_S: Final = 1.0
"""Seconds that a thread waits for a notification, and that the end of the stream may take."""
LISTEN_RETRY_S: Final = 1.0
MAX_LISTEN_RETRY_S: Final = 15.0


class Updates:
    """Stream of the newest block of the books. Many tasks may iterate over it, each at its own pace."""

    def __init__(self) -> None:
        self.newest: int | None = None
        """Number of the newest block; None for empty books, and before the database has answered."""
        self.count = 0
        """Number of times that the newest block has changed."""
        self._moved = Wakeup()

    def set(self, block: int | None) -> None:
        """Set the newest block; its number falls when the books go back, to fill a gap."""
        if block is None or block == self.newest:
            return
        self.newest = block
        self.count += 1
        self._moved.notify()

    async def moved_since(self, count: int) -> None:
        """Wait until the newest block has changed more than `count` times."""
        while self.count <= count:
            await self._moved.wait()

    async def __aiter__(self) -> AsyncIterator[int]:
        """Yield the newest block at once, then each change; a slow reader gets the newest of several."""
        seen_count = 0
        while True:
            await self.moved_since(seen_count)
            seen_count = self.count
            assert self.newest is not None
            yield self.newest


def announce(connection: Connection, block: int) -> None:
    """Notify all listeners of the newest block, as soon as this transaction is committed."""
    if connection.dialect.name != "sqlite":
        connection.execute(text(f"SELECT pg_notify('{CHANNEL}', :block)"), {"block": str(block)})


@asynccontextmanager
async def updates(database: Database) -> AsyncIterator[Updates]:
    """Open the stream of a database's newest block, for all tasks of a process."""
    stream, failure = Updates(), None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Restarts(log).keep, "live updates", partial(_watch, database, stream))
        try:
            yield stream
        except Exception as error:  # raised outside, where the nursery makes no group of it
            failure = error
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _watch(database: Database, stream: Updates) -> None:
    """Watch the newest block until cancelled; try again after faults of the database."""
    pause, limiter = LISTEN_RETRY_S, trio.CapacityLimiter(1)
    while True:
        try:
            watch = _poll if database.is_sqlite else _listen
            async for block in watch(database, limiter):
                pause = LISTEN_RETRY_S
                stream.set(block)
        except LedgerError as error:
            log.warning("No live updates: %s; trying again in %g s", error, pause)
        await trio.sleep(pause)
        pause = min(2 * pause, MAX_LISTEN_RETRY_S)


async def _poll(database: Database, limiter: trio.CapacityLimiter) -> AsyncIterator[int | None]:
    while True:
        yield await trio.to_thread.run_sync(_newest, database, limiter=limiter)
        await trio.sleep(NEWEST_BLOCK_POLL_S)


async def _listen(database: Database, limiter: trio.CapacityLimiter) -> AsyncIterator[int | None]:
    listener = await trio.to_thread.run_sync(database.listener, CHANNEL, limiter=limiter)
    try:
        yield await trio.to_thread.run_sync(_newest, database, limiter=limiter)  # written before it listened
        while True:
            yield await trio.to_thread.run_sync(_heard, listener, limiter=limiter)
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(listener.close, limiter=limiter)


def _newest(database: Database) -> int | None:
    with database.reading() as connection:
        if not inspect(connection).has_table(schema.blocks.name):
            return None
        number: int | None = connection.execute(select(func.max(schema.blocks.c.number))).scalar()
        return number


def _heard(listener: Listener) -> int | None:
    """Return the newest block of a notification within `NOTIFICATION_TIMEOUT_S`; None without one."""
    with suppress(IndexError, ValueError):
        return int(listener.wait(NOTIFICATION_TIMEOUT_S)[-1])
    return None
