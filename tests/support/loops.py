"""The two event loops under which the clients of the SDK run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import trio

__all__ = ["LOOPS", "Run", "under_asyncio", "under_trio"]

Run = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]
"""Runs a test's coroutine function to its end, in two minutes; under asyncio it may leave no task."""


def under_trio(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a scenario under trio, for at most two minutes."""

    async def bounded() -> None:
        with trio.fail_after(120):
            await scenario()

    trio.run(bounded)


def under_asyncio(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a scenario under asyncio, for at most two minutes; no task may be left."""

    async def bounded() -> None:
        async with asyncio.timeout(120):
            await scenario()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(bounded())


LOOPS = pytest.mark.parametrize("loop", [under_trio, under_asyncio])
"""A test with the argument `loop` (Run), once under each of both."""
