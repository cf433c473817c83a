"""Clients that drip, stall, flood or vanish: what they cost, and that others do not notice."""

from __future__ import annotations

import resource
import socket
import sys
from contextlib import suppress
from functools import partial

import pytest
import trio
import trio.testing

from cfnode.node.config import RpcConfig
from cfnode.rpc.server import RPC_STOP_GRACE_S, listen_at
from cfnode.rpc.substrate.system import METHODS
from cfnode.rpc.table.rows import Method
from cfnode.serving import server
from cfnode.serving.bounded_stream import SEND_DEADLINE
from cfnode.serving.limits import KEEP_ALIVE_S, REQUEST_HEAD_TIMEOUT_S
from cfnode.serving.listening import ListenError, allow_files, listen
from cfnode.serving.memory_budget import MemoryBudgets
from tests.rpc.clients import Http, StandIn, WebSocket, served
from tests.support.memory import peak, reset_peak
from tests.support.rpc.connections import hoard, until_closed
from tests.support.waiting import LIMIT_S


def large(node: StandIn) -> str:
    """Return an answer of 4 MB."""
    return "x" * 4_000_000


ROWS = (*METHODS, Method("test_large", large))


@pytest.fixture
def jumping_clock() -> trio.testing.MockClock:
    """Let time pass when no task has had anything to do for a moment; sockets need that moment."""
    return trio.testing.MockClock(autojump_threshold=0.03)


async def test_a_header_that_drips_is_cut_off(jumping_clock: trio.testing.MockClock) -> None:
    """Cut off a head that drips in, byte by byte."""
    async with served(ROWS) as port, Http(port) as slow, Http(port) as other:
        started = trio.current_time()
        async with trio.open_nursery() as nursery:

            async def drip() -> None:
                await slow.stream.send_all(b"POST / HTTP/1.1\r\n")
                while True:
                    await trio.sleep(1)
                    await slow.stream.send_all(b"x")

            nursery.start_soon(drip)
            await until_closed(slow.stream)
            nursery.cancel_scope.cancel()
        assert trio.current_time() - started <= 15
        del other


async def test_a_body_that_drips_is_cut_off_at_the_total_deadline(
    jumping_clock: trio.testing.MockClock,
) -> None:
    """Cut off a body that drips in at the deadline for all of it."""
    async with served(ROWS) as port, Http(port) as http:
        head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        await http.stream.send_all(f"{head}content-length: 1000\r\n\r\n".encode())
        started = trio.current_time()
        answer = b""
        with trio.move_on_after(40):
            async with trio.open_nursery() as nursery:

                async def drip() -> None:
                    while True:
                        await trio.sleep(1)
                        await http.stream.send_all(b" ")

                nursery.start_soon(drip)
                answer = await until_closed(http.stream)
                nursery.cancel_scope.cancel()
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert 29 <= trio.current_time() - started <= 32


async def test_an_idle_connection_is_kept_for_a_minute_and_closed_then(
    jumping_clock: trio.testing.MockClock,
) -> None:
    """Keep an idle connection for a minute, and close it then."""
    async with served(ROWS) as port, Http(port) as http:
        for _ in range(3):
            assert (await http.request("GET", "/health")).status == 200
            await trio.sleep(61)
        assert (await http.request("GET", "/health")).status == 200
        started = trio.current_time()
        assert await until_closed(http.stream) == b""
        assert 61 <= trio.current_time() - started <= KEEP_ALIVE_S + 1


async def test_a_connection_without_a_request_is_closed(jumping_clock: trio.testing.MockClock) -> None:
    """Close a connection that sends no request."""
    async with served(ROWS) as port, Http(port) as http:
        started = trio.current_time()
        assert await until_closed(http.stream) == b""
        assert trio.current_time() - started <= REQUEST_HEAD_TIMEOUT_S + 1


@pytest.mark.parametrize(("requests_before", "idle_s"), [(0, 0), (0, 5), (2, 0), (2, 5), (2, 50)])
async def test_a_head_has_ten_seconds_however_long_the_connection_was_idle_before(
    requests_before: int, idle_s: float, jumping_clock: trio.testing.MockClock
) -> None:
    """Give a head ten seconds, however long the connection was idle before."""
    async with served(ROWS) as port, Http(port) as http:
        for _ in range(requests_before):
            assert (await http.request("GET", "/health")).status == 200
        await trio.sleep(idle_s)
        started = trio.current_time()
        async with trio.open_nursery() as nursery:

            async def drip() -> None:
                for byte in b"POST / HTTP/1.1\r\nx-header: " + b"x" * 100:
                    with suppress(trio.BrokenResourceError):
                        await http.stream.send_all(bytes([byte]))
                    await trio.sleep(0.9)

            nursery.start_soon(drip)
            await until_closed(http.stream)
            nursery.cancel_scope.cancel()
        assert trio.current_time() - started <= REQUEST_HEAD_TIMEOUT_S + 1
        assert requests_before or trio.current_time() <= REQUEST_HEAD_TIMEOUT_S + 1, (
            "counted from the connection's begin"
        )


async def test_a_head_that_comes_in_time_is_served_and_the_next_one_has_its_own_time(
    jumping_clock: trio.testing.MockClock,
) -> None:
    """Serve a head that comes in time, and give the next one its own time."""
    async with served(ROWS) as port, Http(port) as http:
        head = f"GET /health HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode()
        await http.stream.send_all(head[:10])
        for _ in range(4):
            await trio.sleep(8)
            await http.stream.send_all(head[10:] + head[:10])
            assert (await http.answer()).status == 200


async def test_a_quiet_websocket_that_answers_pings_stays(jumping_clock: trio.testing.MockClock) -> None:
    """Keep a quiet WebSocket that answers pings."""
    async with served(ROWS) as port, WebSocket(port) as ws:
        async with trio.open_nursery() as nursery:

            async def answer_pings() -> None:
                while True:
                    await ws._more()
                    ws._buffer = b""
                    await ws.send(b"", opcode=10)

            nursery.start_soon(answer_pings)
            await trio.sleep(300)
            nursery.cancel_scope.cancel()
        assert "result" in await ws.call("system_health")


async def test_a_dead_websocket_is_dropped(jumping_clock: trio.testing.MockClock) -> None:
    """Drop a WebSocket that does not answer pings."""
    async with served(ROWS) as port, WebSocket(port) as ws:
        started = trio.current_time()
        await until_closed(ws.stream)
        assert trio.current_time() - started <= 45


async def test_a_client_that_does_not_read_its_answer_is_dropped(
    jumping_clock: trio.testing.MockClock,
) -> None:
    """Drop a client that does not read its answer."""
    ended = trio.Event()

    async def serve_one(port: int) -> None:
        async with Http(port) as http:
            body = b'{"jsonrpc":"2.0","id":1,"method":"test_large"}'
            head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
            await http.stream.send_all(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            await trio.sleep(SEND_DEADLINE + 5)
            data = await until_closed(http.stream)
            assert len(data) < 4_000_000
            ended.set()

    async with served(ROWS) as port:
        await serve_one(port)
    assert ended.is_set()


@pytest.mark.parametrize(
    ("now", "hard", "then"), [(1024, 4096, None), (256, 4096, 644), (256, 600, 600), (600, 600, None)]
)
def test_the_process_may_have_a_file_for_each_connection(
    now: int, hard: int, then: int | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Raise the limit of open files as far as the connections need, and warn where it is too low."""
    changes: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (now, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda *change: changes.append(change))
    allow_files(132, "lower --rpc-max-connections")
    assert changes == ([] if then is None else [(resource.RLIMIT_NOFILE, (then, hard))])
    assert ("132 connections need 644 open files, this process may have 600" in caplog.text) == (hard == 600)


async def test_the_server_stops_in_time_although_no_client_reads(
    jumping_clock: trio.testing.MockClock,
) -> None:
    """Stop in time although no client reads."""
    async with trio.open_nursery() as outer:
        async with served(ROWS) as port:
            clients = [await outer.start(stubborn, port) for _ in range(10)]
            await trio.testing.wait_all_tasks_blocked(0.05)
            started = trio.current_time()
        assert trio.current_time() - started <= RPC_STOP_GRACE_S + 0.5
        outer.cancel_scope.cancel()
        assert len(clients) == 10


async def stubborn(port: int, task_status: trio.TaskStatus[None]) -> None:
    """Ask for much as a client, by turns over WebSocket and HTTP, and read nothing."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"test_large"}'
    async with WebSocket(port) as ws, Http(port) as http:
        for _ in range(4):
            await ws.send(body)
        head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        await http.stream.send_all(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        task_status.started()
        await trio.sleep_forever()


async def test_a_call_under_way_is_finished_when_the_server_stops() -> None:
    """Finish a call that is under way when the server stops."""
    entered, release = trio.Event(), trio.Event()

    async def wait(node: StandIn) -> str:
        entered.set()
        await release.wait()
        return "done"

    answers: list[object] = []

    async def client(port: int) -> None:
        async with Http(port) as http:
            answers.append((await http.call("test_wait"))["result"])

    async with trio.open_nursery() as outer, served([Method("test_wait", wait)]) as port:
        outer.start_soon(client, port)
        await entered.wait()
        outer.start_soon(trio.testing.wait_all_tasks_blocked, 0.01)
        release.set()
    assert answers == ["done"]


async def test_a_client_that_answers_nothing_holds_only_so_much_memory() -> None:
    """Hold a bounded amount of memory for a client that reads no answers."""
    before = reset_peak()
    async with served(ROWS) as port, WebSocket(port) as ws, trio.open_nursery() as nursery:

        async def ask() -> None:
            for _ in range(200):
                await ws.send(b'{"jsonrpc":"2.0","id":1,"method":"test_large"}')

        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked(0.1)  # the server takes no more
        nursery.cancel_scope.cancel()
    assert peak() - before < 150_000_000, "bytes, of 800 MB asked for"


@pytest.mark.world
async def test_the_heaviest_clients_that_do_not_read_are_cut_off_and_others_are_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cut off the heaviest clients that do not read, and serve the others."""
    budgets = MemoryBudgets(150_000_000)
    monkeypatch.setattr(server, "MemoryBudgets", lambda: budgets)
    async with (
        served([*ROWS, Method("test_anotherLarge", another_large)]) as port,
        trio.open_nursery() as nursery,
    ):
        for _ in range(6):
            await nursery.start(hoard, port)
        await trio.testing.wait_all_tasks_blocked(0.1)
        assert len(budgets) == 3, "of 6 that are owed 48 MB each"
        assert budgets.size <= 150_000_000
        async with Http(port) as http, WebSocket(port) as ws:
            for _ in range(3):
                assert len((await http.call("test_large"))["result"]) == 4_000_000
                assert len((await ws.call("test_anotherLarge"))["result"]) == 4_000_000
        nursery.cancel_scope.cancel()


async def another_large(node: StandIn) -> str:
    """Return an answer of 4 MB from a task of its own."""
    await trio.lowlevel.checkpoint()
    return large(node)


def test_the_heaviest_burden_goes_first_and_counts_no_more() -> None:
    """Evict the heaviest budget first, and count nothing of it any more."""
    budgets, gone = MemoryBudgets(100), list[str]()
    light, heavy, third = (budgets.begin(partial(gone.append, name)) for name in ("light", "heavy", "third"))
    light.add(30)
    heavy.add(60)
    with third.holding() as hold:
        hold(10)
        assert gone == []
        hold(1)
        assert (gone, budgets.size) == (["heavy"], 41)
        heavy.add(1_000)  # what a connection that is over still does
        heavy.end()
        assert budgets.size == 41
    assert (third.size, budgets.size) == (0, 30)
    light.add(71)
    assert (gone, budgets.size) == (["heavy", "light"], 0)


async def test_all_answers_come_to_a_client_that_reads_late() -> None:
    """Deliver all answers to a client that reads late."""

    async def slow(node: StandIn) -> str:
        await trio.lowlevel.checkpoint()
        return "x" * 400_000

    row = Method("test_slow", slow)
    async with served([row], message_buffer=2) as port, WebSocket(port) as ws:
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                for number in range(40):
                    await ws.send(b'{"jsonrpc":"2.0","id":%d,"method":"test_slow"}' % number)

            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked(0.2)
            with trio.fail_after(LIMIT_S):
                answers = [await ws.message() for _ in range(40)]
        assert sorted(answer["id"] for answer in answers) == list(range(40))


async def test_a_million_brackets_over_both_transports_leave_the_server_alive() -> None:
    """Survive millions of brackets over both transports."""
    bomb = b"[" * 3_000_000
    async with served(ROWS) as port, Http(port) as http, WebSocket(port) as ws:
        assert (await http.post(bomb)).json()["error"]["code"] == -32007
        await ws.send(bomb)
        assert (await ws.message())["error"]["code"] == -32007
        assert "result" in await ws.call("system_health")
    assert sys.getrecursionlimit() <= 1_500


def test_a_port_in_use_is_an_error_with_advice() -> None:
    """Explain a port in use, and name the flag that changes it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ListenError, match=rf"port {port} on 127.0.0.1 is in use.*--rpc-port"):
            listen(listen_at(RpcConfig(port=port)))


def test_both_loopback_addresses_have_one_port_and_a_send_timeout() -> None:
    """Listen on both loopback addresses with one port, and give sends a timeout."""
    sockets = listen(listen_at(RpcConfig(port=0)))
    try:
        assert sockets[0].getsockname()[0] == "127.0.0.1"
        assert len({sock.getsockname()[1] for sock in sockets}) == 1
        for sock in sockets:
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
    finally:
        for sock in sockets:
            sock.close()


def test_rpc_external_listens_everywhere() -> None:
    """Listen on all addresses with --rpc-external."""
    sockets = listen(listen_at(RpcConfig(port=0, external=True)))
    try:
        assert sockets[0].getsockname()[0] == "0.0.0.0"
    finally:
        for sock in sockets:
            sock.close()
