"""Work that several tasks ask for at the same time, done once.

The first task does the work, and the others wait for its result, or for its error, which they raise too.
Doing the work again for each would make the last of five callers wait five times as long for the same error.
No result is kept: a task that asks afterwards does the work again. Where the first task is cancelled, one of
the others does the work.

A task may ask for several things together, which are then one piece of work. If it fails, no one knows
because of which of them; so its error is that of a task only if that task asks for all of them, and another
task does again what it asks for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

import trio

__all__ = ["SharedWork"]

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


class _UnderWay(Generic[Key, Result]):
    """Work that a task is doing. At the end it has results or an error, or neither if it was cancelled."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self.keys = frozenset(keys)
        self.results: dict[Key, Result] = {}
        self.error: Exception | None = None
        self.over = trio.Event()


class SharedWork(Generic[Key, Result]):
    """Work under way, by its key."""

    def __init__(self) -> None:
        self._under_way: dict[Key, _UnderWay[Key, Result]] = {}

    def is_under_way(self, key: Key) -> bool:
        """Return whether a task does this work now."""
        return key in self._under_way

    async def once(self, key: Key, work: Callable[[], Awaitable[Result]]) -> Result:
        """Return the result of the work that is under way, else of `work`. Raises what the work raises."""

        async def alone(_: Sequence[Key]) -> list[Result]:
            return [await work()]

        return (await self.together([key], alone))[key]

    async def together(
        self, keys: Sequence[Key], work: Callable[[Sequence[Key]], Awaitable[Sequence[Result]]]
    ) -> dict[Key, Result]:
        """Return the result of each key: of the work that is under way, else of `work`.

        `work` gets the other keys, each once, and returns their results in that order. Raises what it raises.
        """
        results: dict[Key, Result] = {}
        while missing := [key for key in dict.fromkeys(keys) if key not in results]:
            running = {key: self._under_way[key] for key in missing if key in self._under_way}
            if own_keys := [key for key in missing if key not in running]:
                results.update(await self._do(own_keys, work))
            for key, under_way in running.items():
                await under_way.over.wait()
                if under_way.error is not None and under_way.keys.issubset(missing):
                    raise under_way.error
                if key in under_way.results:
                    results[key] = under_way.results[key]
        return results

    async def _do(
        self, keys: Sequence[Key], work: Callable[[Sequence[Key]], Awaitable[Sequence[Result]]]
    ) -> dict[Key, Result]:
        own_work = _UnderWay[Key, Result](keys)
        self._under_way.update(dict.fromkeys(keys, own_work))
        try:
            own_work.results = dict(zip(keys, await work(keys), strict=True))
        except Exception as error:
            own_work.error = error
            raise
        finally:
            for key in keys:
                del self._under_way[key]
            own_work.over.set()
        return own_work.results
