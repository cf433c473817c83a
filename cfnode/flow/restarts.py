"""Restarts of a program's background tasks after unexpected errors, of node, ledger and services alike.

A task handles the faults that it knows itself. Any other error is a bug, or an input that the code does not
expect; it must not end the process, in which all other requests are still answered. So it is logged once,
with its traceback, and counted, and the task starts over, with growing pauses. Only errors that the operator
has to fix end the task (`fatal`).
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
    """Restarts of a process's tasks; `counts` are their errors by task name. Pauses are in seconds."""

    def __init__(
        self,
        log: logging.Logger,
        *,
        first_pause: float = RESTART_PAUSE_S,
        max_pause: float = MAX_RESTART_PAUSE_S,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._log = log
        self._first_pause, self._max_pause = first_pause, max_pause
        self._said: dict[str, str] = {}

    async def keep(self, name: str, task: Callable[[], Awaitable[object]], *fatal: type[Exception]) -> None:
        """Run a task until it returns or is cancelled; start it over after an error, unless it is `fatal`."""
        pause = self._first_pause
        while True:
            began = trio.current_time()
            try:
                await task()
                return
            except Exception as error:
                if _is_one_of(error, fatal):
                    raise
                if trio.current_time() - began > self._max_pause:
                    pause = self._first_pause
                self.note(name, error, pause)
            await trio.sleep(pause)
            pause = min(2 * pause, self._max_pause)

    def note(self, name: str, error: Exception, pause: float) -> None:
        """Count an error, and log it unless the task's last error had the same text."""
        self.counts[name] += 1
        cause = _sole(error)
        text = f"{type(cause).__name__}: {reason_of(cause)}"
        if self._said.get(name) == text:
            self._log.debug("%s failed again: %s (failure %d)", name, text, self.counts[name])
            return
        self._said[name] = text
        self._log.error(
            "%s failed with a bug, please report it; starting over in %g s", name, pause, exc_info=error
        )


def _sole(error: BaseException) -> BaseException:
    """Return the only error of a group, whose own text is that of any group; any other error itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _is_one_of(error: BaseException, kinds: tuple[type[Exception], ...]) -> bool:
    """Return whether the error is of one of these kinds, or an exception group with such an error."""
    if isinstance(error, BaseExceptionGroup):
        return any(_is_one_of(inner_error, kinds) for inner_error in error.exceptions)
    return isinstance(error, kinds)
