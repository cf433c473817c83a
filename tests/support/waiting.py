"""Waiting for a condition that threads or other processes bring about, which no event announces to a test."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import trio

LIMIT_S: Final = 120.0
"""Far above what is waited for on a slow machine, so that only a hang fails."""
LOOK_S: Final = 0.01
"""Seconds between two looks."""


def wait_until(met: Callable[[], object], described: Callable[[], object] | str = "") -> None:
    """Wait until it is met; fail after `LIMIT_S`, with a text or what a function gives then."""
    deadline = time.monotonic() + LIMIT_S
    while not met():
        assert time.monotonic() < deadline, _text(described)
        time.sleep(LOOK_S)


async def until(met: Callable[[], object], described: Callable[[], object] | str = "") -> None:
    """Let other tasks run until it is met; fails as `wait_until` does."""
    deadline = trio.current_time() + LIMIT_S
    while not met():
        assert trio.current_time() < deadline, _text(described)
        await trio.sleep(LOOK_S)


def _text(described: Callable[[], object] | str) -> object:
    return described if isinstance(described, str) else described()
