"""Restarts of a service's background tasks after unexpected errors.

A task handles the faults that it knows (LedgerError) itself. Any other error is a bug, or an input that the
code does not expect; it must not end the process, in which all other requests are still answered. So it is
logged once, with its traceback, and counted, and the task starts over, with growing pauses.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from cfnode.core.safe_text import reason_of

__all__ = ["Restarts"]

RESTART_PAUSE_S: Final = 1.0
MAX_RESTART_PAUSE_S: Final = 60.0


class Restarts:
    """Restarts of a process's tasks; `counts` are their errors by task name."""

    def __init__(self, log: logging.Logger) -> None:
        self.counts: Counter[str] = Counter()
        self._log = log
        self._said: dict[str, str] = {}

    async def keep(self, name: str, task: Callable[[], Awaitable[object]]) -> None:
        """Run a task until it returns or is cancelled; start it over after an error."""
        pause = RESTART_PAUSE_S
        while True:
            began = trio.current_time()
            try:
                await task()
                return
            except Exception as error:
                if trio.current_time() - began > MAX_RESTART_PAUSE_S:
                    pause = RESTART_PAUSE_S
                self.note(name, error, pause)
            await trio.sleep(pause)
            pause = min(2 * pause, MAX_RESTART_PAUSE_S)

    def note(self, name: str, error: Exception, pause: float) -> None:
        """Count an error, and log it unless the task's last error had the same text."""
        self.counts[name] += 1
        text = f"{type(error).__name__}: {reason_of(error)}"
        if self._said.get(name) == text:
            self._log.debug("%s failed again: %s (failure %d)", name, text, self.counts[name])
            return
        self._said[name] = text
        self._log.error(
            "%s failed with a bug, please report it; starting over in %g s", name, pause, exc_info=error
        )
