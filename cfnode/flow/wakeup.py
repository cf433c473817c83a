"""A repeatable event: each notification wakes all tasks that wait, and none misses a change.

A `trio.Event` can be set once. A `Wakeup` replaces its event at each notification. A task that reads a
state and then waits takes the event *before* it reads: a change in between then ends the wait at once.
"""

from __future__ import annotations

import trio

__all__ = ["Wakeup"]


class Wakeup:
    """An event that each notification sets for the tasks that wait."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def notify(self) -> None:
        """Wake all tasks that wait."""
        self._event.set()
        self._event = trio.Event()

    @property
    def next(self) -> trio.Event:
        """The event that the next notification sets."""
        return self._event

    async def wait(self) -> None:
        """Wait for the next notification."""
        await self._event.wait()
