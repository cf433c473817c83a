"""Background tasks of a service start over after any error, say it once, and count it."""

from __future__ import annotations

import itertools
import logging
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from cfnode.dashboard.cache import Cache
from cfnode.dashboard.pulse import Pulse
from cfnode.flow.restarts import MAX_RESTART_PAUSE_S, Restarts
from cfnode.ledger import follower as follower_module
from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.follower import Follower, Source
from cfnode.swap_service.live_network.source import LiveSource

log = logging.getLogger("cfnode.test")


class OddInput(Exception):
    """An error that no task expects."""


async def test_a_task_starts_over_with_growing_pauses(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Begin a task anew after 1, 2, 4 … seconds, with one traceback in the log and a count."""
    restarts, begun = Restarts(log), list[float]()

    async def task() -> None:
        begun.append(trio.current_time())
        if len(begun) <= 9:
            raise OddInput("\x1b[2J")

    await restarts.keep("the task", task)
    pauses = [later - earlier for earlier, later in itertools.pairwise(begun)]
    assert pauses == [1, 2, 4, 8, 16, 32, MAX_RESTART_PAUSE_S, MAX_RESTART_PAUSE_S, MAX_RESTART_PAUSE_S]
    assert restarts.counts == {"the task": 9}
    said = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.exc_info is not None for record in said] == [True], "said once, with its traceback"


async def test_each_error_of_a_nursery_is_said_though_the_group_has_the_same_text(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Log two different errors of nurseries, though both groups have one text."""
    restarts, errors = Restarts(log), [OddInput("one"), OddInput("another"), OddInput("another")]

    async def task() -> None:
        async with trio.open_nursery():
            if errors:
                raise errors.pop()

    await restarts.keep("the task", task)
    assert restarts.counts == {"the task": 3}
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 2


async def test_a_fatal_error_ends_a_task_also_in_a_group(autojump_clock: trio.testing.MockClock) -> None:
    """End a task by its fatal error, also within a group."""

    async def task() -> None:
        async with trio.open_nursery():
            raise OddInput("the disk is full")

    with pytest.raises(ExceptionGroup):
        await Restarts(log).keep("the task", task, OddInput)


async def test_a_task_that_ran_for_long_has_a_short_pause_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Pause one second after a run of 100, though earlier pauses had grown."""
    restarts, begun = Restarts(log), list[float]()

    async def task() -> None:
        begun.append(trio.current_time())
        if len(begun) < 6:
            await trio.sleep(100 if len(begun) == 4 else 0)
            raise OddInput

    await restarts.keep("the task", task)
    assert begun[4] - begun[3] == 101


async def test_a_service_outlives_an_input_that_no_task_expects(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep the service up while its connection fails unexpectedly, and count that under /health."""
    source = LiveSource(Database(sqlite_url(tmp_path / "books.sqlite")), ("http://127.0.0.1:1", None))
    asked = trio.Event()

    def odd(*_: Any) -> Any:
        if source.restarts.counts.total() > 2:
            asked.set()
        raise OddInput

    monkeypatch.setattr("cfnode.swap_service.live_network.link.connected", odd)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(source.run)
        with trio.fail_after(60):
            await asked.wait()
        nursery.cancel_scope.cancel()
    _, page = await source.health()
    assert page["restarts"]["the connection to http://127.0.0.1:1"] > 2


async def test_a_follower_outlives_it_unless_it_is_to_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begin following anew after an unexpected error, but raise it with --once."""
    again = trio.Event()

    def odd(*_: Any) -> Any:
        if follower.restarts.counts["following"] > 1:
            again.set()
        raise OddInput

    monkeypatch.setattr(follower_module, "RECONNECT_S", 0.001)
    monkeypatch.setattr(follower_module, "connected", odd)
    books = Books(Database(sqlite_url(tmp_path / "books.sqlite")))
    follower = Follower(Source("http://127.0.0.1:1"), books)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(follower.run)
        with trio.fail_after(60):
            await again.wait()
        nursery.cancel_scope.cancel()
    with pytest.raises(OddInput):
        await follower.run(once=True)


async def test_the_page_outlives_it(autojump_clock: trio.testing.MockClock, tmp_path: Path) -> None:
    """Keep the page's updates up, with the error as their fault; a background renewal is silent."""
    restarts = Restarts(log)

    async def renew(block: int) -> None:
        raise OddInput

    pulse = Pulse(Database(sqlite_url(tmp_path / "books.sqlite")), renew, restarts)

    async def follow() -> None:
        await renew(1)

    pulse._follow = follow  # type: ignore[method-assign]
    with trio.move_on_after(10):
        await pulse.run()
    assert restarts.counts["the page's updates from the books"] > 2
    assert "OddInput" in str(pulse.fault)
    cache = Cache()

    async def make() -> str:
        raise OddInput

    with pytest.raises(OddInput):
        await cache.get("name", 1, make)
    await cache._quietly("name", 1, make)
