"""Waiting for a condition that threads or other processes bring about, which no event announces to a test."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import trio

LIMIT_S: Final = 120.0
"""Far above what is waited for on a slow machine, so that only a hang fails."""
LOOK_S: Final = 0.02
"""Seconds between two looks."""


def wait_until(met: Callable[[], object], described: Callable[[], object] = lambda: "") -> None:
    """Block until it is met; fails with its description after `LIMIT_S`."""
    deadline = time.monotonic() + LIMIT_S
    while not met():
        assert time.monotonic() < deadline, described()
        time.sleep(LOOK_S)


async def until(met: Callable[[], object], described: Callable[[], object] = lambda: "") -> None:
    """Let other tasks run until it is met; fails with its description after `LIMIT_S`."""
    deadline = trio.current_time() + LIMIT_S
    while not met():
        assert trio.current_time() < deadline, described()
        await trio.sleep(LOOK_S)
