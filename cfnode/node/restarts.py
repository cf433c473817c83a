"""Restart of a part of the node after an unexpected error (`flow/restarts.py`).

The rest of the node keeps running. Only an error that the operator has to fix (the disk, a wrong checkpoint)
stops the node, with a message.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from cfnode.flow.restarts import Restarts
from cfnode.store import StoreError

__all__ = ["RESTART_PAUSE_S", "supervise"]

log = logging.getLogger("cfnode.service")

RESTART_PAUSE_S = 1.0
"""Seconds before each restart, since without the part the node follows no chain."""


async def supervise(name: str, part: Callable[[], Awaitable[None]], *fatal: type[Exception]) -> None:
    """Run a part until cancelled; restart it after a bug of ours.

    A StoreError, and the errors in `fatal`, stop the node: the operator has to act.
    """
    restarts = Restarts(log, first_pause=RESTART_PAUSE_S, max_pause=RESTART_PAUSE_S)
    await restarts.keep(f"The {name}", part, StoreError, *fatal)
