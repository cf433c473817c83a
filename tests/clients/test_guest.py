"""A trio run inside an asyncio loop: it begins, ends and fails with what it holds open."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
from trio._core import _thread_cache

from cfnode.clients.guest import Ended, HeldContext, held
from tests.support.loops import under_asyncio
from tests.support.waiting import wait_until


class Counter:
    """A context manager of trio that counts how often it was entered and left."""

    def __init__(self) -> None:
        self.entered = self.left = self.cancelled = 0

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[int]:
        """Yield the number of the entry; count entry, cancellation and leaving."""
        await trio.lowlevel.checkpoint()
        self.entered += 1
        try:
            yield self.entered
        except trio.Cancelled:
            self.cancelled += 1
            raise
        finally:
            self.left += 1


async def doubled(holder: HeldContext[int]) -> int:
    """Return twice the held value, computed in the trio run."""

    async def double() -> int:
        await trio.lowlevel.checkpoint()
        return 2 * holder.value

    call = holder.start(double)
    await call.finish()
    return holder.result(call)


def is_running() -> bool:
    """Return whether this thread has a trio run."""
    try:
        trio.lowlevel.current_trio_token()
    except RuntimeError:
        return False
    return True


def test_the_run_ends_with_the_last_block_and_starts_again() -> None:
    """End the trio run with its last block, and start another one with the next."""
    counter = Counter()

    async def scenario() -> None:
        for number in (1, 3):
            async with held(counter.opened) as first:
                async with held(counter.opened) as second:
                    assert [await doubled(first), await doubled(second)] == [2 * number, 2 * number + 2]
                assert is_running()
            assert not is_running()

    under_asyncio(scenario)
    assert (counter.entered, counter.left, counter.cancelled) == (4, 4, 0)


def test_blocks_that_begin_while_the_run_ends_get_another() -> None:
    """Give blocks that begin while a run ends another run."""
    counter = Counter()

    async def use() -> None:
        for _ in range(5):
            async with held(counter.opened) as holder:
                assert await doubled(holder) > 0

    async def scenario() -> None:
        await asyncio.gather(*(use() for _ in range(10)))
        assert not is_running()

    under_asyncio(scenario)
    assert (counter.entered, counter.left, counter.cancelled) == (50, 50, 0)


def test_no_task_and_no_thread_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that trio used waits ten seconds for other work."""
    monkeypatch.setattr(_thread_cache, "IDLE_TIMEOUT", 0.01)
    monkeypatch.setattr(_thread_cache, "THREAD_CACHE", _thread_cache.ThreadCache())
    threads = set(threading.enumerate())

    async def scenario() -> None:
        async with held(Counter().opened):
            await asyncio.to_thread(wait_until, lambda: len(set(threading.enumerate()) - threads) > 1)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    under_asyncio(scenario)
    wait_until(lambda: set(threading.enumerate()) <= threads)


def test_an_error_of_the_block_is_raised_after_the_end() -> None:
    """Raise an error of the block after the end of the run."""
    counter = Counter()

    async def scenario() -> None:
        with pytest.raises(ZeroDivisionError):
            async with held(counter.opened):
                _ = 1 / 0
        assert not is_running()

    under_asyncio(scenario)
    assert (counter.left, counter.cancelled) == (1, 0)


@pytest.mark.parametrize("times", [1, 3])
def test_a_cancellation_of_the_block_cancels_what_is_open(times: int) -> None:
    """Cancel what is open when the block is cancelled, once or often."""
    counter = Counter()

    async def scenario() -> None:
        entered = asyncio.Event()

        async def block() -> None:
            async with held(counter.opened) as holder:
                call = holder.start(trio.sleep_forever)
                entered.set()
                await call.finish()

        task = asyncio.create_task(block())
        await entered.wait()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)  # one turn of the loop, so that each cancellation arrives
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not is_running()

    under_asyncio(scenario)
    assert (counter.left, counter.cancelled) == (1, 1)


def test_a_cancellation_while_it_opens() -> None:
    """Cancel the opening itself, and end the run."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[None]:
        await trio.sleep_forever()
        yield

    async def scenario() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), held(opening):
                raise AssertionError("not open")
        assert not is_running()

    under_asyncio(scenario)


def test_what_ends_by_itself_ends_its_calls_with_its_error() -> None:
    """Raise the error of what ended by itself for pending and new calls."""
    broken = trio.Event()

    @asynccontextmanager
    async def breaking() -> AsyncIterator[None]:
        async def breaks() -> None:
            await broken.wait()
            raise OSError("gone")

        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(breaks)
                yield
        except ExceptionGroup as group:
            raise group.exceptions[0] from None

    async def scenario() -> None:
        with pytest.raises(OSError, match="gone"):
            async with held(breaking) as holder:
                call = holder.start(trio.sleep_forever)
                broken.set()
                await call.finish()
                for attempt in (partial(holder.result, call), partial(holder.start, trio.sleep_forever)):
                    with pytest.raises(OSError, match="gone"):
                        attempt()

    under_asyncio(scenario)


def test_a_block_that_is_left_takes_no_calls() -> None:
    """Refuse calls of a block that was left."""

    async def scenario() -> None:
        async with held(Counter().opened) as holder:
            call = holder.start(trio.sleep_forever)
        await call.wait()
        for attempt in (partial(holder.result, call), partial(holder.start, trio.sleep_forever)):
            with pytest.raises(Ended):
                attempt()

    under_asyncio(scenario)


def test_a_loop_with_another_guest_is_refused() -> None:
    """Refuse a loop with another guest, and name the way out."""

    async def scenario() -> None:
        loop, leave = asyncio.get_running_loop(), trio.Event()
        ended = loop.create_future()
        trio.lowlevel.start_guest_run(
            leave.wait,
            run_sync_soon_threadsafe=loop.call_soon_threadsafe,
            done_callback=ended.set_result,
            host_uses_signal_set_wakeup_fd=True,
        )
        with pytest.raises(RuntimeError, match="open the connection in a task of that trio run"):
            async with held(Counter().opened):
                raise AssertionError("not open")
        leave.set()
        await ended

    under_asyncio(scenario)
