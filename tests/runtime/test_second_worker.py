"""The second process: when it is started, which blocks it has, and what fails when it dies."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing

from cfnode.core.aura import pre_runtime_item, sealed
from cfnode.core.header import Header
from cfnode.runtime.calls import BlockSource, BuiltBlock, ExecutorDied
from cfnode.runtime.child import Child
from cfnode.runtime.executor import Executor
from cfnode.store import Store
from tests.runtime.chain import GENESIS, RUNTIMES, extend, toy_store
from tests.runtime.toy import extrinsic, put
from tests.support.waiting import LIMIT_S

AT = BlockSource(GENESIS.hash)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a store with the toy chain's genesis."""
    with toy_store(tmp_path / "db") as opened:
        yield opened


class LongBlock:
    """A block that is built until its `gate` is there."""

    def __init__(self, executor: Executor, gate: Path) -> None:
        self._executor = executor
        self._gate = gate
        self.result: BuiltBlock | ExecutorDied | None = None

    async def build(self, parent: Header) -> None:
        """Build until the gate is there, and note the block or the process's end."""
        digest = [pre_runtime_item(parent.number + 1)]
        endless = [extrinsic(b"w", str(self._gate).encode())]
        try:
            self.result = await self._executor.build_block(parent.hash, digest, [], endless, 60.0)
        except ExecutorDied as error:
            self.result = error

    def end(self) -> None:
        """Let the building end."""
        self._gate.touch()


@asynccontextmanager
async def building(executor: Executor, gate: Path, parent: Header = GENESIS) -> AsyncIterator[LongBlock]:
    """Let the executor be at work on a block, which ends when the context does, if not before."""
    block = LongBlock(executor, gate)
    async with trio.open_nursery() as nursery:
        await executor.call(AT, "Toy_pid")
        nursery.start_soon(block.build, parent)
        await trio.testing.wait_all_tasks_blocked()
        assert block.result is None
        yield block
        block.end()


@asynccontextmanager
async def with_two(store: Store, gate: Path) -> AsyncIterator[Executor]:
    """Yield an executor that has two processes, both idle."""
    async with Executor.start(store, runtimes=RUNTIMES) as executor:
        async with building(executor, gate):
            await executor.call(AT, "Toy_pid")
        yield executor


async def test_a_call_is_answered_during_a_long_block(store: Store, tmp_path: Path) -> None:
    """Answer a call during a long block, by a second process."""
    async with Executor.start(store, runtimes=RUNTIMES) as executor:
        async with building(executor, tmp_path / "gate") as block:
            assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"
            assert block.result is None
        assert isinstance(block.result, BuiltBlock)
        assert len(executor.pids) == executor.started == 2


async def test_calls_and_small_blocks_by_themselves_need_one_process(store: Store) -> None:
    """Need only one process while calls and small blocks come one after the other."""
    async with Executor.start(store, runtimes=RUNTIMES) as executor:
        head = GENESIS
        for number in range(20):
            head = await extend(executor, store, head, [put(b"a", b"%d" % number)])
            assert await executor.call(BlockSource(head.hash), "Toy_get", b"a") == b"\x01%d" % number
        assert executor.pids == [executor.pid]


async def test_all_callers_that_wait_for_a_block_are_answered_before_it_ends(
    store: Store, tmp_path: Path
) -> None:
    """Answer all callers that wait for a block before it ends."""
    answers: dict[int, int] = {}

    async def ask(size: int) -> None:
        answers[size] = len(await executor.call(AT, "Toy_large", b"%d" % size))

    async with (
        Executor.start(store, runtimes=RUNTIMES) as executor,
        building(executor, tmp_path / "gate") as block,
    ):
        async with trio.open_nursery() as nursery:
            for size in range(100):
                nursery.start_soon(ask, size)
        assert answers == {size: size for size in range(100)}
        assert block.result is None


async def test_callers_cancelled_while_waiting_do_not_disturb_the_others(
    store: Store, tmp_path: Path
) -> None:
    """Answer correctly after waiting callers were cancelled at various moments."""
    async with (
        Executor.start(store, runtimes=RUNTIMES) as executor,
        building(executor, tmp_path / "gate"),
    ):
        for patience in (0.0, 0.01, 0.06, 0.1, 0.2, 0.4):
            with trio.move_on_after(patience):
                await executor.call(AT, "Toy_large", b"1000000")
        assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"


async def test_the_second_process_knows_the_blocks_before_it_and_those_after(
    store: Store, tmp_path: Path
) -> None:
    """Give the second process the blocks before its start and after it."""
    async with Executor.start(store, runtimes=RUNTIMES) as executor:
        one = await extend(executor, store, GENESIS, [put(b"a", b"1")])
        async with building(executor, tmp_path / "gate", one):
            assert await executor.call(BlockSource(one.hash), "Toy_get", b"a") == b"\x011"
        two = await extend(executor, store, one, [put(b"a", b"2")])
        fork = await extend(executor, store, one, [put(b"a", b"3")])
        for block, value in ((one, b"1"), (two, b"2"), (fork, b"3")):
            assert await executor.call(BlockSource(block.hash), "Toy_get", b"a") == b"\x01" + value
        assert int(await executor.call(AT, "Toy_pid")) == executor.pids[1]


async def test_a_killed_second_process_fails_its_call_and_no_block(store: Store, tmp_path: Path) -> None:
    """Fail the call of a killed second process, and no block."""
    async with with_two(store, tmp_path / "first") as executor:
        one = await extend(executor, store, GENESIS, [put(b"a", b"1")])
        async with building(executor, tmp_path / "second", one) as block:
            with pytest.raises(ExecutorDied, match="signal 9"):
                await executor.call(AT, "Toy_kill")
            assert await executor.call(BlockSource(one.hash), "Toy_get", b"a") == b"\x011"
            os.kill(executor.pids[1], signal.SIGKILL)  # idle: costs nothing
            assert await executor.call(BlockSource(one.hash), "Toy_get", b"a") == b"\x011"
            assert block.result is None
        assert isinstance(block.result, BuiltBlock)
        assert executor.started == 4


async def test_a_killed_first_process_fails_its_block_and_no_call(store: Store, tmp_path: Path) -> None:
    """Fail the block of a killed first process, and no call."""
    async with with_two(store, tmp_path / "first") as executor:
        first, second = executor.pids
        async with building(executor, tmp_path / "second") as block:
            while not (tmp_path / "second.begun").exists():
                await executor.call(AT, "Toy_pid")
            os.kill(first, signal.SIGKILL)
            assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"
        assert isinstance(block.result, ExecutorDied)
        one = await extend(executor, store, GENESIS, [put(b"a", b"1")])
        assert await executor.call(BlockSource(one.hash), "Toy_get", b"a") == b"\x011"
        assert executor.pids[0] != first
        assert executor.pids[1] == second


async def test_blocks_do_not_wait_for_a_call_that_runs_away(store: Store, tmp_path: Path) -> None:
    """Build blocks while a call runs away in the other process."""
    async with with_two(store, tmp_path / "gate") as executor, trio.open_nursery() as nursery:
        nursery.start_soon(executor.call, AT, "Toy_runaway")
        await trio.testing.wait_all_tasks_blocked()
        one = await extend(executor, store, GENESIS, [put(b"a", b"1")])
        assert one.number == 1
        nursery.cancel_scope.cancel()


async def test_if_the_second_process_cannot_start_the_first_goes_on_and_it_is_retried(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Go on with the first process while the second cannot start, and try again later."""
    tried = trio.Event()

    def no_room(*_: object) -> Child:
        tried.set()
        raise BlockingIOError("no more processes")

    async with Executor.start(store, runtimes=RUNTIMES) as executor:
        async with building(executor, tmp_path / "first") as block, trio.open_nursery() as nursery:
            monkeypatch.setattr(Child, "start", no_room)
            nursery.start_soon(executor.call, AT, "Toy_pid")
            await tried.wait()
            block.end()
        assert len(executor.pids) == 1
        monkeypatch.undo()
        async with building(executor, tmp_path / "second"):
            assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"
        assert len(executor.pids) == 2


async def test_a_block_that_is_executed_lets_calls_pass_too(store: Store, tmp_path: Path) -> None:
    """Answer a call while a block is executed, not only while one is built."""
    gate = tmp_path / "gate"
    changes = []
    async with Executor.start(store, runtimes=RUNTIMES) as executor:
        async with building(executor, gate) as block:
            pass
        assert isinstance(block.result, BuiltBlock)
        gate.unlink()
        header, body = sealed(block.result.header, bytes(64)), block.result.body

        async def execute() -> None:
            changes.append(await executor.execute_block(header, body))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(execute)
            await trio.testing.wait_all_tasks_blocked()
            assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"
            assert changes == []
            gate.touch()
        assert changes == [block.result.changes]


@pytest.mark.parametrize("wait_s", [0.0, 0.051, 0.1])
async def test_ending_while_the_second_process_starts_leaves_none(
    store: Store, tmp_path: Path, wait_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leave no process behind when the end comes while the second one starts."""
    pids: list[int] = []
    start = Child.start

    def noted(path: Path, runtimes: str) -> Child:
        child = start(path, runtimes)
        pids.append(child.pid)
        return child

    monkeypatch.setattr(Child, "start", noted)
    with trio.fail_after(LIMIT_S):
        async with Executor.start(store, runtimes=RUNTIMES) as executor, trio.open_nursery() as nursery:
            await executor.call(AT, "Toy_pid")
            nursery.start_soon(LongBlock(executor, tmp_path / "gate").build, GENESIS)
            await trio.testing.wait_all_tasks_blocked()
            with trio.move_on_after(wait_s):
                await executor.call(AT, "Toy_pid")
            nursery.cancel_scope.cancel()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
