"""How does a task wait for a change that happens again and again, without missing one?

A `trio.Event` can be set once. A `Wakeup` replaces its event at each notification. A task that looks at
something and then waits takes the event *before* it looks: a change in between then ends the wait at once.
"""

from __future__ import annotations

import trio

__all__ = ["Wakeup"]


class Wakeup:
    """Wakes all waiting tasks at each notification."""

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
