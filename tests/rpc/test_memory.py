"""What the server holds for clients that do not read: what counts, how often, and that it goes back."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from cfnode.core.jsonrpc import Incoming
from cfnode.rpc.answering.reply import TooLargeError, batch, notification, success, text_of
from cfnode.rpc.substrate.system import METHODS
from cfnode.rpc.table.convert import BYTES, listed
from cfnode.rpc.table.rows import Method, Param, Subscription
from cfnode.serving import server
from cfnode.serving.allocator import BURST_BYTES, TRIM_INTERVAL_S
from cfnode.serving.memory_budget import MemoryBudgets
from cfnode.serving.reply import SHARED_FROM, Reply, whole
from tests.rpc.clients import Http, StandIn, WebSocket, served
from tests.support.rpc.connections import hoard, until_closed
from tests.support.waiting import LIMIT_S, until

TEXT = msgspec.Raw(json.dumps("m" * 655_000).encode())
MAX_SIZE = 15 * 1024 * 1024


async def metadata(node: StandIn) -> Any:
    """Return a text that is kept."""
    await trio.lowlevel.checkpoint()
    return TEXT


METADATA = Method("test_metadata", metadata)
ASK = b'{"jsonrpc":"2.0","id":1,"method":"test_metadata"}'


@pytest.fixture
def budgets(monkeypatch: pytest.MonkeyPatch) -> MemoryBudgets:
    """Return the budgets of the next server."""
    made = MemoryBudgets()
    monkeypatch.setattr(server, "MemoryBudgets", lambda: made)
    return made


@pytest.fixture
def jumping_clock() -> trio.testing.MockClock:
    """Let time pass when no task has had anything to do for a moment; threads need that moment."""
    return trio.testing.MockClock(autojump_threshold=0.03)


def test_a_kept_text_is_in_an_answer_and_not_copied() -> None:
    """Put a kept text into an answer without a copy, and count only what is added."""
    reply = success(b"7", text_of(TEXT, MAX_SIZE))
    assert b"".join(reply.parts) == b'{"jsonrpc":"2.0","id":7,"result":%b}' % bytes(TEXT)
    assert reply.shared[0].obj is TEXT
    assert reply.own == reply.size - len(memoryview(TEXT)) < 100
    message = notification("state_m", "abc", TEXT)
    assert json.loads(b"".join(message.parts))["params"] == {"subscription": "abc", "result": "m" * 655_000}
    small = success(b"7", text_of(msgspec.Raw(b'"%b"' % (b"x" * (SHARED_FROM - 3))), MAX_SIZE))
    assert (len(small.parts), small.shared) == (1, [])


def test_a_batch_is_put_together_from_the_pieces_of_its_answers() -> None:
    """Put a batch together from the pieces of its answers."""
    together = batch([success(b"1", b"true"), success(b"2", text_of(TEXT, MAX_SIZE)), whole(b"{}")])
    assert [entry.get("id") for entry in json.loads(b"".join(together.parts))] == [1, 2, None]
    assert len(together.parts) == 3
    assert not batch([])
    assert not success(b"", text_of(TEXT, MAX_SIZE))
    with pytest.raises(TooLargeError):
        text_of(TEXT, 655_000)


def test_what_the_answers_of_a_connection_share_counts_once() -> None:
    """Count a text once for a connection, however many of its answers share it."""
    budgets = MemoryBudgets(10_000_000)
    first, second = (budgets.begin(lambda: None) for _ in range(2))
    replies = [success(b"%d" % number, text_of(TEXT, MAX_SIZE)) for number in range(60)]
    for budget in (first, second):
        for reply in replies:
            budget.keep(reply)
    assert first.size == second.size == len(memoryview(TEXT)) + sum(reply.own for reply in replies)
    for reply in replies:
        first.release(reply)
    assert (first.size, budgets.size) == (0, second.size)


@pytest.mark.parametrize("transport", ["http", "websocket"])
async def test_clients_that_leave_a_kept_text_unread_hold_one_copy(
    transport: str, budgets: MemoryBudgets
) -> None:
    """Hold one copy of a kept text for all clients that leave it unread."""

    async def leave(port: int, task_status: trio.TaskStatus[None]) -> None:
        connection = Http(port) if transport == "http" else WebSocket(port)
        async with connection as client:
            for _ in range(60):
                if isinstance(client, WebSocket):
                    await client.send(ASK)
                else:
                    head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
                    length = f"content-length: {len(ASK)}\r\n\r\n"
                    await client.stream.send_all(f"{head}{length}".encode() + ASK)
            task_status.started()
            await trio.sleep_forever()

    async with served([METADATA, *METHODS]) as port, trio.open_nursery() as nursery:
        for _ in range(20):
            await nursery.start(leave, port)
        await until(lambda: len(budgets) == 20)
        await trio.testing.wait_all_tasks_blocked(0.1)  # no thread is at work: only sockets of this process
        texts = sum(isinstance(data, bytes) and len(data) > 600_000 for data in map(_data, gc.get_objects()))
        assert texts == 0, "no answer holds a text of its own"
        assert 0 < budgets.size < 20 * (len(memoryview(TEXT)) + 60 * 1024)
        assert len(budgets) == 20
        async with WebSocket(port) as ws:
            assert (await ws.call("test_metadata"))["result"] == "m" * 655_000
        nursery.cancel_scope.cancel()


def _data(item: object) -> object:
    return max((part for part in item.parts), key=len, default=None) if isinstance(item, Reply) else None


async def test_messages_that_wait_to_be_taken_count(budgets: MemoryBudgets) -> None:
    """Count messages that wait to be handled."""
    rows = [Method("test_wait", wait), *METHODS]
    async with served(rows) as port, WebSocket(port) as ws:
        for _ in range(17):
            await ws.send(b'{"jsonrpc":"2.0","id":1,"method":"test_wait"}')
        for _ in range(3):
            await ws.send(
                b'{"jsonrpc":"2.0","id":1,"method":"test_wait","params":["%b"]}' % (b"x" * 1_000_000)
            )
        await until(lambda: budgets.size > 3_000_000)
        assert budgets.size < 4_000_000


async def wait(node: StandIn) -> None:
    """Wait for ever."""
    await trio.sleep_forever()


async def test_answers_of_a_batch_count_while_they_wait_for_the_others(budgets: MemoryBudgets) -> None:
    """Count a batch's answers while they wait for the others, and free them with the connection."""
    rows = [Method("test_wait", wait), Method("test_text", lambda node: "x" * 1_000_000)]
    calls = [{"jsonrpc": "2.0", "id": 1, "method": method} for method in (*["test_text"] * 5, "test_wait")]
    async with served(rows) as port:
        async with WebSocket(port) as ws:
            await ws.send(json.dumps(calls).encode())
            await until(lambda: budgets.size > 5_000_000)
            assert budgets.size < 5_100_000
        await until(lambda: budgets.size == 0)


async def test_what_a_connection_held_is_free_when_it_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Free what a connection held when it is cut off, without waiting for the garbage collector."""
    budgets = MemoryBudgets(20_000_000)
    monkeypatch.setattr(server, "MemoryBudgets", lambda: budgets)

    async def another_large(node: StandIn) -> str:
        await trio.lowlevel.checkpoint()
        return "x" * 4_000_000

    gc.collect()
    gc.disable()
    try:
        rows = [Method("test_anotherLarge", another_large)]
        async with served(rows) as port, WebSocket(port) as pieces, trio.open_nursery() as nursery:
            await pieces.send(b" " * 500_000, final=False)
            await nursery.start(hoard, port)
            await trio.testing.wait_all_tasks_blocked(0.1)
            assert len(budgets) == 1, "the one that asked for 40 MB is gone"
            held = [item for item in gc.get_objects() if isinstance(item, Reply) and item.size > 1_000_000]
            assert len(held) <= 2, "of ten; those whose counting cut it off may be in a frame still"
            await trio.aclose_forcefully(pieces.stream)
            await until(lambda: not _large_messages())
            nursery.cancel_scope.cancel()
    finally:
        gc.enable()


def _large_messages() -> list[Incoming]:
    return [item for item in gc.get_objects() if isinstance(item, Incoming) and item.size > 100_000]


async def test_what_a_subscription_was_asked_with_is_free_when_its_connection_ends() -> None:
    """Free a subscription's parameters with its connection, without waiting for the garbage collector."""

    async def watch(node: StandIn, keys: list[bytes]) -> AsyncGenerator[int, None]:
        async def messages() -> AsyncGenerator[int, None]:
            yield len(keys)
            await trio.sleep_forever()

        return messages()

    params = (Param("keys", listed(BYTES, 4096)),)
    row = Subscription(
        "test_watch", watch, notification="test_seen", unsubscribe="test_unwatch", params=params
    )
    gc.collect()
    gc.disable()
    try:
        async with served([row]) as port:
            async with WebSocket(port) as ws:
                for _ in range(5):
                    await ws.call("test_watch", [f"0x{number:064x}" for number in range(4096)])
            await until(lambda: not _key_lists())
    finally:
        gc.enable()


def _key_lists() -> list[list[bytes]]:
    lists = [item for item in gc.get_objects() if isinstance(item, list) and len(item) == 4096]
    return [keys for keys in lists if isinstance(keys[0], bytes)]


def test_a_subscription_counts_the_keys_it_was_asked_with() -> None:
    """Count the keys that a subscription was asked with."""
    from cfnode.rpc.answering.session import LISTED_BYTES, _weight

    assert _weight([[b"k" * 40] * 4096, None, 5]) == 4096 * (LISTED_BYTES + 40)


BURST = """
from cfnode.serving.allocator import fix_threshold, _glibc
if {fixed}:
    fix_threshold()

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 // 2**20

large = b"z" * 8_000_000
del large  # by this, glibc learns to take such blocks from its heap
before, kept, burst = resident(), [], []
for _ in range(400):
    burst.append(b"x" * 500_000)
    kept.append(b"y" * 60_000)  # 24 MB that stay
burst.clear()
print(resident() - before)
"""


@pytest.mark.world
@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_large_blocks_go_back_to_the_system_when_they_are_freed() -> None:
    """Give large blocks back to the system when they are freed, whatever glibc has learned."""

    def grown(fixed: bool) -> int:
        command = [sys.executable, "-c", BURST.format(fixed=fixed)]
        return int(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)

    if grown(False) < 150:
        pytest.skip("this C library gives them back by itself")
    assert grown(True) < 50, "MiB of 215"


async def test_after_a_burst_the_heap_is_trimmed_once(
    monkeypatch: pytest.MonkeyPatch, budgets: MemoryBudgets, jumping_clock: trio.testing.MockClock
) -> None:
    """Trim the heap once after a burst, and not during it."""
    from cfnode.serving import allocator

    trimmed: list[int] = []
    monkeypatch.setattr(allocator, "_glibc", lambda name: trimmed.append if name == "malloc_trim" else None)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(allocator.trim_after_bursts, budgets)
        budget = budgets.begin(lambda: None)
        budget.add(BURST_BYTES)
        await trio.sleep(2 * TRIM_INTERVAL_S + 1)
        assert trimmed == [], "it lasts"
        budget.remove(BURST_BYTES)
        await trio.sleep(2 * TRIM_INTERVAL_S)
        assert trimmed == [0]
        nursery.cancel_scope.cancel()


async def test_a_client_that_is_cut_off_gets_no_more_answers(budgets: MemoryBudgets) -> None:
    """Send nothing more to a client that is cut off, and end its connection."""
    async with served([METADATA, *METHODS]) as port, WebSocket(port) as ws:
        await ws.call("system_health")
        (budget,) = budgets._all
        budget.cut_off()
        with trio.fail_after(LIMIT_S):
            assert await until_closed(ws.stream) == b""
        await until(lambda: len(budgets) == 0)
