"""A block that this node cannot execute: tried again, logged, never charged to a peer."""

from __future__ import annotations

import logging

import pytest
import trio
from trio.testing import MockClock

from cfnode.core.header import Header
from cfnode.core.state import Changes
from cfnode.node.asking.progress import SyncProgress
from cfnode.node.chain.errors import ExecutionFailed
from cfnode.node.chain.local_faults import (
    ATTEMPTS_BEFORE_NOT_READY,
    MAX_FAULTY_BLOCKS,
    MAX_RETRY_S,
    RETRY_PAUSES_S,
    SHORT_PAUSES_S,
    LocalFaults,
)
from cfnode.node.restarts import RESTART_PAUSE_S, supervise
from cfnode.node.sync.following.imports import BadBlock, Imports
from cfnode.runtime.calls import (
    Deadline,
    ExecutorDied,
    ExecutorMessageTooLarge,
    HostFault,
    LocalFault,
    OutOfMemory,
    RuntimeTrap,
    StoreFault,
    Unanswerable,
    UnknownFunction,
    UnsupportedCode,
)
from cfnode.store import StateDiscarded, StoreError, UnknownBlock
from tests.node.conftest import MakeRig
from tests.node.mini import Rig, put, tx
from tests.support.node.executors import Failing, fetched

FAULTS: list[LocalFault] = [
    ExecutorDied("the executor process was ended by signal 9 during the call"),
    Deadline("Core_execute_block", 60.0),
    OutOfMemory("no memory is left for the call"),
    ExecutorMessageTooLarge("a message of 70000000 bytes"),
    StoreFault("no space left for the database"),
    HostFault("Core_execute_block: AttributeError"),
]


async def follower(rig: Rig, make_rig: MakeRig) -> tuple[Rig, Failing, Imports]:
    """Return another node at genesis, its executor and its imports."""
    other = await make_rig("other", executor=lambda store: Failing(store, rig.runtime))
    assert isinstance(other.executor, Failing)
    return other, other.executor, Imports(other.chain, SyncProgress(), lambda: None, pytest.fail)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
async def test_an_import_is_retried_after_a_local_fault_and_succeeds(
    rig: Rig,
    make_rig: MakeRig,
    fault: LocalFault,
    patient_clock: MockClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Retry an import after a local fault, with a pause and a warning, and charge no peer."""
    block = fetched(rig, await rig.block(tx("alice", 0, put("a", "1"))))
    other, executor, imports = await follower(rig, make_rig)
    executor.instead = [fault, fault]
    assert await imports.import_blocks("honest", [block])
    assert other.chain.best.hash == block.hash
    assert executor.attempts == 3
    assert trio.current_time() == pytest.approx(sum(RETRY_PAUSES_S[:2]), abs=0.01)
    logged = [record for record in caplog.records if record.name == "cfnode.sync"]
    assert [record.levelno for record in logged] == [logging.WARNING] * 2
    assert f"through no fault of the block; retrying in 0.1 s: {fault}" in caplog.text
    assert other.chain.faults.total == 2
    assert other.chain.faults.reason is None


async def test_a_verdict_makes_the_block_bad_at_once(rig: Rig, make_rig: MakeRig) -> None:
    """Call a block bad at once where the runtime judged it."""
    block = fetched(rig, await rig.block())
    other, executor, imports = await follower(rig, make_rig)
    for verdict in (RuntimeTrap("panicked"), UnknownFunction("Core_execute_block")):
        executor.instead = [verdict]
        with pytest.raises(ExecutionFailed, match=str(verdict)):
            await other.chain.import_block(block.header, block.body)
    executor.instead = [RuntimeTrap("panicked")]
    with pytest.raises(BadBlock, match="panicked"):
        await imports.import_blocks("liar", [block])
    assert imports.is_bad(block.hash)
    assert other.chain.faults.total == 0


async def test_a_permanent_fault_postpones_the_block_and_is_logged(
    rig: Rig, make_rig: MakeRig, patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Postpone a block that this node cannot execute, with the reason, and import it once it can."""
    block = fetched(rig, await rig.block())
    other, executor, imports = await follower(rig, make_rig)
    executor.instead = [OutOfMemory("no memory is left for the call")] * (len(RETRY_PAUSES_S) + 1)
    assert not await imports.import_blocks("honest", [block])
    assert not imports.is_bad(block.hash)
    assert executor.attempts == len(RETRY_PAUSES_S) + 1 >= ATTEMPTS_BEFORE_NOT_READY
    reason = "block #1 cannot be executed by this node (5 attempts): no memory is left for the call"
    assert other.chain.faults.reason == reason
    assert "Block #1 is postponed: this node cannot execute it, through no fault of honest" in caplog.text
    assert await imports.import_blocks("honest", [block])
    assert (other.chain.best.hash, other.chain.faults.reason) == (block.hash, None)


async def test_code_that_this_build_cannot_run_and_long_attempts_are_not_repeated_at_once(
    rig: Rig, make_rig: MakeRig, patient_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retry neither code that this build cannot run nor an attempt that took long."""
    block = fetched(rig, await rig.block())
    _, executor, imports = await follower(rig, make_rig)
    executor.instead = [UnsupportedCode("no host offers this")] * 9
    assert not await imports.import_blocks("honest", [block])
    assert executor.attempts == 1

    async def slowly(header: Header, body: list[bytes]) -> Changes:
        await trio.sleep(MAX_RETRY_S + 1)
        raise Deadline("Core_execute_block", MAX_RETRY_S + 1)

    monkeypatch.setattr(executor, "execute_block", slowly)
    began = trio.current_time()
    assert not await imports.import_blocks("honest", [block])
    assert trio.current_time() - began == pytest.approx(MAX_RETRY_S + 1)


async def test_a_failing_runtime_call_without_foreign_input_is_no_verdict_on_the_block(
    rig: Rig, make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Blame no block for a failing runtime call that has no input from it."""
    block = fetched(rig, await rig.block())
    other, executor, imports = await follower(rig, make_rig)
    for fault in (
        RuntimeTrap("AuraApi is broken"),
        UnknownFunction("AuraApi_authorities"),
        ExecutorDied("?"),
    ):
        executor.call_fault = fault
        with pytest.raises(LocalFault):
            await other.chain.import_block(block.header, block.body)
        with pytest.raises(LocalFault):
            await other.chain.voters()
    assert not await imports.import_blocks("honest", [block])
    executor.call_fault = None
    assert await imports.import_blocks("honest", [block])


async def test_a_state_that_only_the_executor_lacks_is_a_local_fault(
    rig: Rig, make_rig: MakeRig, patient_clock: MockClock
) -> None:
    """Retry where only the executor lacks the state; an unknown parent is no fault of the node."""
    block = fetched(rig, await rig.block())
    other, executor, imports = await follower(rig, make_rig)
    executor.instead = [UnknownBlock(block.header.parent_hash), StateDiscarded(block.header.parent_hash)]
    assert await imports.import_blocks("honest", [block])
    assert (other.chain.best.hash, executor.attempts, other.chain.faults.total) == (block.hash, 3, 2)
    missing = fetched(rig, (await rig.blocks(2))[-1])
    assert not await imports.import_blocks("honest", [missing])  # its parent is unknown: no fault of the node
    assert other.chain.faults.total == 2


async def test_a_malformed_runtime_answer_is_a_local_fault(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Report a malformed runtime answer as a fault of this build."""
    for name in ("aura", "voters"):
        monkeypatch.setattr(rig.runtime, "call", lambda function, args, journal: b"\xff")
        with pytest.raises(Unanswerable, match="a value unknown to this build"):
            question = rig.chain.queries.aura_authorities if name == "aura" else None
            await (question(rig.chain.best.hash) if question else rig.chain.voters())


async def test_a_full_disk_is_a_local_fault_of_import_and_finality(
    rig: Rig, make_rig: MakeRig, patient_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Report a full disk as a local fault of import and finality, and go on once there is space."""
    block = await rig.block()
    other, _, imports = await follower(rig, make_rig)
    full = StoreError("no space left for the database")

    def refuse(*_: object) -> None:
        raise full

    with monkeypatch.context() as patched:
        patched.setattr(other.store, "add_block", refuse)
        assert not await imports.import_blocks("honest", [fetched(rig, block)])
    assert await imports.import_blocks("honest", [fetched(rig, block)])
    justification = other.finality.justification(other.chain.best, await other.chain.voters(), 1).encode()
    with monkeypatch.context() as patched:
        patched.setattr(other.store, "finalize", refuse)
        with pytest.raises(StoreFault, match="no space"):
            await other.chain.finalize(block, justification)
    await other.chain.finalize(block, justification)
    assert other.chain.finalized.hash == block


def test_the_number_of_stored_faults_is_bounded() -> None:
    """Limit the stored faults, and forget them once their blocks are final."""
    from cfnode.node.chain.events import BlockRef

    faults = LocalFaults()
    for number in range(3 * MAX_FAULTY_BLOCKS):
        for _ in range(ATTEMPTS_BEFORE_NOT_READY):
            with pytest.raises(ExecutorDied), faults.judging(BlockRef(number.to_bytes(32), number)):
                raise ExecutorDied("killed")
    assert faults.failing == MAX_FAULTY_BLOCKS
    faults.final_at(3 * MAX_FAULTY_BLOCKS)
    assert (faults.failing, faults.reason, faults.total) == (
        0,
        None,
        3 * MAX_FAULTY_BLOCKS * ATTEMPTS_BEFORE_NOT_READY,
    )


async def test_a_part_with_a_bug_is_restarted_and_a_fatal_error_stops_the_node(
    patient_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Restart a part with a bug, and stop the node for a fatal error."""
    errors: list[Exception] = [KeyError("surprise"), ExceptionGroup("in a nursery", [KeyError("again")])]

    async def part() -> None:
        await trio.lowlevel.checkpoint()
        if errors:
            raise errors.pop()

    await supervise("informant", part)
    assert trio.current_time() == pytest.approx(2 * RESTART_PAUSE_S)
    assert caplog.text.count("The informant failed with a bug, please report it; starting over in 1 s") == 2
    errors.append(ExceptionGroup("in a nursery", [StoreError("no space left")]))
    with pytest.raises(ExceptionGroup):
        await supervise("informant", part)


async def test_a_runtime_call_is_retried_after_a_fault_but_not_for_unsupported_code(
    rig: Rig, patient_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retry a runtime call after a fault, but not for code that this build cannot run."""
    faults: list[LocalFault] = [ExecutorDied("killed"), OutOfMemory("none left")]
    asked = 0

    async def load(block: bytes, code: bytes) -> str:
        nonlocal asked
        asked += 1
        await trio.lowlevel.checkpoint()
        if faults:
            raise faults.pop(0)
        rig.chain._runtimes._infos[code] = "runtime"  # type: ignore[assignment]
        return "runtime"

    monkeypatch.setattr(rig.chain._runtimes, "_load", load)
    assert await rig.chain.runtime_at(rig.chain.best.hash) == "runtime"  # type: ignore[comparison-overlap]
    assert asked == 3
    assert trio.current_time() == pytest.approx(sum(SHORT_PAUSES_S[:2]), abs=0.01)
    rig.chain._runtimes._infos.clear()
    faults.append(UnsupportedCode("no host offers this"))
    with pytest.raises(UnsupportedCode):
        await rig.chain.runtime_at(rig.chain.best.hash)
    assert asked == 4
