"""Restart of a part of the node after an unexpected error.

The error is logged with its traceback, and the part is started again; the rest of the node keeps running.
Only an error that the operator has to fix (the disk, a wrong checkpoint) stops the node, with a message.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import trio

from cfnode.store import StoreError

__all__ = ["RESTART_PAUSE_S", "supervise"]

log = logging.getLogger("cfnode.service")

RESTART_PAUSE_S = 1.0
"""Seconds before a restart: a part that fails at once each time must not fill the disk with log lines."""


async def supervise(name: str, part: Callable[[], Awaitable[None]], *fatal: type[Exception]) -> None:
    """Run a part until cancelled; restart it after a bug of ours.

    A StoreError, and the errors in `fatal`, stop the node: the operator has to act.
    """
    while True:
        try:
            await part()
            return
        except Exception as error:
            if _is_one_of(error, (StoreError, *fatal)):
                raise
            log.exception("The %s ended with a bug, please report it; it is restarted", name)
        await trio.sleep(RESTART_PAUSE_S)


def _is_one_of(error: BaseException, kinds: tuple[type[Exception], ...]) -> bool:
    """Return whether the error is of one of these kinds, or an exception group with such an error."""
    if isinstance(error, BaseExceptionGroup):
        return any(_is_one_of(inner_error, kinds) for inner_error in error.exceptions)
    return isinstance(error, kinds)
