"""Answers that are sent while a thread writes them: at once, at its speed, and whole or broken off."""

from __future__ import annotations

import threading
from typing import BinaryIO

import pytest
import trio

from cfnode.web.spool import PIECE_BYTES, send_spooled


class Client:
    """What a client gets."""

    def __init__(self) -> None:
        self.is_started = False
        self.received = bytearray()

    async def start(self) -> None:
        """Receive the head of the answer."""
        self.is_started = True

    async def send(self, piece: bytes) -> None:
        """Receive a piece of the body."""
        assert len(piece) <= PIECE_BYTES
        self.received += piece


async def test_the_first_bytes_come_before_the_last_are_written() -> None:
    """Send the first pieces while the writer waits for a sign that the client has them."""
    read_first = threading.Event()

    class First(Client):
        async def send(self, piece: bytes) -> None:
            await super().send(piece)
            read_first.set()

    def write(file: BinaryIO) -> None:
        file.write(b"a" * (2 * PIECE_BYTES))
        assert read_first.wait(30), "the client got nothing while the writer waited"
        file.write(b"b" * 3)

    client = First()
    with trio.fail_after(60):
        await send_spooled(write, client.start, client.send, trio.CapacityLimiter(1))
    assert bytes(client.received) == b"a" * (2 * PIECE_BYTES) + b"bbb"


async def test_a_slow_client_holds_no_writer() -> None:
    """Let the writer finish 100 pieces while the client has not taken the first."""
    done = threading.Event()

    class Slow(Client):
        async def send(self, piece: bytes) -> None:
            await super().send(piece)
            await trio.to_thread.run_sync(done.wait, 30)

    def write(file: BinaryIO) -> None:
        for number in range(100):
            file.write(bytes([number]) * PIECE_BYTES)
        done.set()

    client = Slow()
    with trio.fail_after(60):
        await send_spooled(write, client.start, client.send, trio.CapacityLimiter(1))
    assert done.is_set()
    assert len(client.received) == 100 * PIECE_BYTES


@pytest.mark.parametrize("size", [0, 10, PIECE_BYTES])
async def test_an_error_before_the_first_piece_begins_no_answer(size: int) -> None:
    """Raise the writer's error before anything is sent, so that the answer can still be an error."""

    def write(file: BinaryIO) -> None:
        file.write(b"a" * size)
        raise ValueError("no more")

    client = Client()
    with pytest.raises(ValueError, match="no more"):
        await send_spooled(write, client.start, client.send, trio.CapacityLimiter(1))
    assert (client.is_started, client.received) == (False, b"")


async def test_an_error_after_the_first_piece_is_raised_to_break_the_answer_off() -> None:
    """Raise the writer's error after some bytes were sent, so that the connection is cut."""
    read_first = threading.Event()

    class First(Client):
        async def send(self, piece: bytes) -> None:
            await super().send(piece)
            read_first.set()

    def write(file: BinaryIO) -> None:
        file.write(b"a" * (PIECE_BYTES + 1))
        assert read_first.wait(30)
        raise ValueError("no more")

    client = First()
    with pytest.raises(ValueError, match="no more"), trio.fail_after(60):
        await send_spooled(write, client.start, client.send, trio.CapacityLimiter(1))
    assert client.is_started
    assert 0 < len(client.received) <= PIECE_BYTES + 1


async def test_an_empty_answer_has_a_head() -> None:
    """Send a head for an answer without bytes."""
    client = Client()
    await send_spooled(lambda file: None, client.start, client.send, trio.CapacityLimiter(1))
    assert (client.is_started, bytes(client.received)) == (True, b"")


async def test_a_writer_ends_when_its_client_has_gone() -> None:
    """Stop a writer without an end soon after the sending was cancelled."""
    begun = trio.Event()

    class Gone(Client):
        async def send(self, piece: bytes) -> None:
            begun.set()
            await trio.sleep_forever()

    def write(file: BinaryIO) -> None:
        while True:
            file.write(b"a" * PIECE_BYTES)
            threading.Event().wait(0.001)

    client = Gone()
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(send_spooled, write, client.start, client.send, trio.CapacityLimiter(1))
            await begun.wait()
            nursery.cancel_scope.cancel()
