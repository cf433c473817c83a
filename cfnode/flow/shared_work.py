"""Work that several tasks ask for at the same time, done once.

The first task does the work, and the others wait for its result, or for its error, which they raise too.
Doing the work again for each would make the last of five callers wait five times as long for the same error.
No result is kept: a task that asks afterwards does the work again. Where the first task is cancelled, one of
the others does the work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import trio

__all__ = ["SharedWork"]

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


class _UnderWay(Generic[Result]):
    """Work that a task is doing. At the end it has a result or an error, or neither if it was cancelled."""

    def __init__(self) -> None:
        self.results: list[Result] = []
        self.error: Exception | None = None
        self.over = trio.Event()


class SharedWork(Generic[Key, Result]):
    """Work under way, by its key."""

    def __init__(self) -> None:
        self._under_way: dict[Key, _UnderWay[Result]] = {}

    def is_under_way(self, key: Key) -> bool:
        """Return whether a task does this work now."""
        return key in self._under_way

    async def once(self, key: Key, work: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of the work that is under way, else of `work`. Raises what the work raises."""
        while (running := self._under_way.get(key)) is not None:
            await running.over.wait()
            if running.error is not None:
                raise running.error
            if running.results:
                return running.results[0]
        own_work = self._under_way[key] = _UnderWay[Result]()
        try:
            own_work.results.append(await work())
        except Exception as error:
            own_work.error = error
            raise
        finally:
            del self._under_way[key]
            own_work.over.set()
        return own_work.results[0]
