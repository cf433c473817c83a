"""How do fifty browsers see a new block at once? Each part of a page is made once for a block, then kept.

What depends on the clock too, such as the time left of a channel, is made again after a few seconds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import trio

from cfnode.core.bounded import BoundedDict

__all__ = ["Cache"]

MAX_ENTRIES: Final = 64
MAX_AGE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Entry:
    value: str
    version: object
    made_at: float


class Cache:
    """Texts by their names; each is made by one task at a time."""

    def __init__(self) -> None:
        self._entries = BoundedDict[str, _Entry](MAX_ENTRIES)
        self._locks = BoundedDict[str, trio.Lock](MAX_ENTRIES)

    async def get(self, name: str, version: object, make: Callable[[], Awaitable[str]]) -> str:
        """The text of a name for a version (a block), made if it is missing or too old."""
        found = self._fresh(name, version)
        if found is None:
            if name not in self._locks:
                self._locks[name] = trio.Lock()
            async with self._locks[name]:
                found = self._fresh(name, version)
                if found is None:
                    started = trio.current_time()
                    found = await make()
                    self._entries[name] = _Entry(found, version, started)
        return found

    def _fresh(self, name: str, version: object) -> str | None:
        entry = self._entries.get(name)
        is_old = entry is None or trio.current_time() - entry.made_at > MAX_AGE_S
        return None if entry is None or is_old or entry.version != version else entry.value
