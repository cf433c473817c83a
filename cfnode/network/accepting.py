"""How are callers let in when the machine has no descriptor for them?

The listener waits a moment and tries again, and a warning says so once a minute: a traceback for each attempt
would fill the disk of a node that is attacked.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import trio

from cfnode.network.rate import Rate

__all__ = ["accept_all"]

log = logging.getLogger("cfnode.sub-libp2p")

PAUSE = 0.1
"""Seconds after which it is tried again."""
WARNINGS_PER_SECOND = 1 / 60


async def accept_all(
    listener: trio.abc.Listener[trio.SocketStream], serve: Callable[[trio.SocketStream], Awaitable[None]]
) -> None:
    """Serve each caller in a task of its own, until cancelled."""
    warnings = Rate(WARNINGS_PER_SECOND, 1)
    async with trio.open_nursery() as nursery:
        while True:
            try:
                stream = await listener.accept()
            except OSError as error:
                if warnings.allows(trio.current_time()):
                    log.warning("Cannot accept connections: %s; trying again", error.strerror or error)
                await trio.sleep(PAUSE)
            else:
                nursery.start_soon(serve, stream)
