"""A client that does not read is cut off; a pause of the server's own process is not charged to it."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from cfnode.rpc.answering.outbox import NOT_READING_AFTER_S, Outbox
from cfnode.rpc.table.rows import SlowReader
from cfnode.serving.memory_budget import MemoryBudgets
from cfnode.serving.reply import Reply


class Client:
    """Reads a message at a time, when it is let."""

    def __init__(self) -> None:
        self.reads = trio.Semaphore(0)
        self.received: list[bytes] = []
        self.outbox = Outbox(self.receive, 1, MemoryBudgets().begin(lambda: None))

    async def receive(self, message: Reply) -> None:
        """Receive a message once the client reads again."""
        await self.reads.acquire()
        self.received.append(bytes(message.parts[0]))


async def test_who_reads_nothing_is_too_slow(autojump_clock: MockClock) -> None:
    """Cut off a client that reads nothing while messages wait."""
    client = Client()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.outbox.run)
        await client.outbox.push(Reply(b"being sent"))
        await wait_all_tasks_blocked()
        await client.outbox.push(Reply(b"waits"))
        began = trio.current_time()
        with pytest.raises(SlowReader):
            await client.outbox.push(Reply(b"too many"))
        assert trio.current_time() - began == pytest.approx(NOT_READING_AFTER_S)
        nursery.cancel_scope.cancel()


async def test_a_pause_of_the_process_makes_no_client_slow(mock_clock: MockClock) -> None:
    """Charge a pause of the server's own process to no client."""
    client = Client()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.outbox.run)
        await client.outbox.push(Reply(b"1"))
        await wait_all_tasks_blocked()
        await client.outbox.push(Reply(b"2"))
        nursery.start_soon(client.outbox.push, Reply(b"3"))
        await wait_all_tasks_blocked()
        mock_clock.jump(100 * NOT_READING_AFTER_S)
        await wait_all_tasks_blocked()
        for _ in range(3):
            client.reads.release()
        await wait_all_tasks_blocked()
        assert client.received == [b"1", b"2", b"3"]
        nursery.cancel_scope.cancel()
