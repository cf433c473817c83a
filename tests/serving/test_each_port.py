"""Each listening port bounds its connections in the same way."""

from __future__ import annotations

import socket
import struct
import time
from pathlib import Path

import pytest
import trio
import trio.testing

from cfnode.serving import server
from cfnode.serving.bounded_stream import SEND_DEADLINE
from cfnode.serving.limits import REQUEST_HEAD_TIMEOUT_S
from cfnode.serving.memory_budget import MemoryBudgets
from tests.rpc.clients import Http
from tests.support.rpc.connections import until_closed
from tests.support.serving.ports import PORTS, Served, serving
from tests.support.waiting import until

RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of a socket that is reset when it is closed."""

pytestmark = pytest.mark.parametrize("name", PORTS)


@pytest.fixture
def jumping_clock() -> trio.testing.MockClock:
    """Let time pass when no task has had anything to do for a moment; sockets need that moment."""
    return trio.testing.MockClock(autojump_threshold=0.03)


@pytest.fixture
def budgets(monkeypatch: pytest.MonkeyPatch) -> MemoryBudgets:
    """Return the budgets of the next port."""
    made = MemoryBudgets()
    monkeypatch.setattr(server, "MemoryBudgets", lambda: made)
    return made


def open_sockets() -> int:
    """Return sockets of this process."""
    count = 0
    for path in Path("/proc/self/fd").iterdir():
        try:
            count += str(path.readlink()).startswith("socket:")
        except OSError:  # that of the listing itself
            continue
    return count


async def connected(served: Served, data: bytes) -> trio.SocketStream:
    """Return a connection on which `data` was sent."""
    stream = await trio.open_tcp_stream("127.0.0.1", served.port)
    await stream.send_all(data)
    return stream


async def test_a_connection_ends_when_its_client_has_closed_it(
    name: str, tmp_path: Path, jumping_clock: trio.testing.MockClock
) -> None:
    """At once after the answer, when the server waits for the next request again, and by a reset."""
    async with serving(name, tmp_path) as served:
        async with Http(served.port) as http:
            assert (await http.request("GET", served.path)).status == 200
        before, started = open_sockets(), trio.current_time()
        for number in range(18):
            async with Http(served.port) as http:
                assert (await http.request("GET", served.path)).status == 200
                if number % 3:
                    await trio.testing.wait_all_tasks_blocked(0.001)
                if number % 3 == 2:
                    http.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        await until(lambda: open_sockets() <= before, lambda: f"{open_sockets()} sockets, {before} before")
        assert trio.current_time() - started <= REQUEST_HEAD_TIMEOUT_S, (
            "long before the end of the time that one may be idle"
        )


async def test_requests_of_a_client_that_has_left_are_not_answered(name: str, tmp_path: Path) -> None:
    """Drop the pipelined requests of a client that has left, instead of answering all of them."""
    async with serving(name, tmp_path) as served:
        pipelined = served.head() * (60_000 // len(served.head()))
        before, began = open_sockets(), time.process_time()
        for _ in range(8):
            stream = await connected(served, pipelined)
            await trio.aclose_forcefully(stream)
        await until(lambda: open_sockets() <= before)
        used = time.process_time() - began
        async with Http(served.port) as http:
            began = time.process_time()
            for _ in range(50):
                await http.request("GET", served.path)
        cost_s = (time.process_time() - began) / 50
        assert used < 8 * 200 * cost_s, "of 8 times 1,000 and more"


async def test_a_client_that_reads_nothing_is_cut_off(
    name: str, tmp_path: Path, jumping_clock: trio.testing.MockClock
) -> None:
    """Cut off a client that reads nothing once its send deadline has passed."""
    async with serving(name, tmp_path) as served:
        stream = await trio.open_tcp_stream("127.0.0.1", served.port)
        started, was_cut_off = trio.current_time(), False
        with trio.move_on_after(SEND_DEADLINE + 20):
            try:
                while True:  # until neither side takes any more
                    await stream.send_all(served.head() * 100)
            except trio.BrokenResourceError:
                was_cut_off = True
        took = trio.current_time() - started
        await trio.aclose_forcefully(stream)  # first, so that a server without deadlines can stop
        assert (was_cut_off, took <= SEND_DEADLINE + 10) == (True, True), f"after {took:.0f} s"


async def test_a_head_has_ten_seconds(
    name: str, tmp_path: Path, jumping_clock: trio.testing.MockClock
) -> None:
    """Close a connection whose head is not complete in ten seconds."""
    async with serving(name, tmp_path) as served:
        stream = await connected(served, served.head()[:20])
        started = trio.current_time()
        await until_closed(stream)
        assert trio.current_time() - started <= REQUEST_HEAD_TIMEOUT_S + 1


async def test_no_http_2_by_upgrade_or_prior_knowledge(name: str, tmp_path: Path) -> None:
    """Stay with HTTP/1.1: ignore the upgrade to h2c, and refuse HTTP/2 by prior knowledge."""
    upgrade = ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__")
    async with serving(name, tmp_path) as served:
        stream = await connected(served, served.head(*upgrade, "x-last: 1"))
        assert (await stream.receive_some(64)).startswith(b"HTTP/1.1 200 ")
        await trio.aclose_forcefully(stream)
        stream = await connected(served, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))
        answer = await until_closed(stream)
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 505 ")), answer


async def test_a_request_with_two_lengths_is_refused(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Refuse a request with two lengths: two servers could read two different requests."""
    async with serving(name, tmp_path) as served:
        lines = ("content-length: 5", "transfer-encoding: chunked")
        stream = await connected(served, served.head(*lines, method="POST") + b"0\r\n\r\n")
        assert (await until_closed(stream)).startswith(b"HTTP/1.1 400 ")
    assert "Traceback" not in caplog.text


async def test_an_answer_before_the_whole_body_announces_that_the_connection_ends(
    name: str, tmp_path: Path
) -> None:
    """Announce the end of the connection when the answer comes before the whole body."""
    async with serving(name, tmp_path) as served:
        for size, is_whole in ((100, True), (100, False), (900_000, False)):
            head = served.head(f"content-length: {size}", method="PUT")
            async with Http(served.port) as http:
                await http.stream.send_all(head + b"x" * (size if is_whole else size // 2))
                answer = await http.answer()
                assert 400 <= answer.status < 500
                assert answer.headers.get("connection") == (None if is_whole else "close")
                if is_whole:
                    assert (await http.request("GET", served.path)).status == 200
                else:
                    assert await until_closed(http.stream) == b""


async def test_the_received_part_of_a_body_counts_as_held_until_its_client_has_left(
    name: str, tmp_path: Path, budgets: MemoryBudgets
) -> None:
    """Count the received part of a body as held until its client has left."""
    async with serving(name, tmp_path) as served:
        path, kind = served.posted or (served.path, "application/json")
        lines = f"content-type: {kind}", "content-length: 9000"
        stream = await connected(served, served.head(*lines, method="POST", path=path) + b"a" * 4_000)
        if served.posted is None:
            assert (await stream.receive_some(64)).startswith(b"HTTP/1.1 40")
        else:
            await until(lambda: budgets.size >= 4_000, lambda: f"{budgets.size} bytes")
        await trio.aclose_forcefully(stream)
        await until(lambda: budgets.size == 0, lambda: f"{budgets.size} bytes are left")


async def test_a_refused_body_that_goes_on_costs_no_place(
    name: str, tmp_path: Path, jumping_clock: trio.testing.MockClock
) -> None:
    """End a connection whose refused body goes on, so that it takes no place."""
    async with serving(name, tmp_path) as served:
        before = open_sockets()
        head = served.head("content-length: 900000", method="PUT")
        stream = await connected(served, head + b"x" * 400_000)
        started = trio.current_time()
        await until_closed(stream)
        await trio.aclose_forcefully(stream)
        await until(lambda: open_sockets() <= before)
        assert trio.current_time() - started <= 60
