"""When does a page change? At each new block of the books: browsers get an event, and totals are counted."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from cfnode.ledger.database import Database
from cfnode.ledger.day_totals import add_totals
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.updates import updates

__all__ = ["Pulse"]

log = logging.getLogger("cfnode.service")
PAUSE_S: Final = 2.0
STREAM_S: Final = 30.0
"""Seconds of one stream of events. The browser begins a new one, before the server ends a connection on which
nothing arrives."""
MIN_GAP_S: Final = 0.5
"""Seconds between two events of a stream, however fast the blocks come."""
MAX_STREAMS: Final = 200
_RETRY: Final = b"retry: 500\n\n"


class Pulse:
    """The newest block, and who waits for the next. `run` follows the books until cancelled."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.block = 0
        self.fault: str | None = None
        """Why the books cannot be followed."""
        self._changed = trio.Event()
        self._ended = trio.Event()
        self._streams = 0

    async def run(self) -> None:
        """Follow the books, and count the totals of each new block."""
        try:
            while True:
                try:
                    async with updates(self._database) as stream:
                        async for block in stream:
                            await self._reach(block)
                except LedgerError as error:
                    self.fault = str(error)
                    log.warning("%s; the page tries again in %g s", error, PAUSE_S)
                await trio.sleep(PAUSE_S)
        finally:
            self._ended.set()
            self._notify()

    async def _reach(self, block: int) -> None:
        self.block, self.fault = block, None
        self._notify()
        counted = False
        while await trio.to_thread.run_sync(add_totals, self._database):
            counted = True
        if counted:
            self._notify()

    def _notify(self) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    @property
    def is_full(self) -> bool:
        """Whether no further browser can watch."""
        return self._streams >= MAX_STREAMS

    async def stream(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Send server-sent events: the newest block, then each newer one."""
        self._streams += 1
        try:
            with trio.move_on_after(STREAM_S):
                await send(_RETRY)
                while not self._ended.is_set():
                    changed = self._changed
                    await send(f"event: block\ndata: {self.block}\n\n".encode())
                    await self._pause(MIN_GAP_S)
                    await changed.wait()
        finally:
            self._streams -= 1

    async def _pause(self, seconds: float) -> None:
        """Wait, at most until the end."""
        with trio.move_on_after(seconds):
            await self._ended.wait()
