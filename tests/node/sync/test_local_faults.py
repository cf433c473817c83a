"""A follower's executor is killed, out of time or out of memory: real processes on a growing chain."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from cfnode.runtime import executor as executor_module
from cfnode.runtime.calls import Deadline, ExecutorDied, Runtime, RuntimeTrap
from cfnode.runtime.executor import Executor
from cfnode.runtime.journal import Journal
from cfnode.store import Store
from tests.conftest import ROOT
from tests.node.conftest import MakeRig
from tests.node.mini import MiniRuntime, forget, put, tx
from tests.support.node.executors import Failing
from tests.support.node.net import join
from tests.support.node.peers import KEYS, Peer, followed, in_step, running
from tests.support.waiting import LIMIT_S

pytestmark = pytest.mark.world

MODE = "CFNODE_TEST_EXECUTOR_MODE"
KILLS = int(os.environ.get("CFNODE_TEST_KILLS", "9"))
"""Each takes more than a second: a new process has to start. CFNODE_TEST_KILLS=100 for the whole story."""
LAG = 3
BLOCK_S = 4.0


class Disturbed(MiniRuntime):
    """The mini chain's rules in a process that fails as the file of the environment says."""

    def call(self, function: str, args: bytes, journal: Journal) -> bytes:
        """Disturb the execution of a block as the file says, then execute it."""
        if function == "Core_execute_block":
            disturb(Path(os.environ[MODE]))
        return super().call(function, args, journal)


def disturb(mode: Path) -> None:
    """Fail as the file says: slow, endless or out of memory."""
    kind = mode.read_text()
    if kind == "slow":
        time.sleep(0.05)  # so that a kill finds the process at work
    elif kind == "endless":
        time.sleep(60)  # a block that does not end within `BLOCK_TIMEOUT_S`
    elif kind == "memory":
        limit = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, limit[1]))
        try:
            bytearray(1 << 31)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limit)


def runtime_for(code: bytes) -> Runtime:
    """Return the runtime of the disturbed process."""
    return Disturbed()


def started(store: Store, nursery: trio.Nursery) -> Executor:
    """Return an executor whose runtime is disturbed, with its task started."""
    executor = Executor(store, f"{__name__}:runtime_for", nursery, call_processes=1)
    nursery.start_soon(executor._serve)
    return executor


async def test_a_fault_in_the_syncs_own_runtime_calls_stops_nothing_and_charges_no_peer(
    make_rig: MakeRig, patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """The authorities of a block, the voters, and the execution itself: all fail for a while."""
    authority = Peer("authority", await make_rig("authority", authorities=KEYS), author=True)
    rig = await make_rig(
        "follower", authorities=KEYS, executor=lambda store: Failing(store, authority.rig.runtime)
    )
    follower = Peer("follower", rig)
    async with running(authority, follower):
        await authority.rig.block(final=True)
        await followed(follower, authority)
        for fault in (ExecutorDied("killed"), RuntimeTrap("no such function"), Deadline("AuraApi", 30)):
            rig.executor.call_fault = fault
            forget(follower.chain)
            before = follower.chain.best
            block = await authority.rig.block()
            await authority.rig.finality.finalize(block)
            await trio.sleep(20)
            assert follower.chain.best == before
            assert follower.chain.faults.reason is not None
            rig.executor.call_fault = None
            await authority.rig.finality.finalize(await authority.rig.block())
            await in_step(follower, authority)
            assert follower.chain.faults.reason is None
        assert follower.network.reports == authority.network.reports == []
        assert "is restarted" not in caplog.text


async def test_kills_deadlines_and_lack_of_memory_cost_no_peer_and_no_block(
    make_rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lose no block and charge no peer for kills, deadlines and lack of memory of the executor."""
    mode = tmp_path / "mode"
    mode.write_text("slow")
    monkeypatch.setenv(MODE, str(mode))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(executor_module, "BLOCK_TIMEOUT_S", 1.0)
    authority = Peer("authority", await make_rig("authority", authorities=KEYS), author=True)
    async with trio.open_nursery() as nursery:
        rig = await make_rig("follower", authorities=KEYS, executor=lambda store: started(store, nursery))
        await _disturb(authority, Peer("follower", rig), mode)
        nursery.cancel_scope.cancel()


async def _disturb(authority: Peer, follower: Peer, mode: Path) -> None:
    chain, killed = follower.chain, set[int]()
    executor = follower.rig.executor
    assert isinstance(executor, Executor)

    async def grow() -> None:
        nonce = 0
        while True:
            block = await authority.rig.block(tx("alice", nonce, put("number", str(nonce))))
            await authority.rig.finality.finalize(block)
            nonce += 1
            await trio.sleep(BLOCK_S)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(authority.sync.run)
        nursery.start_soon(follower.sync.run)
        join(follower.network, authority.network)
        nursery.start_soon(grow)
        with trio.fail_after(LIMIT_S + 30 * KILLS):  # so that only a hang fails
            while len(killed) < KILLS:
                await _kill(executor, killed)
                if len(killed) % 3 == 0:  # three attempts in a row are ended, then one goes through
                    await _until(lambda best=chain.best: chain.best != best)
                if len(killed) % 9 == 0:
                    for kind in ("endless", "memory"):
                        await trio.Path(mode).write_text(kind)
                        await _until(lambda faults=chain.faults.total: chain.faults.total > faults)
                        await trio.Path(mode).write_text("slow")
        with trio.fail_after(LIMIT_S):
            await _until(lambda: chain.faults.reason is None and not follower.sync.progress.is_syncing)
            await _until(lambda: _lag(authority, follower) <= LAG)
        assert chain.best.number >= KILLS // 3
        assert follower.network.reports == authority.network.reports == []
        assert "authority" in follower.network.others
        assert chain.faults.total > KILLS / 2
        nursery.cancel_scope.cancel()


def _lag(authority: Peer, follower: Peer) -> int:
    """Return the number of blocks that the follower lacks, of all or of the final ones."""
    ours, theirs = follower.chain, authority.chain
    return max(theirs.best.number - ours.best.number, theirs.finalized.number - ours.finalized.number)


async def _kill(executor: Executor, killed: set[int]) -> None:
    """Kill a process that is executing a block, once more."""
    await _until(lambda: _at_work(executor) not in (None, *killed))
    pid = _at_work(executor)
    assert pid is not None
    killed.add(pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


async def _until(met: Callable[[], bool]) -> None:
    while not met():  # noqa: ASYNC110  # other processes bring it about; the callers bound it
        await trio.sleep(0.005)


def _at_work(executor: Executor) -> int | None:
    """Return the process that has begun to execute a block."""
    first = executor._first
    return executor.pid if first.is_at_block_work and first.working_on else None
