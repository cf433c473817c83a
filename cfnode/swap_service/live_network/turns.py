"""Turns in which this process has the broker sign, taken with the other processes of the database.

A turn is for many calls at once: the broker's node orders their nonces itself, and each waits for a block, so
that one call a turn would be one channel a block. While another process waits, a turn takes no new calls
after `SIGNING_TURN_S` seconds, and ends with the calls that run. So no two processes have calls under way at
once.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import trio

from cfnode.flow.wakeup import Wakeup
from cfnode.ledger.database import Database
from cfnode.ledger.errors import LedgerError, NodeError
from cfnode.ledger.signing_lock import SignerLock, signer_lock

__all__ = ["MAX_CONCURRENT_OPENINGS", "ProcessTurns", "SignerBusy"]

T = TypeVar("T")
log = logging.getLogger("cfnode.service")
SIGNING_TURN_S: Final = 1.0
"""Seconds after which a turn takes no new calls, if another process waits."""
LOCK_CHECK_INTERVAL_S: Final = 0.25
"""Seconds between two checks of the lock during a turn."""
WAIT_FOR_TURN_S: Final = 45.0
"""Seconds that a call waits for a turn."""
TURN_RETRY_S: Final = 1.0
MAX_CONCURRENT_OPENINGS: Final = 250
"""Most calls that are under way at the same time."""


class SignerBusy(NodeError):
    """Call that got no place in a turn in time: nothing was sent."""


class ProcessTurns:
    """Turns of one process, which `run` takes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._limiter = trio.CapacityLimiter(1)
        self._calls = trio.CapacityLimiter(MAX_CONCURRENT_OPENINGS)
        self._waiting = self._running = 0
        self._is_open = False
        self._fault: LedgerError | None = None
        self._changed = Wakeup()

    @asynccontextmanager
    async def joined(self) -> AsyncIterator[None]:
        """Wait up to `WAIT_FOR_TURN_S` for a place in a turn, and hold it. Raises SignerBusy, LedgerError."""
        caller = object()
        await self._join(caller)
        try:
            yield
        finally:
            self._running -= 1
            self._calls.release_on_behalf_of(caller)
            self._notify()

    async def _join(self, caller: object) -> None:
        self._waiting += 1
        self._notify()
        try:
            with trio.move_on_after(WAIT_FOR_TURN_S):
                await self._calls.acquire_on_behalf_of(caller)
                while not self._is_open:
                    await self._changed.wait()
                self._running += 1
                return
        finally:
            self._waiting -= 1
            self._notify()
        if caller in self._calls.statistics().borrowers:
            self._calls.release_on_behalf_of(caller)
        if self._fault is not None:
            raise self._fault
        raise SignerBusy("other calls to the broker took too long: nothing was sent, try again")

    async def idle(self) -> None:
        """Wait until no call waits or runs."""
        while self._waiting or self._running:
            await self._changed.wait()

    def _notify(self) -> None:
        self._changed.notify()

    async def run(self) -> None:
        """Take turns until cancelled."""
        lock: SignerLock | None = None
        try:
            while True:
                try:
                    if lock is None:
                        lock = await self._in_thread(lambda: signer_lock(self._database))
                    await self._turn(lock)
                    self._fault = None
                except LedgerError as error:
                    log.warning("No turn at the broker: %s", error)
                    self._fault = error
                    await trio.sleep(TURN_RETRY_S)
        finally:
            if lock is not None:
                with trio.CancelScope(shield=True):
                    await trio.to_thread.run_sync(lock.close)

    async def _turn(self, lock: SignerLock) -> None:
        while not self._waiting:
            await self._changed.wait()
        if not await self._in_thread(lock.acquire):
            return
        self._set_open(True)
        try:
            await self._while_wanted(lock)
        finally:
            self._set_open(False)
            while self._running:
                await self._changed.wait()
        await self._in_thread(lock.release)

    async def _while_wanted(self, lock: SignerLock) -> None:
        """Wait until no call is left, the lock is lost, or another process waits after `SIGNING_TURN_S`."""
        start = looked = trio.current_time()
        while self._waiting or self._running:
            with trio.move_on_at(looked + LOCK_CHECK_INTERVAL_S):
                await self._changed.wait()
            if trio.current_time() < looked + LOCK_CHECK_INTERVAL_S:
                continue
            looked = trio.current_time()
            if not await self._in_thread(lock.is_held):
                return
            if looked - start > SIGNING_TURN_S and await self._in_thread(lock.is_wanted):
                return

    def _set_open(self, is_open: bool) -> None:
        self._is_open = is_open
        self._notify()

    async def _in_thread(self, step: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(step, limiter=self._limiter)
