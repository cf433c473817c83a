"""Work that several tasks ask for at once is done once, and its error reaches all of them at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from cfnode.flow.shared_work import SharedWork
from cfnode.runtime.calls import BlockSource
from cfnode.store import StateDiscarded
from tests.node.mini import Rig


async def test_an_error_reaches_all_who_wait_after_the_time_of_one_attempt(
    autojump_clock: MockClock,
) -> None:
    """Raise the error for all that wait, after the time of one attempt."""
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
    """Let another task do the work where the first one is cancelled."""
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
    """Fail five clients together, after one attempt, that need a runtime which cannot be read."""
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


async def test_of_keys_asked_for_together_those_under_way_are_waited_for(autojump_clock: MockClock) -> None:
    """Wait for keys that are asked for already, and ask for the others once."""
    shared, asked, results = SharedWork[str, int](), list[list[str]](), list[dict[str, int]]()

    async def lengths(keys: Sequence[str]) -> list[int]:
        asked.append([*keys])
        await trio.sleep(1)
        return [len(key) for key in keys]

    async def client(*keys: str) -> None:
        results.append(await shared.together(keys, lengths))

    async with trio.open_nursery() as nursery:
        for keys in (("a", "bb", "a"), ("bb", "ccc"), ("a", "ccc")):
            nursery.start_soon(client, *keys)
            await wait_all_tasks_blocked()
    assert asked == [["a", "bb"], ["ccc"]]
    assert results == [{"a": 1, "bb": 2}, {"bb": 2, "ccc": 3}, {"a": 1, "ccc": 3}]


async def test_the_error_of_several_keys_is_that_of_a_task_that_asks_for_all_of_them(
    autojump_clock: MockClock,
) -> None:
    """Raise an error for tasks that ask for all of its keys; ask again for one that asks for fewer."""
    shared, asked, ends = SharedWork[str, int](), list[list[str]](), dict[str, object]()

    async def lengths(keys: Sequence[str]) -> list[int]:
        asked.append([*keys])
        await trio.sleep(1)
        if "bad" in keys:
            raise ValueError("one of them")
        return [len(key) for key in keys]

    async def client(name: str, *keys: str) -> None:
        try:
            ends[name] = await shared.together(keys, lengths)
        except ValueError as error:
            ends[name] = str(error)

    async with trio.open_nursery() as nursery:
        for name, keys in (("first", ("a", "bad")), ("both", ("a", "bad", "c")), ("good", ("a",))):
            nursery.start_soon(client, name, *keys)
            await wait_all_tasks_blocked()
    assert ends == {"first": "one of them", "both": "one of them", "good": {"a": 1}}
    assert asked == [["a", "bad"], ["c"], ["a"]]
