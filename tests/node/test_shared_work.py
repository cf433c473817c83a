"""Work that several tasks ask for at once is done once, and its error reaches all of them at once."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from cfnode.flow.shared_work import SharedWork
from cfnode.runtime.calls import BlockSource
from cfnode.store import StateDiscarded
from tests.node.mini import Rig


async def test_an_error_reaches_all_who_wait_after_the_time_of_one_attempt(
    autojump_clock: MockClock,
) -> None:
    shared, attempts, failed_at = SharedWork[str, int](), 0, list[float]()

    async def slow() -> int:
        nonlocal attempts
        attempts += 1
        await trio.sleep(25)
        raise ValueError("no peer answers")

    async def client() -> None:
        with pytest.raises(ValueError, match="no peer answers"):
            await shared.once("name", slow)
        failed_at.append(trio.current_time() - began)

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(client)
    assert failed_at == pytest.approx([25] * 5)
    assert attempts == 1


async def test_where_the_first_task_is_cancelled_another_does_the_work(autojump_clock: MockClock) -> None:
    shared, results = SharedWork[str, int](), list[int]()

    async def work() -> int:
        await trio.sleep(1)
        return 7

    async def client() -> None:
        results.append(await shared.once("name", work))

    async with trio.open_nursery() as nursery:
        with trio.move_on_after(0.5):
            nursery.start_soon(client)  # waits for ours
            await shared.once("name", work)
        began = trio.current_time()
    assert results == [7]
    assert trio.current_time() - began == pytest.approx(1)


async def test_five_clients_that_need_a_runtime_which_cannot_be_read_fail_together(
    rig: Rig, autojump_clock: MockClock
) -> None:
    asked, failed_at = 0, list[float]()

    async def refuse(at: BlockSource, calls: object) -> list[bytes]:
        nonlocal asked
        asked += 1
        await trio.sleep(25)
        raise StateDiscarded(at.hash)

    async def client() -> None:
        with pytest.raises(StateDiscarded):
            await rig.chain.runtime_at(best)
        failed_at.append(trio.current_time() - began)

    best = rig.chain.best.hash
    await rig.chain._runtimes._read_code_hash(best)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rig.executor, "call_all", refuse)
        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(client)
    assert failed_at == pytest.approx([25] * 5)
    assert asked == 1
