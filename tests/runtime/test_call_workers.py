"""Several processes for calls: when one more is started, which calls it makes, when it ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from cfnode.runtime import call_workers, worker_queue
from cfnode.runtime.calls import BlockSource, ExecutorDied
from cfnode.runtime.executor import Executor
from cfnode.store import Store
from tests.runtime.chain import GENESIS, RUNTIMES, extend, toy_store
from tests.runtime.toy import put
from tests.support.waiting import LIMIT_S, until

AT = BlockSource(GENESIS.hash)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a store with the toy chain's genesis."""
    with toy_store(tmp_path / "db") as opened:
        yield opened


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a call that waits for a call start a process at once, and send none ahead."""
    monkeypatch.setattr(call_workers, "BUSY_BEFORE_NEW_WORKER_S", 0.001)
    monkeypatch.setattr(worker_queue, "MAX_CALLS_AHEAD", 1)


class LongCall:
    """A call that lasts until its gate is there."""

    def __init__(self, executor: Executor, gate: Path) -> None:
        self._executor = executor
        self._gate = gate
        self.pid = 0
        self.error: ExecutorDied | None = None
        self.ended = trio.Event()

    async def make(self) -> None:
        """Make the call, and note its process or its end."""
        try:
            self.pid = int(await self._executor.call(AT, "Toy_wait", str(self._gate).encode()))
        except ExecutorDied as error:
            self.error = error
        self.ended.set()

    async def begin(self, nursery: trio.Nursery) -> None:
        """Start the call and wait until its process works on it."""
        nursery.start_soon(self.make)
        with trio.fail_after(LIMIT_S):
            while not self._gate.with_suffix(".begun").exists():  # noqa: ASYNC110 - another process makes it
                await trio.sleep(0.001)

    def end(self) -> None:
        """Let the call end."""
        self._gate.touch()


async def get(executor: Executor, key: bytes = b"old") -> bytes:
    """Return a value of the genesis state by a call."""
    return await executor.call(AT, "Toy_get", key)


async def test_a_call_that_waits_for_a_long_one_is_made_elsewhere_up_to_the_limit(
    store: Store, tmp_path: Path
) -> None:
    """Make a call elsewhere when it would wait for a long one, up to the limit of processes."""
    waiting: list[bytes] = []

    async def wait(executor: Executor) -> None:
        waiting.append(await get(executor))

    async with Executor.start(store, runtimes=RUNTIMES, call_processes=2) as executor:
        long = [LongCall(executor, tmp_path / f"gate{number}") for number in range(3)]
        async with trio.open_nursery() as nursery:
            for number, call in enumerate(long):
                await call.begin(nursery)
                if number < 2:
                    assert await get(executor) == b"\x01value"
                    assert len(executor.pids) == number + 2
            nursery.start_soon(wait, executor)
            await until(lambda: any(worker.load > 1 for worker in executor._calls.all))
            await until(lambda: not executor._calls._watches)  # nothing looks any more whether one is needed
            assert waiting == []
            assert len(executor.pids) == executor.started == 3
            for call in long:
                call.end()
        assert waiting == [b"\x01value"]
        assert [call.pid for call in long] == executor.pids


async def test_by_default_calls_wait_for_each_other(store: Store, tmp_path: Path) -> None:
    """Keep to one process by default, in which calls wait for each other."""
    async with Executor.start(store, runtimes=RUNTIMES) as executor, trio.open_nursery() as nursery:
        call = LongCall(executor, tmp_path / "gate")
        await call.begin(nursery)
        nursery.start_soon(get, executor)
        await until(lambda: executor._first.load > 1)
        assert not executor._calls._watches, "nothing looks whether one more process is needed"
        assert executor.started == 1
        call.end()


async def test_a_process_gets_calls_once_it_has_loaded_the_runtime(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Send calls to a process only once it has loaded the runtime, which takes seconds."""
    loading = tmp_path / "loading"
    monkeypatch.setenv("TOY_LOADING", str(loading))
    answered = trio.Event()

    async def wait(executor: Executor) -> None:
        await get(executor)
        answered.set()

    slow = "tests.runtime.toy:runtime_behind_gate"
    async with Executor.start(store, runtimes=slow, call_processes=2) as executor:
        await get(executor)
        loading.touch()
        long = LongCall(executor, tmp_path / "gate")
        async with trio.open_nursery() as nursery:
            await long.begin(nursery)
            nursery.start_soon(wait, executor)
            with trio.fail_after(LIMIT_S):
                while not loading.with_suffix(".begun").exists():  # noqa: ASYNC110 - another process makes it
                    await trio.sleep(0.001)
            long.end()
            with trio.fail_after(LIMIT_S):
                await answered.wait()
            assert loading.exists()
            loading.unlink()
        with trio.fail_after(LIMIT_S):
            while int(await executor.call(AT, "Toy_pid")) != executor.pids[1]:  # noqa: ASYNC110
                await trio.sleep(0.001)


async def test_all_processes_see_the_blocks_before_and_after_them(store: Store, tmp_path: Path) -> None:
    """Give every process the blocks before its start and after it."""
    async with Executor.start(store, runtimes=RUNTIMES, call_processes=2) as executor:
        one = await extend(executor, store, GENESIS, [put(b"a", b"1")])
        long = [LongCall(executor, tmp_path / f"gate{number}") for number in range(2)]
        async with trio.open_nursery() as nursery:
            for call in long:
                await call.begin(nursery)
                assert await executor.call(BlockSource(one.hash), "Toy_get", b"a") == b"\x011"
            for call in long:
                call.end()
        two = await extend(executor, store, one, [put(b"a", b"2")])
        answers: list[tuple[bytes, bytes]] = []

        async def ask() -> None:
            at = BlockSource(two.hash)
            value, pid = await executor.call_all(at, [("Toy_get", b"a"), ("Toy_pid", b"")])
            answers.append((value, pid))

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(ask)
        assert {value for value, _ in answers} == {b"\x012"}
        assert {int(pid) for _, pid in answers} == set(executor.pids[1:])


async def test_a_killed_process_fails_the_call_that_it_makes_and_no_other(
    store: Store, tmp_path: Path
) -> None:
    """Fail only the call that a killed process makes."""
    async with Executor.start(store, runtimes=RUNTIMES, call_processes=2) as executor:
        long = [LongCall(executor, tmp_path / f"gate{number}") for number in range(3)]
        async with trio.open_nursery() as nursery:
            for call in long[:2]:
                await call.begin(nursery)
                assert await get(executor) == b"\x01value"
            await long[2].begin(nursery)
            os.kill(executor.pids[1], signal.SIGKILL)
            await long[1].ended.wait()
            assert await get(executor) == b"\x01value"
            for call in long:
                call.end()
        assert [call.error is None for call in long] == [True, False, True]
        assert executor.restarts == 1


async def test_processes_without_calls_are_ended_and_started_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End processes that have had no calls for a while, and start them again when they are needed."""
    monkeypatch.setattr(call_workers, "IDLE_WORKER_LIFE_S", 0.05)
    async with Executor.start(store, runtimes=RUNTIMES, call_processes=2) as executor:
        for turn in range(2):
            long = LongCall(executor, tmp_path / f"gate{turn}")
            async with trio.open_nursery() as nursery:
                await long.begin(nursery)
                assert await get(executor) == b"\x01value"
                long.end()
            with trio.fail_after(LIMIT_S):
                while executor.pids != [executor.pid]:  # noqa: ASYNC110 - the end of processes
                    await trio.sleep(0.01)
            assert await get(executor) == b"\x01value"
            assert executor.started == 2 + turn
        assert executor.restarts == 0
