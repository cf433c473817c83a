"""What callers that leave and messages that are too large do to the calls and blocks behind them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from cfnode.core.aura import pre_runtime_item, sealed
from cfnode.core.header import Header
from cfnode.core.state import TOP, Changes
from cfnode.runtime import frames, worker_queue
from cfnode.runtime.calls import BlockSource, ExecutorMessageTooLarge
from cfnode.runtime.executor import Executor
from cfnode.runtime.requests import ExecutorRequest, outputs
from cfnode.runtime.worker_queue import WorkerQueue
from cfnode.store import Store
from tests.runtime.chain import GENESIS, RUNTIMES, toy_store
from tests.runtime.toy import put

AT = BlockSource(GENESIS.hash)
LIMIT_S = 3.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a store with the toy chain's genesis."""
    with toy_store(tmp_path / "db") as opened:
        yield opened


async def test_a_caller_that_leaves_while_a_dead_process_is_replaced_delays_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answer the next caller in time though the caller before it left while a process was replaced."""
    start, scope, left = WorkerQueue.start, trio.CancelScope(), trio.Event()

    async def leave() -> None:
        with scope:
            await executor.call(AT, "Toy_get", b"large", seconds=LIMIT_S)
        left.set()

    async def started_after_the_caller_has_left(queue: WorkerQueue) -> None:
        await start(queue)
        if queue.started == 2:
            scope.cancel()
            await left.wait()

    monkeypatch.setattr(WorkerQueue, "start", started_after_the_caller_has_left)
    async with Executor.start(store, runtimes=RUNTIMES) as executor, trio.open_nursery() as nursery:
        os.kill(int(await executor.call(AT, "Toy_pid")), signal.SIGKILL)
        child = executor._first._child
        assert child is not None
        while child.alive:  # noqa: ASYNC110 - the system ends it
            await trio.sleep(0.001)
        nursery.start_soon(leave)
        await trio.testing.wait_all_tasks_blocked()
        with trio.fail_after(LIMIT_S / 2):
            assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"
        assert scope.cancelled_caught
        assert executor.started == 2


async def test_a_process_that_no_longer_reads_is_replaced_before_the_next_call(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replace a process that no longer reads before the next call."""
    monkeypatch.setattr(worker_queue, "OVERLAY_TIMEOUT_S", 0.5)
    async with Executor.start(store, runtimes=RUNTIMES) as executor:
        header, body, changes = await built(executor, put(b"z", b"x" * 8_000_000))
        os.kill(int(await executor.call(AT, "Toy_pid")), signal.SIGSTOP)
        await executor.overlay_added(store.add_block(header, body, changes))
        with trio.fail_after(5 * LIMIT_S):
            assert await executor.call(BlockSource(header.hash), "Toy_get", b"old") == b"\x01value"
        assert executor.started == 2


async def built(executor: Executor, *candidates: bytes) -> tuple[Header, list[bytes], Changes]:
    """Return a block that was built of candidates."""
    made = await executor.build_block(GENESIS.hash, [pre_runtime_item(1)], [], candidates, 5.0)
    return sealed(made.header, bytes(64)), made.body, made.changes


async def test_of_a_block_with_too_large_a_value_nothing_reaches_the_process(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Send nothing of a block with a value over the limit: half a block would be a wrong state."""
    async with Executor.start(store, runtimes=RUNTIMES) as executor:
        large = await built(executor, put(b"a", b"of the large block"), put(b"z", b"x" * 200_000))
        small = await built(executor, put(b"c", b"1"))
        with monkeypatch.context() as patched:
            patched.setattr(frames, "MAX_FRAME", 100_000)
            patched.setattr(frames, "FRAME_SLICE_BYTES", 1_000)
            for header, body, changes in (large, small):
                await executor.overlay_added(store.add_block(header, body, changes))
            at = BlockSource(small[0].hash)
            assert await executor.call(at, "Toy_get", b"c") == b"\x011"
            assert await executor.call(at, "Toy_get", b"a") == b"\0"
            assert "block #1 cannot be sent to the executor process" in caplog.text
            os.kill(int(await executor.call(AT, "Toy_pid")), signal.SIGKILL)
            # the next process starts without that block, too
            assert await executor.call(at, "Toy_get", b"c") == b"\x011"
        assert executor.started == 2


async def test_of_a_request_that_is_too_large_nothing_reaches_the_process(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Send nothing of a request over the limit: its rows would count to the next block."""
    rows = frames.Rows(False, TOP, {b"a": b"of the request"})
    call = frames.CallOrder(7, AT, [("Toy_get", bytes(200_000))])
    async with Executor.start(store, runtimes=RUNTIMES) as executor:
        header, body, changes = await built(executor, put(b"c", b"1"))
        request = ExecutorRequest(7, "Toy_get", LIMIT_S, [rows, call], outputs)
        with monkeypatch.context() as patched:
            patched.setattr(frames, "MAX_FRAME", 100_000)
            executor._first.put(request)
            with pytest.raises(ExecutorMessageTooLarge):
                await request.answer()
        await executor.overlay_added(store.add_block(header, body, changes))
        assert await executor.call(BlockSource(header.hash), "Toy_get", b"a") == b"\0"
