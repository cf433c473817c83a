"""The WebSocket client under trio and asyncio, with a server that does what servers may do."""

from __future__ import annotations

import math
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    RejectConnection,
    Request,
    TextMessage,
)

from cfnode.clients import websocket
from cfnode.clients.websocket import Broken, NotConnected, Rejected, Socket, SocketMessageTooLarge, opened
from cfnode.core.foreign import ForeignError
from tests.deploy.proxies import write_certificate
from tests.sdk.loopback import unused_url
from tests.support.loops import LOOPS, Run

STEP = threading.Event()
"""Never set: a server that drips waits for it in each step."""
PATIENCE_S = 60.0
"""Seconds for what a server does at once, also on a slow machine."""
AT_ONCE = r"^(?!no answer within)"
"""The text of a failure that is not the end of the limit."""


class Server:
    """One connection to a server, in a thread."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._protocol = WSConnection(ConnectionType.SERVER)

    def send(self, *events: Event) -> None:
        """Send WebSocket events."""
        self.write(b"".join(self._protocol.send(event) for event in events))

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._connection.sendall(data)

    def stall_after(self, seconds: float) -> None:
        """End with an error when the client has not read for this long."""
        self._connection.settimeout(seconds)

    def linger(self) -> None:
        """Read until the client leaves."""
        while self._connection.recv(65536):
            pass

    def wait_for(self, kind: type[Event]) -> Any:
        """Return the next event, which has to be of a kind."""
        while (event := next(self._protocol.events(), None)) is None:
            self._protocol.receive_data(self._connection.recv(65536) or None)
        assert isinstance(event, kind)
        return event


@contextmanager
def serving(
    play: Callable[[Server], None], tls: ssl.SSLContext | None = None, seconds: float = PATIENCE_S
) -> Iterator[str]:
    """Yield the address of a server that plays this with its first connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def work() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.settimeout(seconds)
                play(Server(tls.wrap_socket(connection, server_side=True) if tls else connection))

        thread = threading.Thread(target=work)
        thread.start()
        yield f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}/path?query=1"
        thread.join(PATIENCE_S)


def accepted(server: Server) -> Request:
    """Return the handshake of the client, which the server accepts."""
    request: Request = server.wait_for(Request)
    server.send(AcceptConnection())
    return request


@LOOPS
def test_messages_go_both_ways_and_the_goodbye_is_answered(loop: Run) -> None:
    """Exchange messages with target, header, pieces and ping, and answer the close frame."""
    received: list[Any] = []

    def play(server: Server) -> None:
        request = accepted(server)
        received.extend((request.target, dict(request.extra_headers)[b"authorization"]))
        received.append(server.wait_for(TextMessage).data)
        server.send(
            TextMessage(data='["a', message_finished=False), Ping(payload=b"?"),
            TextMessage(data='b"]'), BytesMessage(data=b'{"c": 1}'),
        )  # fmt: skip
        received.append(bytes(server.wait_for(Pong).payload))
        server.send(server.wait_for(CloseConnection).response())

    async def scenario() -> None:
        async with opened(url, PATIENCE_S, [(b"authorization", b"Bearer x")]) as connection:
            await connection.send({"d": 2})
            received.append(await connection.receive())
            received.append(await connection.receive())

    with serving(play) as url:
        loop(scenario)
    assert received[:3] == ["/path?query=1", b"Bearer x", '{"d":2}']
    assert [message for message in received[3:] if message != b"?"] == [["ab"], {"c": 1}]
    assert b"?" in received


@LOOPS
@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_server_with_tls_needs_a_certificate_that_the_system_trusts(
    loop: Run, is_trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Require a certificate that the system trusts."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    write_certificate(tmp_path)
    tls.load_cert_chain(tmp_path / "fullchain.pem", tmp_path / "privkey.pem")
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "fullchain.pem"))

    def play(server: Server) -> None:
        accepted(server)
        server.send(TextMessage(data="1"))
        server.send(server.wait_for(CloseConnection).response())

    async def scenario() -> None:
        # trio-websocket does not say that TLS has failed: without trust, the limit ends the handshake
        async with opened(url, PATIENCE_S if is_trusted else 0.5) as connection:
            assert await connection.receive() == 1

    with serving(play, tls, PATIENCE_S if is_trusted else 1) as url:
        if is_trusted:
            loop(scenario)
        else:
            with pytest.raises(NotConnected):
                loop(scenario)


@LOOPS
def test_a_large_message_is_bounded(loop: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept a message up to the limit, and close with code 1009 beyond it."""
    monkeypatch.setattr(websocket, "MAX_MESSAGE_BYTES", 100_000)
    codes: list[int] = []

    def play(server: Server) -> None:
        accepted(server)
        server.send(TextMessage(data=f'"{"x" * 99_998}"'), TextMessage(data="y" * 100_001))
        codes.append(server.wait_for(CloseConnection).code)

    async def scenario() -> None:
        async with opened(url, PATIENCE_S) as connection:
            assert await connection.receive() == "x" * 99_998
            with pytest.raises(SocketMessageTooLarge, match="more than 100000 bytes"):
                await connection.receive()

    with serving(play) as url:
        loop(scenario)
    assert codes == [1009]


@LOOPS
@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (lambda server: server.send(CloseConnection(code=1001)), r"closed the connection \(1001\)"),
        (lambda server: None, "closed the connection"),
        (lambda server: server.write(b"\xff\xff\xff"), r"closed the connection \(1002\)"),
        (lambda server: server.write(b"\x81\x02\xff\xff"), r"closed the connection \(1007\)"),
    ],
)
def test_a_connection_that_ends(loop: Run, ending: Callable[[Server], None], text: str) -> None:
    """Name the code with which a connection ended, if there was one."""

    def play(server: Server) -> None:
        accepted(server)
        ending(server)

    async def scenario() -> None:
        async with opened(url, PATIENCE_S) as connection:
            with pytest.raises(Broken, match=text):
                await connection.receive()

    with serving(play) as url:
        loop(scenario)


@LOOPS
def test_a_message_that_is_no_json_leaves_the_connection_open(loop: Run) -> None:
    """Leave the connection open after a message that is not JSON."""

    def play(server: Server) -> None:
        accepted(server)
        server.send(TextMessage(data="{"), TextMessage(data="1"))

    async def scenario() -> None:
        async with opened(url, PATIENCE_S) as connection:
            with pytest.raises(ForeignError):
                await connection.receive()
            assert await connection.receive() == 1

    with serving(play) as url:
        loop(scenario)


def drip(server: Server) -> None:
    """Send a head without end, slowly."""
    server.wait_for(Request)
    server.write(b"HTTP/1.1 101 Switching Protocols\r\n")
    while True:  # until the client leaves
        server.write(b"a")
        STEP.wait(0.02)


def hold(server: Server) -> None:
    """Read the handshake, and send nothing until the client leaves."""
    server.wait_for(Request)
    server.linger()


def send_headers(server: Server) -> None:
    """Send a head without end, fast, to a client that at last reads no more."""
    server.wait_for(Request)
    server.write(b"HTTP/1.1 101 Switching Protocols\r\n")
    while True:  # until the client leaves
        server.write(b"a: b\r\n" * 1000)


def refuse(server: Server) -> None:
    """Reject the handshake with status 403."""
    server.wait_for(Request)
    server.send(RejectConnection(status_code=403))


def stay_silent(server: Server) -> None:
    """Accept the handshake, and send nothing until the client leaves."""
    accepted(server)
    server.linger()


@LOOPS
@pytest.mark.parametrize(
    ("play", "seconds", "error", "text"),
    [
        (drip, 0.5, NotConnected, r"no answer within 0\.5 s"),
        (hold, 0.5, NotConnected, r"no answer within 0\.5 s"),
        (refuse, PATIENCE_S, Rejected, "HTTP 403"),
        (send_headers, PATIENCE_S, NotConnected, AT_ONCE),
        (lambda server: server.write(b"SSH-2.0-x\r\n\r\n"), PATIENCE_S, NotConnected, AT_ONCE),
    ],
)
def test_a_handshake_that_fails(
    loop: Run, play: Callable[[Server], None], seconds: float, error: type[Exception], text: str
) -> None:
    """Fail a handshake that is late, rejected, endless or no HTTP, in time."""

    async def scenario() -> None:
        with pytest.raises(NotConnected, match=text) as caught:
            async with opened(url, seconds):
                raise AssertionError("not connected")
        assert type(caught.value) is error

    with serving(play, seconds=5) as url:  # a client may leave without a word
        loop(scenario)


@LOOPS
def test_no_server_and_no_address(loop: Run) -> None:
    """Name a refused connection and an unknown scheme."""

    async def scenario() -> None:
        for bad, text in ((unused_url(), "refused"), ("ftp://x", "scheme")):
            with pytest.raises(NotConnected, match=text):
                async with opened(bad, 10):
                    raise AssertionError("not connected")

    loop(scenario)


@LOOPS
@pytest.mark.parametrize("is_failing", [True, False])
def test_closing_waits_a_limited_time_for_a_server_that_does_not_answer_the_close_frame(
    loop: Run, is_failing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wait a limited time for the close frame's answer, whether the block failed or not."""
    monkeypatch.setattr(websocket, "CLOSE_TIMEOUT_S", 0.1)

    async def scenario() -> None:
        with pytest.raises(ZeroDivisionError):
            async with opened(url, PATIENCE_S):
                if is_failing:
                    _ = 1 / 0
            _ = 1 / 0

    with serving(stay_silent) as url:
        loop(scenario)


@LOOPS
@pytest.mark.parametrize("accept", [True, False])
def test_a_cancellation_needs_neither_the_handshake_nor_the_goodbye(
    loop: Run, accept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancel a handshake and a receive at once: what the server would have to send has no limit here."""
    monkeypatch.setattr(websocket, "CLOSE_TIMEOUT_S", math.inf)
    asked = threading.Event()

    def play(server: Server) -> None:
        server.wait_for(Request)
        if accept:
            server.send(AcceptConnection())
        asked.set()
        server.linger()

    async def scenario() -> None:
        is_open = False

        async def cancel() -> None:
            while not (asked.is_set() and is_open is accept):  # noqa: ASYNC110 - a thread sets it
                await anyio.sleep(0.001)
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel)
            async with opened(url, math.inf) as connection:
                is_open = True
                await connection.receive()
        assert tasks.cancel_scope.cancelled_caught

    with serving(play) as url:
        loop(scenario)


@LOOPS
def test_a_cancelled_step_loses_no_message(loop: Run) -> None:
    """Lose no message by a receive that is cancelled."""

    def play(server: Server) -> None:
        accepted(server)
        for number in range(3):
            assert server.wait_for(TextMessage).data == str(number)
            server.send(TextMessage(data=str(number)))
        server.send(server.wait_for(CloseConnection).response())

    async def scenario() -> None:
        async with opened(url, PATIENCE_S) as connection:
            for number in range(3):
                with anyio.move_on_after(0.05) as scope:  # nothing comes: it is cancelled
                    await connection.receive()
                assert scope.cancelled_caught
                await connection.send(number)
                assert await connection.receive() == number

    with serving(play) as url:
        loop(scenario)


@LOOPS
def test_the_end_of_the_block_ends_a_receive_of_another_task(loop: Run) -> None:
    """End the receive of another task with the block, and refuse calls afterwards."""
    errors: list[Exception] = []

    def play(server: Server) -> None:
        accepted(server)
        server.send(server.wait_for(CloseConnection).response())

    async def scenario() -> None:
        async def receive(connection: Socket, started: anyio.Event) -> None:
            started.set()
            try:
                await connection.receive()
            except Broken as error:
                errors.append(error)

        async with anyio.create_task_group() as tasks, opened(url, PATIENCE_S) as connection:
            started = anyio.Event()
            tasks.start_soon(receive, connection, started)
            await started.wait()
        with pytest.raises(Broken):
            await connection.receive()
        with pytest.raises(Broken):
            await connection.send(1)

    with serving(play) as url:
        loop(scenario)
    assert len(errors) == 1


@LOOPS
def test_several_connections_at_once(loop: Run) -> None:
    """Keep the messages of several connections apart."""

    def play(server: Server) -> None:
        accepted(server)
        for _ in range(20):
            server.send(TextMessage(data=server.wait_for(TextMessage).data))
        server.send(server.wait_for(CloseConnection).response())

    async def echo(url: str, name: str) -> None:
        async with opened(url, PATIENCE_S) as connection:
            for number in range(20):
                await connection.send([name, number])
                assert await connection.receive() == [name, number]

    async def scenario() -> None:
        async with anyio.create_task_group() as tasks:
            for name, url in addresses.items():
                tasks.start_soon(echo, url, name)

    with ExitStack() as servers:
        addresses = {name: servers.enter_context(serving(play)) for name in "abcd"}
        loop(scenario)


@LOOPS
def test_messages_that_nobody_receives_wait_at_the_server(loop: Run) -> None:
    """Leave messages that are not received at the server: the client's memory is bounded."""
    sent: list[int] = []
    stalled = threading.Event()

    def play(server: Server) -> None:
        accepted(server)
        server.stall_after(3)  # far longer than a client that reads needs
        try:
            for number in range(100):
                server.send(TextMessage(data=f'"{"x" * 1_000_000}"'))
                sent.append(number)
        finally:
            stalled.set()

    async def scenario() -> None:
        async with opened(url, PATIENCE_S) as connection:
            await connection.receive()
            await anyio.to_thread.run_sync(stalled.wait, 30)

    with serving(play) as url:
        loop(scenario)
    assert 1 <= len(sent) < 50
