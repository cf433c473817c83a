"""Leader election of followers: the one with PostgreSQL's advisory lock writes, the others wait for it.

The lock belongs to a connection. If its process is killed, the server sees the connection end and gives the
lock to the next process that asks, `LOCK_POLL_S` later at most. If its host vanishes without a packet, the
server's keepalives end the connection (`engines.KEEPALIVE`). SQLite has no such lock: there the second
follower finds each block written, and does not change it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import trio

from cfnode.ledger.database import Database, FollowerLock
from cfnode.ledger.errors import DatabaseError

__all__ = ["LOCK_POLL_S", "Leadership", "only_follower"]

log = logging.getLogger("cfnode.ledger")
LOCK_POLL_S: Final = 1.0
"""Seconds between two attempts to get the lock."""


class Leadership:
    """Right of a process to write the books; without a lock for SQLite."""

    def __init__(self, lock: FollowerLock | None) -> None:
        self._lock = lock

    async def check(self) -> None:
        """Raise DatabaseError if the lock's connection is lost: another follower may have begun."""
        if self._lock is not None and not await trio.to_thread.run_sync(self._lock.is_held):
            raise DatabaseError(
                "the connection that held the follower's lock was lost: another follower may have it"
            )


@asynccontextmanager
async def only_follower(
    database: Database, probe: Callable[[], Awaitable[None]]
) -> AsyncIterator[Leadership]:
    """Wait until no other process follows. `probe` is called once before a long wait, to find faults."""
    if database.is_sqlite:
        yield Leadership(None)
        return
    lock = await trio.to_thread.run_sync(database.follower_lock)
    try:
        if not await trio.to_thread.run_sync(lock.acquire):
            await probe()
            log.info("Another process writes to %s: waiting until it ends", database.name)
            while not await trio.to_thread.run_sync(lock.acquire):  # noqa: ASYNC110  # another process ends
                await trio.sleep(LOCK_POLL_S)
            log.warning("The other follower of %s has ended: this process follows now", database.name)
        yield Leadership(lock)
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(lock.close)
