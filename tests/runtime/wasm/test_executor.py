"""WebAssembly in the executor process: new code in a block, and what the node itself never loads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from cfnode.core.aura import pre_runtime_item, sealed
from cfnode.core.header import Header
from cfnode.core.trie import EMPTY_ROOT, root
from cfnode.runtime.calls import BlockSource, BuiltBlock, Deadline, ExecutorDied
from cfnode.runtime.executor import Executor
from cfnode.store import Pruning, Store
from tests.conftest import ROOT
from tests.lengths import repeats
from tests.runtime.wasm import counter

STATE = {b":code": counter.module(), b"next-code": counter.module(step=10)}
GENESIS = Header(bytes(32), 0, root(STATE, 1), EMPTY_ROOT)


KILLS = repeats(100, 8)
LONG = 300
"""Extrinsics of a block that takes long enough to be interrupted."""


def opened(path: Path) -> Store:
    """Open a store with the counter's genesis."""
    store = Store.open(path, pruning=Pruning(8, 8), sync=False)
    store.initialise(GENESIS, STATE)
    return store


async def build(executor: Executor, parent: Header, *candidates: bytes) -> BuiltBlock:
    """Build a block on a parent."""
    return await executor.build_block(
        parent.hash, [pre_runtime_item(parent.number + 1)], [], list(candidates), 5.0
    )


async def extend(executor: Executor, store: Store, parent: Header, *candidates: bytes) -> Header:
    """Build a block, execute it as a peer's, store it."""
    built = await build(executor, parent, *candidates)
    assert len(built.body) == 1 + len(candidates)
    header = sealed(built.header, bytes(64))
    changes = await executor.execute_block(header, built.body)
    assert changes == built.changes
    await executor.overlay_added(store.add_block(header, built.body, changes))
    return header


async def count(executor: Executor, block: Header) -> int:
    """Return the counter at a block."""
    return int.from_bytes(await executor.call(BlockSource(block.hash), "Counter_get"), "little")


async def test_new_code_runs_from_the_next_block_on_and_the_old_one_stays_loaded(tmp_path: Path) -> None:
    """Run new code from the block after it on, and the old one in forks and older blocks."""
    store = opened(tmp_path)
    async with Executor.start(store) as executor:
        before = await extend(executor, store, GENESIS, counter.extrinsic(b"+", 1))
        at = await extend(executor, store, before, counter.extrinsic(b"u", 1), counter.extrinsic(b"+", 1))
        after = await extend(executor, store, at, counter.extrinsic(b"+", 1))
        assert [await count(executor, block) for block in (before, at, after)] == [1, 3, 13]
        fork = await extend(executor, store, before, counter.extrinsic(b"+", 5))  # still in the old code
        assert await count(executor, fork) == 6
        store.finalize(after.hash)
        again = await extend(executor, store, after, counter.extrinsic(b"+", 2))
        assert [await count(executor, block) for block in (before, again)] == [1, 33]
    store.close()


@pytest.mark.world
async def test_kills_in_the_middle_of_blocks_lose_none_of_them(tmp_path: Path) -> None:
    """Lose no block when the process is killed in the middle of one."""
    store = opened(tmp_path)
    head, died = GENESIS, 0
    additions = [counter.extrinsic(b"+", 1)] * LONG
    cost_ns = 0
    async with Executor.start(store) as executor:
        for attempt in range(10 * KILLS):
            if died == KILLS:
                break
            await build(executor, head)  # the process is there again, and knows every block
            before_ns = _used_ns(executor.pid)
            async with trio.open_nursery() as nursery:
                if attempt % 10:  # one in ten is left in peace
                    nursery.start_soon(_kill_at, executor, before_ns + cost_ns * (attempt % 10) // 10)
                try:
                    head = await extend(executor, store, head, *additions)
                except ExecutorDied:
                    died += 1
                else:
                    cost_ns = cost_ns or _used_ns(executor.pid) - before_ns
                nursery.cancel_scope.cancel()
        assert died == KILLS
        assert await count(executor, head) == LONG * head.number
    assert head.number >= KILLS // 10
    assert store.unfinalized()[-1][0] == head
    assert head.number == len(store.unfinalized())
    store.close()


def _used_ns(pid: int | None) -> int:
    """Return the processor time of a process so far, in nanoseconds."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


async def _kill_at(executor: Executor, used_ns: int) -> None:
    """Kill the process when it has used this processor time: in the middle of a block, however slow it is."""
    pid = executor.pid
    assert pid is not None
    while _used_ns(pid) < used_ns:  # noqa: ASYNC110 - no event announces what another process has used
        await trio.sleep(0.001)
    os.kill(pid, signal.SIGKILL)


async def test_a_runaway_call_is_ended_without_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End a runaway call at its deadline, and keep the process with its compiled code."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    store = opened(tmp_path)
    async with Executor.start(store, runtimes="tests.runtime.wasm.test_executor:impatient") as executor:
        assert await count(executor, GENESIS) == 0
        pid = executor.pid
        with pytest.raises(Deadline, match=r"Counter_loop took longer than 0.5 s"):
            await executor.call(BlockSource(GENESIS.hash), "Counter_loop")
        assert await count(executor, GENESIS) == 0
        assert executor.pid == pid
    store.close()


def impatient(code: bytes):  # type: ignore[no-untyped-def]
    """Return a factory whose runtimes give up early."""
    from cfnode.runtime.wasm.artefacts import Artefacts, directory
    from cfnode.runtime.wasm.runtime import WasmRuntime

    return WasmRuntime(code, Artefacts(directory()), call_s=0.5)


_NODE = """
import sys
import cfnode.cli.run, cfnode.cli.lifetime, cfnode.node.service, cfnode.rpc.server, cfnode.runtime.worker
from cfnode.devchain.runtime.genesis import dev_genesis
from cfnode.devchain.runtime_choice import runtime_for
from tests.lengths import repeats
runtime_for(dev_genesis()[b":code"])
print(sorted({"wasmtime", "zstandard"} & set(sys.modules)))
"""


@pytest.mark.world
def test_neither_the_node_nor_a_development_chain_loads_wasmtime() -> None:
    """Load wasmtime in the executor alone: node and development chain start without it."""
    done = subprocess.run([sys.executable, "-c", _NODE], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
