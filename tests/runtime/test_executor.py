"""The executor process: what it answers, and what its end costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
import trio
import trio.testing

from cfnode.core.aura import pre_runtime_item, sealed
from cfnode.runtime.calls import (
    BlockRefused,
    BlockSource,
    Deadline,
    ExecutorDied,
    ExecutorMessageTooLarge,
    HostFault,
    LocalFault,
    Missing,
    OutOfMemory,
    ProofRefused,
    ProofSource,
    RuntimeCallError,
    RuntimeTrap,
    StoreFault,
    UnknownFunction,
    UnsupportedCode,
    Verdict,
)
from cfnode.runtime.executor import Executor
from cfnode.runtime.frames import FRAME_SLICE_BYTES
from cfnode.store import StateDiscarded, Store, UnknownBlock
from tests.conftest import ROOT
from tests.core.trie.proofs import build_proof
from tests.lengths import repeats
from tests.runtime.chain import GENESIS, GENESIS_STATE, RUNTIMES, extend, toy_store
from tests.runtime.memory_state import MemoryState
from tests.runtime.toy import CODE, put
from tests.support.processes import has_ended
from tests.support.waiting import wait_until

AT = BlockSource(GENESIS.hash)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Open a store with the toy chain's genesis."""
    with toy_store(tmp_path / "db") as opened:
        yield opened


@asynccontextmanager
async def running(store: Store) -> AsyncIterator[Executor]:
    """Run an executor on a store."""
    async with Executor.start(store, runtimes=RUNTIMES) as executor:
        yield executor


def gone(pid: int) -> bool:
    """Return whether no process has this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_a_call_reads_the_state_of_its_block_and_its_writes_are_discarded(store: Store) -> None:
    """Read the state of the call's block, and discard what the call writes."""
    async with running(store) as executor:
        assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"
        assert await executor.call(AT, "Toy_next", b"old") == b""
        written = await executor.call(AT, "Toy_write", b"new")
        assert written == MemoryState(GENESIS_STATE | {b"new": b"written"}).root
        assert await executor.call(AT, "Toy_get", b"new") == b"\0"


async def test_a_chain_grows_by_built_and_executed_blocks_and_forks(store: Store) -> None:
    """Grow a chain with forks, and read each block's own state until it is discarded."""
    async with running(store) as executor:
        one = await extend(executor, store, GENESIS, [put(b"a", b"1")])
        two = await extend(executor, store, one, [put(b"a", b"2")])
        fork = await extend(executor, store, one, [put(b"a", b"3"), put(b"b", b"x" * 40)])
        for block, value in ((one, b"1"), (two, b"2"), (fork, b"3")):
            assert await executor.call(BlockSource(block.hash), "Toy_get", b"a") == b"\x01" + value
        store.finalize(fork.hash)
        assert await executor.call(BlockSource(fork.hash), "Toy_get", b"b") == b"\x01" + b"x" * 40
        assert await executor.call(BlockSource(one.hash), "Toy_get", b"a") == b"\x011"
        with pytest.raises(StateDiscarded):
            await executor.call(BlockSource(two.hash), "Toy_get", b"a")
        with pytest.raises(UnknownBlock):
            await executor.call(BlockSource(bytes(32)), "Toy_get", b"a")
        with pytest.raises(UnknownBlock):
            await executor.build_block(bytes(32), [], [], [], 1.0)


async def test_a_block_whose_header_does_not_match_is_refused(store: Store) -> None:
    """Refuse a block whose header does not match or that has no seal."""
    async with running(store) as executor:
        built = await executor.build_block(GENESIS.hash, [pre_runtime_item(1)], [], [put(b"a", b"1")], 5.0)
        with pytest.raises(BlockRefused, match="state root"):
            await executor.execute_block(
                sealed(replace(built.header, state_root=bytes(32)), bytes(64)), built.body
            )
        with pytest.raises(BlockRefused, match="seal"):
            await executor.execute_block(built.header, built.body)
        assert (await executor.execute_block(sealed(built.header, bytes(64)), built.body)) == built.changes


async def test_errors_of_the_process_keep_their_type_and_the_process_stays(store: Store) -> None:
    """Keep the type and text of an error over the process border, without ending the process."""
    async with running(store) as executor:
        await executor.call(AT, "Toy_pid")
        pid = executor.pid
        with pytest.raises(RuntimeTrap, match="the reason"):
            await executor.call(AT, "Toy_trap", b"the reason")
        with pytest.raises(RuntimeTrap, match=r"ZeroDivisionError.*Toy_mistake"):
            await executor.call(AT, "Toy_mistake")
        with pytest.raises(UnknownFunction) as caught:
            await executor.call(AT, "Toy_unheard_of")
        assert caught.value.function == "Toy_unheard_of"
        with pytest.raises(UnsupportedCode):
            await executor.call(ProofSource(bytes(32), [], b"\0asm"), "Toy_get", b"")
        assert executor.pid == pid


def test_each_error_is_a_verdict_or_a_local_fault() -> None:
    """Sort every error as a verdict of the runtime or a fault of this machine: only verdicts blame a peer."""
    kinds = [kind for base in RuntimeCallError.__subclasses__() for kind in base.__subclasses__()]
    assert RuntimeCallError.__subclasses__() == [Verdict, LocalFault]
    assert {kind for kind in kinds if issubclass(kind, Verdict)} == {
        *(RuntimeTrap, UnknownFunction, BlockRefused, Missing, ProofRefused)
    }


async def test_a_fault_of_this_machine_is_no_verdict_of_the_runtime(store: Store) -> None:
    """Report a missing module, file or node as a fault of this machine, not of the runtime."""
    async with running(store) as executor:
        pid = int(await executor.call(AT, "Toy_pid"))
        with pytest.raises(HostFault, match=r"ModuleNotFoundError.*no_such_module"):
            await executor.call(AT, "Toy_import", b"no_such_module")
        with pytest.raises(HostFault, match=r"FileNotFoundError.*/no/such/file"):
            await executor.call(AT, "Toy_file", b"/no/such/file")
        with pytest.raises(StoreFault, match="is damaged"):
            await executor.call(AT, "Toy_hole", b"key")
        assert int(await executor.call(AT, "Toy_pid")) == pid


async def test_a_process_without_memory_is_replaced(store: Store) -> None:
    """Replace a process that has no memory left, within a call and at its answer."""
    async with running(store) as executor:
        pids = [int(await executor.call(AT, "Toy_pid"))]
        with pytest.raises(OutOfMemory, match="no memory is left"):
            await executor.call(AT, "Toy_hoard")
        pids.append(int(await executor.call(AT, "Toy_pid")))
        with pytest.raises(OutOfMemory):  # outside of the runtime, when the answer is put together
            await executor.call_all(AT, [("Toy_huge", b"")] * 40)
        pids.append(int(await executor.call(AT, "Toy_pid")))
        assert len(set(pids)) == len(pids)
        assert executor.restarts == 2


async def test_a_process_that_the_system_refuses_is_a_local_fault_until_it_grants_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail calls while the system refuses a process, and answer again when it grants one."""

    def refusal(error: Exception) -> Callable[..., None]:
        def refuse(*_: object) -> None:
            raise error

        return refuse

    errors = (BlockingIOError("no more processes"), RuntimeError("can't start new thread"), MemoryError())
    async with running(store) as executor:
        await executor.call(AT, "Toy_pid")
        for error in errors:
            with monkeypatch.context() as patched:
                patched.setattr("cfnode.runtime.worker_queue.Child.start", refusal(error))
                with pytest.raises(ExecutorDied):
                    await executor.call(AT, "Toy_kill")
                with pytest.raises(ExecutorDied, match="cannot be started"):
                    await executor.call(AT, "Toy_pid")
            assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"


async def test_a_call_on_a_proof_names_the_missing_key(store: Store) -> None:
    """Name the key that a proof lacks, answer with it, and refuse a forged proof."""
    state = MemoryState({bytes([i, i]): b"v" * 40 for i in range(64)})
    proof = ProofSource(state.root, build_proof(state.node, state.get, [b"\x05\x05"]), CODE)
    async with running(store) as executor:
        assert await executor.call(proof, "Toy_get", b"\x05\x05") == b"\x01" + b"v" * 40
        with pytest.raises(Missing) as caught:
            await executor.call(proof, "Toy_get", b"\x25\x25")
        assert caught.value.key == b"\x25\x25"
        more = replace_nodes(proof, build_proof(state.node, state.get, [b"\x05\x05", caught.value.key]))
        assert await executor.call(more, "Toy_get", b"\x25\x25") == b"\x01" + b"v" * 40
        forged = ProofSource(GENESIS.hash, [GENESIS.encode()], CODE)
        with pytest.raises(ProofRefused):
            await executor.call(forged, "Toy_get", b"a")


def replace_nodes(proof: ProofSource, nodes: list[bytes]) -> ProofSource:
    """Return a proof with other nodes."""
    return ProofSource(proof.root, nodes, proof.code)


async def test_outputs_and_changes_of_any_size_arrive_complete(store: Store) -> None:
    """Deliver outputs and changes of any size whole."""
    async with running(store) as executor:
        for size in (
            0,
            1,
            FRAME_SLICE_BYTES - 1,
            FRAME_SLICE_BYTES,
            FRAME_SLICE_BYTES + 1,
            5 * FRAME_SLICE_BYTES + 7,
        ):
            assert await executor.call(AT, "Toy_large", b"%d" % size) == b"\xab" * size
        candidates = [put(b"key%d" % i, bytes([i]) * 50_000) for i in range(30)]
        block = await extend(executor, store, GENESIS, candidates)
        assert (
            await executor.call(BlockSource(block.hash), "Toy_get", b"key29")
            == b"\x01" + bytes([29]) * 50_000
        )


async def test_calls_in_one_message_are_independent_and_answered_in_order(store: Store) -> None:
    """Answer the calls of one message in order, each on the state alone; the first failure fails all."""
    calls = [
        ("Toy_write", b"new"),
        ("Toy_get", b"new"),
        ("Toy_large", b"%d" % FRAME_SLICE_BYTES),
        ("Toy_get", b"old"),
    ]
    async with running(store) as executor:
        root, new, large, old = await executor.call_all(AT, calls)
        assert root == MemoryState(GENESIS_STATE | {b"new": b"written"}).root
        assert (new, large, old) == (b"\0", b"\xab" * FRAME_SLICE_BYTES, b"\x01value")
        with pytest.raises(RuntimeTrap, match="the reason"):
            await executor.call_all(AT, [*calls, ("Toy_trap", b"the reason"), ("Toy_mistake", b"")])
        assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"


async def test_a_message_that_is_too_large_is_refused_and_the_next_one_is_answered(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse a message that is too large, and answer the next one."""
    async with running(store) as executor:
        await executor.call(AT, "Toy_pid")
        monkeypatch.setattr("cfnode.runtime.frames.MAX_FRAME", 1000)
        with pytest.raises(ExecutorMessageTooLarge, match="at most"):
            await executor.call(AT, "Toy_get", bytes(2000))
        assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"


async def test_many_callers_are_answered_each_with_its_own_answer(store: Store) -> None:
    """Give each of many callers its own answer."""
    answers: dict[int, bytes] = {}

    async def ask(size: int) -> None:
        answers[size] = await executor.call(AT, "Toy_large", b"%d" % size)

    async with running(store) as executor, trio.open_nursery() as nursery:
        for size in range(200):
            nursery.start_soon(ask, size)
    assert {size: len(answer) for size, answer in answers.items()} == {size: size for size in range(200)}


async def test_cancelled_callers_do_not_disturb_the_others(store: Store) -> None:
    """Answer correctly after callers were cancelled at various moments."""
    async with running(store) as executor:
        await executor.call(AT, "Toy_pid")
        for patience in (0.0, 0.0005, 0.001, 0.002, 0.005):
            for _ in range(10):
                with trio.move_on_after(patience):
                    await executor.call(AT, "Toy_large", b"%d" % (3 * FRAME_SLICE_BYTES))
                assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"


async def test_a_runaway_call_fails_only_itself(store: Store) -> None:
    """End a runaway call at its deadline with its process, and answer the next one."""
    async with running(store) as executor:
        old = int(await executor.call(AT, "Toy_pid"))
        with pytest.raises(Deadline, match=r"Toy_runaway took longer than 0.2 s"):
            await executor.call(AT, "Toy_runaway", seconds=0.2)
        assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"
        assert gone(old)


async def test_a_process_that_dies_in_a_call_fails_that_call_with_the_reason(store: Store) -> None:
    """Fail the call in which a process dies, with the reason, and give the next process the open blocks."""
    async with running(store) as executor:
        one = await extend(executor, store, GENESIS, [put(b"a", b"1")])
        with pytest.raises(ExecutorDied, match=r"ended with code 3.*the reason"):
            await executor.call(AT, "Toy_exit", b"3")
        # the new process knows the unfinalized block
        assert await executor.call(BlockSource(one.hash), "Toy_get", b"a") == b"\x011"
        with pytest.raises(ExecutorDied, match="signal 9"):
            await executor.call(AT, "Toy_kill")
        two = await extend(executor, store, one, [put(b"a", b"2")])
        assert await executor.call(BlockSource(two.hash), "Toy_get", b"a") == b"\x012"


async def test_a_process_killed_while_idle_fails_no_call(store: Store) -> None:
    """Start a process anew that was killed while idle, without failing a call."""
    async with running(store) as executor:
        old = int(await executor.call(AT, "Toy_pid"))
        os.kill(old, signal.SIGKILL)
        assert await executor.call(AT, "Toy_get", b"old") == b"\x01value"
        assert executor.pid != old
        assert executor.started == 2


async def test_the_process_has_its_own_session_its_own_place_and_no_foreign_descriptor(store: Store) -> None:
    """Give the process a session and a working directory of its own, and no descriptors of the node."""
    async with running(store) as executor:
        place, own_session, descriptors = (await executor.call(AT, "Toy_surroundings")).decode().split("|")
        assert (place, own_session) == ("/", "True")
        # besides what it has opened itself: the database, and the place for its last words
        own = (str(store.database.path), "/dev/null", "/memfd:executor-", "/proc/")
        foreign = [name for name in json.loads(descriptors) if not name.startswith(own)]
        assert [name.partition(":")[0] for name in foreign] == ["socket"]


async def test_no_process_is_left_after_the_executor_has_ended(store: Store) -> None:
    """Leave no process behind when the executor has ended."""
    async with running(store) as executor:
        pid = int(await executor.call(AT, "Toy_pid"))
    assert gone(pid)
    with pytest.raises(ExecutorDied, match="stopping"):
        await executor.call(AT, "Toy_pid")


async def test_stopping_during_a_call_ends_the_process_and_fails_the_call(store: Store) -> None:
    """Stop during calls: end the process and fail the calls that run or wait."""
    errors: list[str] = []

    async def ask(executor: Executor) -> None:
        try:
            await executor.call(AT, "Toy_runaway")
        except ExecutorDied as error:
            errors.append(str(error))

    async with trio.open_nursery() as nursery, running(store) as executor:
        pid = int(await executor.call(AT, "Toy_pid"))
        nursery.start_soon(ask, executor)
        nursery.start_soon(ask, executor)
        await trio.testing.wait_all_tasks_blocked(0.05)
    assert gone(pid)
    assert errors == ["the node is stopping: no more calls are made"] * 2


async def test_each_call_fails_if_the_process_cannot_start(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail each call with the reason where the process cannot start."""
    async with Executor.start(store, runtimes="tests.runtime.toy:no_such_factory") as executor:
        for _ in range(2):
            with pytest.raises(ExecutorDied, match=r"does not start.*no_such_factory"):
                await executor.call(AT, "Toy_pid")


_NODE = """
import os, sys, trio, trio.testing
from pathlib import Path
from cfnode.core.aura import pre_runtime_item
from cfnode.runtime.calls import BlockSource
from cfnode.runtime.executor import Executor
from tests.conftest import ROOT
from tests.runtime.chain import GENESIS, RUNTIMES, toy_store
from tests.runtime.toy import extrinsic
from tests.lengths import repeats

async def main():
    with toy_store(Path(sys.argv[1])) as store:
        async with Executor.start(store, runtimes=RUNTIMES) as executor, trio.open_nursery() as nursery:
            await executor.call(BlockSource(GENESIS.hash), "Toy_pid")
            endless = [extrinsic(b"w", b"/no/such/file")]
            nursery.start_soon(executor.build_block, GENESIS.hash, [pre_runtime_item(1)], [], endless, 60.0)
            await trio.testing.wait_all_tasks_blocked()
            await executor.call(BlockSource(GENESIS.hash), "Toy_pid")
            print(*executor.pids, flush=True)
            await executor.call(BlockSource(GENESIS.hash), sys.argv[2])

trio.run(main)
"""


@pytest.mark.world
def test_no_process_outlives_a_killed_node(tmp_path: Path) -> None:
    """End both executor processes of a killed node, whose work has no end of its own."""
    command = [sys.executable, "-c", _NODE, str(tmp_path / "db"), "Toy_runaway"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as node:
        assert node.stdout is not None
        pids = [int(pid) for pid in node.stdout.readline().split()]
        assert [has_ended(pid) for pid in pids] == [False, False]
        node.kill()
    wait_until(lambda: all(map(has_ended, pids)), "an executor outlived its node")


async def test_kills_under_load_lose_nothing(tmp_path: Path) -> None:
    """Lose no block under kills at any moment, and keep the file from growing by dead readers."""
    with toy_store(tmp_path / "db", states=64) as store:
        await _kills_under_load(store)


async def _kills_under_load(store: Store) -> None:
    kills, died, answered = repeats(100, 12), 0, 0
    pids: set[int] = set()
    head, sizes = GENESIS, []

    async def load() -> None:
        nonlocal died, answered
        while len(pids) < kills:
            try:
                assert await executor.call(BlockSource(head.hash), "Toy_get", b"old") == b"\x01value"
                answered += 1
            except ExecutorDied:
                died += 1
            except StateDiscarded:  # blocks go on while calls wait for a new process
                continue

    async def author() -> None:
        nonlocal head, died
        while len(pids) < kills:
            try:
                head = await extend(executor, store, head, [put(b"number", b"%d" % head.number)])
            except ExecutorDied:
                died += 1
                continue
            store.finalize(head.hash)
            sizes.append((store.database.path / "data.mdb").stat().st_size)

    async with running(store) as executor:
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(load)
            nursery.start_soon(author)
            while len(pids) < kills:
                with suppress(StateDiscarded, ExecutorDied):  # a kill may meet a process that only starts
                    for _ in range(1 + len(pids) % 4):
                        pid = int(await executor.call(BlockSource(head.hash), "Toy_pid"))
                if len(pids) % 2 and executor.pid is not None:
                    pid = executor.pid  # the one with the blocks, if there are two
                pids.add(pid)
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)  # while a call of another task is in hand
        assert await executor.call(BlockSource(head.hash), "Toy_get", b"number") == b"\x01%d" % (
            head.number - 1
        )
    assert answered > kills
    assert died <= 2 * kills
    assert all(map(gone, pids))
    # Had the dead kept their places as readers, each block would have taken 130 KiB from the first kill on.
    assert max(sizes) < len(sizes) * 32 * 1024
