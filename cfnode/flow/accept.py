"""The accept loop of listening sockets, which pauses while the process has no file descriptor left.

trio's own loop logs a traceback each time that it cannot accept, ten times a second. This one logs once a
minute what is wrong and what to do; the connections wait in the system's queue.
"""

from __future__ import annotations

import errno
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import trio

__all__ = ["MIN_WARNING_INTERVAL_S", "accept_connections"]

ACCEPT_RETRY_S: Final = 0.1
"""Seconds between two attempts to accept; each costs a system call."""
MIN_WARNING_INTERVAL_S: Final = 60.0
"""Seconds between two warnings: the state lasts until connections end, and the first line is complete."""
_WARNING: Final = (
    "%s connections have to wait: %s. Raise the limit of open files (ulimit -n, LimitNOFILE= of a service)"
)
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


async def accept_connections(
    handler: Callable[[trio.SocketStream], Awaitable[None]],
    listeners: Sequence[trio.SocketListener],
    handlers: trio.Nursery,
    log: logging.Logger,
    what: str,
) -> None:
    """Start `handler(stream)` in `handlers` for each connection until cancelled, then close the listeners.

    `what` names the connections in the log: "JSON-RPC".
    """
    async with trio.open_nursery() as nursery:
        for listener in listeners:
            nursery.start_soon(_accept, handler, listener, handlers, log, what)


async def _accept(
    handler: Callable[[trio.SocketStream], Awaitable[None]],
    listener: trio.SocketListener,
    handlers: trio.Nursery,
    log: logging.Logger,
    what: str,
) -> None:
    next_warning = -math.inf
    async with listener:
        while True:
            try:
                stream = await listener.accept()
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                if trio.current_time() >= next_warning:
                    next_warning = trio.current_time() + MIN_WARNING_INTERVAL_S
                    log.warning(_WARNING, what, error.strerror)
                await trio.sleep(ACCEPT_RETRY_S)
            else:
                handlers.start_soon(handler, stream)
