"""Cache of the parts of pages: each is made once for a block, so that many browsers get it at once.

At a new block `renew` makes the parts that were requested lately, before browsers get the block's event: no
request waits for them. A part that depends on the clock too, such as the time left of a channel, is made
again after a few seconds, behind a request that still gets the older text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Final

import trio

from cfnode.core.bounded import BoundedDict
from cfnode.flow.shared_work import SharedWork

__all__ = ["Cache"]

MAX_CACHED_TEXTS: Final = 64
TEXT_MAX_AGE_S: Final = 5.0
"""Seconds after which a text is made again."""
STALE_TEXT_MAX_AGE_S: Final = 60.0
"""Seconds after which a request waits for the new text."""
RENEWAL_PERIOD_S: Final = 40.0
"""Seconds after a request for which a text is renewed at each block."""
Make = Callable[[], Awaitable[str]]


@dataclass(slots=True)
class _Entry:
    value: str
    version: Hashable
    make: Make
    made_at: float
    asked_at: float


class Cache:
    """Texts by their names; one task makes each, for all that request it meanwhile, and so its error."""

    def __init__(self) -> None:
        self._entries = BoundedDict[str, _Entry](MAX_CACHED_TEXTS)
        self._making = SharedWork[tuple[str, Hashable], str]()
        self._nursery: trio.Nursery | None = None

    async def run(self) -> None:
        """Make texts again behind requests, until cancelled."""
        async with trio.open_nursery() as self._nursery:
            try:
                await trio.sleep_forever()
            finally:
                self._nursery = None

    async def get(self, name: str, version: Hashable, make: Make) -> str:
        """Return the text of a name for a version (a block).

        `make` makes it, also later for other requests.
        """
        entry = self._entries.get(name)
        if entry is not None:
            entry.asked_at = trio.current_time()
        age = None if entry is None or entry.version != version else trio.current_time() - entry.made_at
        if entry is not None and age is not None:
            if age <= TEXT_MAX_AGE_S:
                return entry.value
            if age <= STALE_TEXT_MAX_AGE_S and self._nursery is not None:
                if not self._making.is_under_way((name, version)):
                    self._nursery.start_soon(self._quietly, name, version, make)
                return entry.value
        return await self._made(name, version, make)

    async def renew(self, version: Hashable) -> None:
        """Make the texts that were requested lately, for a new version."""
        now = trio.current_time()
        for name, entry in list(self._entries.items()):
            if now - entry.asked_at <= RENEWAL_PERIOD_S:
                await self._quietly(name, version, entry.make)

    async def _quietly(self, name: str, version: Hashable, make: Make) -> None:
        """Make a text behind a request, without an error.

        The next request gets the error, or bug, and it is logged.
        """
        try:
            await self._made(name, version, make)
        except Exception:
            self._entries.pop(name, None)

    async def _made(self, name: str, version: Hashable, make: Make) -> str:
        return await self._making.once((name, version), partial(self._make, name, version, make))

    async def _make(self, name: str, version: Hashable, make: Make) -> str:
        began_at = trio.current_time()
        value = await make()
        entry = self._entries.get(name)
        if entry is None or entry.made_at <= began_at:  # else one of a newer version was made meanwhile
            self._entries[name] = _Entry(
                value, version, make, began_at, entry.asked_at if entry else began_at
            )
        return value
