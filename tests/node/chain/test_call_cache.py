"""A runtime call is made once for a block, however many ask, and what is kept has bounds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from cfnode.node.chain import call_cache as module
from cfnode.node.chain.call_cache import CallCache, RuntimeCall
from tests.node.mini import Rig

A, B, C = (("api", bytes([index])) for index in range(3))


class Runtime:
    """CallCache with the call's arguments, after a turn, and records what it was asked."""

    def __init__(self) -> None:
        self.asked: list[RuntimeCall] = []
        self.fails = 0
        self.output = b""

    async def __call__(self, calls: Sequence[RuntimeCall]) -> list[bytes]:
        """Record the calls, and return their outputs after a moment."""
        self.asked += calls
        await trio.sleep(0.01)
        if self.fails:
            self.fails -= 1
            raise ValueError("the runtime trapped")
        return [args + self.output for _, args in calls]


async def test_a_call_is_made_once_for_each_block(autojump_clock: MockClock) -> None:
    """Make a call once for each block."""
    cache, runtime = CallCache(), Runtime()
    assert await cache.all(b"one", [A, B, A], runtime) == [b"\0", b"\1", b"\0"]
    assert await cache.all(b"one", [B, C], runtime) == [b"\1", b"\2"]
    assert runtime.asked == [A, B, C]
    await cache.all(b"two", [A], runtime)
    assert runtime.asked == [A, B, C, A]


async def test_who_asks_while_the_first_one_waits_gets_the_same_output(
    autojump_clock: MockClock,
) -> None:
    """Give all clients that wait for a call the output of the first one."""
    cache, runtime = CallCache(), Runtime()
    outputs: list[list[bytes]] = []

    async def client(calls: Sequence[RuntimeCall]) -> None:
        outputs.append(await cache.all(b"one", calls, runtime))

    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(client, [A, B])
            nursery.start_soon(client, [B, C])
    assert sorted(runtime.asked) == [A, B, C]
    assert sorted(outputs) == [[b"\0", b"\1"]] * 50 + [[b"\1", b"\2"]] * 50


async def test_an_error_reaches_all_who_wait_for_it_at_once_and_is_not_kept(
    autojump_clock: MockClock,
) -> None:
    """Raise an error for all that wait for the call, at once, and keep it for no later one."""
    cache, runtime = CallCache(), Runtime()
    runtime.fails = 1
    failed_at: list[float] = []

    async def client(calls: Sequence[RuntimeCall]) -> None:
        with pytest.raises(ValueError, match="trapped"):
            await cache.all(b"one", calls, runtime)
        failed_at.append(trio.current_time() - began)

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for calls in ([A, B], [B, A], [A, B, A], [A, B]):
            nursery.start_soon(client, calls)
    assert failed_at == pytest.approx([0.01] * 4)
    assert sorted(runtime.asked) == [A, B]
    assert await cache.all(b"one", [A, B], runtime) == [b"\0", b"\1"]


async def test_an_error_of_several_calls_does_not_reach_who_wants_one_of_them(
    autojump_clock: MockClock,
) -> None:
    """Repeat a call alone whose batch with another one failed: the other may be at fault."""
    cache, runtime = CallCache(), Runtime()
    runtime.fails = 1

    async def both() -> None:
        with pytest.raises(ValueError, match="trapped"):
            await cache.all(b"one", [A, B], runtime)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(both)
        await wait_all_tasks_blocked()
        assert await cache.all(b"one", [A], runtime) == [b"\0"]
    assert runtime.asked == [A, B, A]


async def test_who_waits_asks_itself_when_the_first_one_is_cancelled(
    autojump_clock: MockClock,
) -> None:
    """Make the call for a client that waits when the first one is cancelled."""
    cache, runtime = CallCache(), Runtime()

    async def impatient() -> None:
        with trio.move_on_after(0.001):
            await cache.all(b"one", [A], runtime)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(impatient)
        await wait_all_tasks_blocked()
        assert await cache.all(b"one", [A], runtime) == [b"\0"]
    assert runtime.asked == [A, A]


async def test_what_is_kept_has_bounds(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the cache by blocks and bytes, and keep no output that is too large."""
    cache, runtime = CallCache(), Runtime()
    for block in range(module.MAX_CALL_CACHE_BLOCKS + 4):
        await cache.all(bytes([block]), [A], runtime)
    assert cache.size == module.MAX_CALL_CACHE_BLOCKS * (module.CALL_ENTRY_BYTES + 2)
    await cache.all(bytes([0]), [A], runtime)
    assert len(runtime.asked) == module.MAX_CALL_CACHE_BLOCKS + 5
    runtime.output = bytes(module.MAX_OUTPUT)
    for _ in range(2):
        await cache.all(b"large", [A], runtime)
    assert len(runtime.asked) == module.MAX_CALL_CACHE_BLOCKS + 7
    monkeypatch.setattr(module, "MAX_CALL_CACHE_BYTES", 10_000)
    runtime.output = bytes(4_000)
    for index in range(20):
        await cache.all(b"many", [("api", bytes([index]))], runtime)
        assert cache.size <= 10_000


async def test_an_output_of_a_state_that_is_discarded_meanwhile_is_not_kept(
    autojump_clock: MockClock,
) -> None:
    """Keep no output of a state that was discarded during the call."""
    cache, runtime = CallCache(), Runtime()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cache.all, b"one", [A], runtime)
        nursery.start_soon(cache.all, b"two", [A], runtime)
        await wait_all_tasks_blocked()
        cache.drop(b"one")
    assert cache.size == module.CALL_ENTRY_BYTES + 2
    await cache.all(b"two", [A], runtime)
    assert len(runtime.asked) == 2
    await cache.all(b"one", [A], runtime)
    assert len(runtime.asked) == 3


async def test_two_clients_of_a_chain_cost_the_runtime_one_call(rig: Rig) -> None:
    """Cost the runtime one call for several clients of a chain."""
    block = await rig.block()
    calls: list[Sequence[RuntimeCall]] = []
    made = rig.executor.call_all

    async def counted(at: object, batch: Sequence[RuntimeCall]) -> list[bytes]:
        calls.append(batch)
        return await made(at, batch)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rig.executor, "call_all", counted)
        for _ in range(3):
            assert await rig.chain.queries.account_nonce(block, bytes(32)) == 0
    assert calls == [[("AccountNonceApi_account_nonce", bytes(32))]]
