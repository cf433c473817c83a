"""Slow checks and reads in threads: whom they delay."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import trio

from cfnode.core.state import BlockState
from cfnode.node.asking.asker import Asker
from cfnode.node.asking.peer_set import PeerSet
from cfnode.node.asking.question import Question
from cfnode.node.threads import check_in_thread, leave_if_cancelled
from tests.node.mini import Rig
from tests.support.node.net import MemoryNetwork, join

TOO_LONG_S = 10.0


class Gate:
    """A slow function: it lasts until the gate is open."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.opened = threading.Event()

    def wait(self, value: object) -> object:
        """Wait in a thread until the gate opens."""
        self.begun.release()
        assert self.opened.wait(3 * TOO_LONG_S)
        return value

    async def wait_begun(self, times: int = 1) -> None:
        """Wait until so many calls have begun."""
        for _ in range(times):
            while not self.begun.acquire(blocking=False):  # noqa: ASYNC110 - a thread begins
                await trio.sleep(0.001)


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Yield a gate, and open it at the end."""
    gate = Gate()
    yield gate
    gate.opened.set()


async def test_a_cancelled_question_does_not_wait_for_the_check_of_its_answer(gate: Gate) -> None:
    """Return from a cancelled question without waiting for the check of its answer."""

    async def answer(peer: str, data: bytes) -> bytes:
        return b"answer"

    network, peers = MemoryNetwork("client"), PeerSet(lambda: 0)
    join(network, MemoryNetwork("peer", handlers={"sync/2": answer}))
    peers.update("peer", 1, bytes(32))
    question = Question("sync/2", b"?", gate.wait)
    with trio.fail_after(TOO_LONG_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Asker(network, peers).ask_one, "peer", question)
            await gate.wait_begun()
            nursery.cancel_scope.cancel()
    assert not gate.opened.is_set()


async def test_the_check_of_a_cancelled_task_ends_at_its_next_step(gate: Gate) -> None:
    """End the check of a cancelled task at its next step: its thread would run for ever otherwise."""
    ended = threading.Event()
    steps = 0

    def check() -> None:
        nonlocal steps
        try:
            while True:
                leave_if_cancelled()
                steps += 1
                gate.begun.release()
        finally:
            ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(check_in_thread, check)
        await gate.wait_begun()
        nursery.cancel_scope.cancel()
    with trio.fail_after(TOO_LONG_S):
        while not ended.is_set():  # noqa: ASYNC110 - a thread ends
            await trio.sleep(0.001)
    assert steps > 0


async def test_blocks_are_imported_while_many_clients_read_for_long(rig: Rig, gate: Gate) -> None:
    """Import blocks while 45 clients read for long: reads must not take all threads."""
    first = await rig.block()

    def walk(state: BlockState) -> object:
        return gate.wait(state.get(b"number"))

    results: list[object] = []

    async def read() -> None:
        results.append(await rig.chain.states.read(first, walk))

    async with trio.open_nursery() as nursery:
        for _ in range(45):
            nursery.start_soon(read)
        await gate.wait_begun(8)
        with trio.move_on_after(TOO_LONG_S) as waiting:
            await rig.block()
        gate.opened.set()
    assert not waiting.cancelled_caught
    assert rig.chain.best.number == 2
    assert results == [(1).to_bytes(4, "little")] * 45
