"""SIGHUP for a service: read files again, or stop if the terminal is closed.

`systemctl reload` and log rotation send it to a service, whose process its default action would end. The
kernel sends it when the terminal of a process is closed; then the service stops, as for SIGTERM. Only in the
second case the process no longer has the controlling terminal that it had at its start.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable

import trio

__all__ = ["ignore_hangups", "nothing_to_reload", "on_hangups"]

log = logging.getLogger("cfnode.service")

_IS_DETACHED = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
"""Whether the process was started to outlive its terminal (nohup)."""


def ignore_hangups() -> None:
    """Ignore the signal before `on_hangups` receives it, and after it.

    Start and stop are not interrupted.
    """
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


async def on_hangups(
    reload: Callable[[], None], *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Call `reload` at each SIGHUP until cancelled; stop the process if its terminal is closed.

    Where two of these run, one inside the other, the inner one receives the signal.
    """
    had_terminal = has_terminal() and not _IS_DETACHED
    with trio.open_signal_receiver(signal.SIGHUP) as signals:
        task_status.started()
        async for _ in signals:
            if had_terminal and not has_terminal():
                log.info("SIGHUP: the terminal is closed")
                os.kill(os.getpid(), signal.SIGTERM)
            else:
                reload()


def nothing_to_reload(flag: str = "") -> None:
    """Log that the signal changes nothing; `flag`: the flag whose file would be read again."""
    log.info("SIGHUP: no file to reload%s", f"; {flag} names none" if flag else "")


def has_terminal() -> bool:
    """Return whether the process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
