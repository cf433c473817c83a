"""Stop of a long-running command at SIGINT or SIGTERM."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import trio

__all__ = ["stop_on_signal"]


async def stop_on_signal(scope: trio.CancelScope) -> None:
    """Cancel the scope at the first signal."""
    import trio

    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()
            return
