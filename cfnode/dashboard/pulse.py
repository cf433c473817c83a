"""Events for browsers at each new block of the books, and the count of totals."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from cfnode.flow.restarts import Restarts
from cfnode.flow.wakeup import Wakeup
from cfnode.ledger.database import Database
from cfnode.ledger.day_totals import add_totals
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.updates import updates

__all__ = ["Pulse"]

log = logging.getLogger("cfnode.service")
RETRY_PAUSE_S: Final = 2.0
STREAM_DURATION_S: Final = 30.0
"""Seconds of one stream of events. The browser begins a new one, before the server ends a connection on which
nothing arrives."""
MIN_EVENT_GAP_S: Final = 0.5
"""Seconds between two events of a stream, however fast the blocks come."""
MAX_BROWSER_STREAMS: Final = 200
_RETRY: Final = b"retry: 500\n\n"


class Pulse:
    """The newest block, and the streams that wait for the next. `run` follows the books until cancelled."""

    def __init__(
        self, database: Database, renew: Callable[[int], Awaitable[None]], restarts: Restarts
    ) -> None:
        """Keep `renew`, which makes the pages of a block before browsers get its event."""
        self._database, self._renew, self._restarts = database, renew, restarts
        self.block = 0
        self.fault: str | None = None
        """Reason why the books cannot be followed."""
        self._changed = Wakeup()
        self._left = trio.Event()  # set when there may be totals to count
        self._ended = trio.Event()
        self._streams = 0

    async def run(self) -> None:
        """Follow the books, and count the totals of each new block."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._count)
                await self._patiently("the page's updates from the books", self._follow)
        finally:
            self._ended.set()
            self._notify()

    async def _patiently(self, name: str, step: Callable[[], Awaitable[None]]) -> None:
        """Repeat a step, over errors of the books and any other error."""
        while True:
            try:
                await step()
            except LedgerError as error:
                self.fault = str(error)
                log.warning("%s; the page tries again in %g s", error, RETRY_PAUSE_S)
            except Exception as error:
                self.fault = f"a bug of cfnode: {type(error).__name__}"
                self._restarts.note(name, error, RETRY_PAUSE_S)
            await trio.sleep(RETRY_PAUSE_S)

    async def _follow(self) -> None:
        async with updates(self._database) as stream:
            async for block in stream:
                if await trio.to_thread.run_sync(add_totals, self._database):
                    self._left.set()
                await self._renew(block)
                self.block, self.fault = block, None
                self._notify()

    async def _count(self) -> None:
        """Count the totals that are left behind the newest block.

        In large books of an older version these are all.
        """

        async def step() -> None:
            await self._left.wait()
            while await trio.to_thread.run_sync(add_totals, self._database):
                pass
            self._left = trio.Event()

        await self._patiently("the totals of the page", step)

    def _notify(self) -> None:
        self._changed.notify()

    @property
    def is_full(self) -> bool:
        """Whether no further browser can watch."""
        return self._streams >= MAX_BROWSER_STREAMS

    async def stream(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Send server-sent events: the newest block, then each newer one."""
        self._streams += 1
        try:
            with trio.move_on_after(STREAM_DURATION_S):
                await send(_RETRY)
                while not self._ended.is_set():
                    block_changed = self._changed.next
                    await send(f"event: block\ndata: {self.block}\n\n".encode())
                    await self._pause(MIN_EVENT_GAP_S)
                    await block_changed.wait()
        finally:
            self._streams -= 1

    async def _pause(self, seconds: float) -> None:
        """Wait, at most until `run` ends."""
        with trio.move_on_after(seconds):
            await self._ended.wait()
