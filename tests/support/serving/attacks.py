"""Attacks on a listening port with plain sockets: each holds on while its block runs.

Attackers have an address of their own (127.0.0.2), as strangers: the ports leave this machine's own address
(127.0.0.1) more connections than others.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field

__all__ = ["ATTACKS", "HOST", "Target"]

HOST = "127.0.0.1"
STRANGER = "127.0.0.2"
CONNECT_S = 2.0
STEP_S = 0.05
"""Seconds between two bytes of a client that drips."""
STUCK = 60
"""Connections of an attack that holds some."""
PIPELINED = 64 * 1024
"""Bytes of requests that are sent at once."""
SMALL_BUFFER = 4 * 1024
"""The receive buffer of a client that reads nothing: the port, not the system, has to hold its answers."""
UPGRADE = (
    "connection: Upgrade", "upgrade: websocket", "sec-websocket-version: 13",
    "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
)  # fmt: skip
CALL = b'{"jsonrpc":"2.0","id":1,"method":"rpc_methods","params":[]}'
"""A call whose answer is long enough to be left unread."""


@dataclass
class Target:
    """A port under attack."""

    port: int
    path: str
    limit: int
    """Connections that it serves at most."""
    is_websocket: bool = False
    """Whether its requests are messages of a WebSocket, which each connection begins with."""
    odd: list[bytes] = field(default_factory=list)
    """Answers that no port may give."""

    def head(self, *lines: str, method: str = "GET") -> bytes:
        """Return the head of a request; on a WebSocket, of its handshake."""
        upgrade = UPGRADE if self.is_websocket else ()
        first = f"{method} {self.path} HTTP/1.1"
        return "\r\n".join([first, f"host: {HOST}:{self.port}", *upgrade, *lines, "", ""]).encode("latin-1")

    @property
    def request(self) -> bytes:
        """A whole request on a connection that is `opened`."""
        return frame_head(len(CALL)) + CALL if self.is_websocket else self.head()

    @property
    def begun(self) -> bytes:
        """The beginning of a request whose body drips."""
        if self.is_websocket:
            return frame_head(100_000)
        return self.head("content-length: 100000", method="POST")

    def connect(self, buffer: int = 0) -> socket.socket | None:
        """Open a connection; None if there is none at the moment. `buffer`: bytes of its receive buffer."""
        sock = socket.socket()
        try:
            if buffer:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            sock.settimeout(CONNECT_S)
            sock.bind((STRANGER, 0))
            sock.connect((HOST, self.port))
        except OSError:
            sock.close()
            return None
        return sock

    def opened(self, buffer: int = 0) -> socket.socket | None:
        """Return a new connection that takes requests; None if there is none at the moment."""
        if (sock := self.connect(buffer)) is None or not self.is_websocket:
            return sock
        try:
            shake_hands(sock, self)
        except OSError:
            sock.close()
            return None
        return sock

    def asked(self, data: bytes) -> bytes:
        """Return the beginning of the answer to what a new connection begins with; empty without one."""
        if (sock := self.connect()) is None:
            return b""
        with sock, suppress(OSError):
            sock.sendall(data)
            return sock.recv(4096)
        return b""

    def visit(self) -> None:
        """Open one connection with one request."""
        if (sock := self.opened()) is not None:
            with sock, suppress(OSError):
                sock.sendall(self.request)
                sock.recv(4096)


def shake_hands(sock: socket.socket, target: Target) -> None:
    """Open a WebSocket; an OSError if the port does not."""
    sock.sendall(target.head())
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := sock.recv(4096)):
            raise ConnectionResetError
        data += more
    if not data.startswith(b"HTTP/1.1 101 "):
        raise ConnectionRefusedError(data)


def frame_head(size: int) -> bytes:
    """Return the head of a client's text message of one frame, under the mask 0."""
    if size < 126:
        return struct.pack("!BB4x", 0x81, 0x80 | size)
    return struct.pack("!BBQ4x", 0x81, 0x80 | 127, size)


Attack = Callable[[Target], AbstractContextManager[None]]


@contextmanager
def _again_and_again(step: Callable[[], None]) -> Iterator[None]:
    """Take steps in a thread of their own, until the block ends."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(STEP_S / 10):
            step()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _held(
    target: Target, count: int, data: bytes, *, is_open: bool = True, buffer: int = 0
) -> Iterator[list[socket.socket]]:
    """Hold connections on which something was sent, as much as the port takes at once."""
    connect = target.opened if is_open else target.connect
    held = [sock for _ in range(count) if (sock := connect(buffer)) is not None]
    for sock in held:
        sock.setblocking(False)
        with suppress(OSError):
            sock.send(data)
    try:
        yield held
    finally:
        for sock in held:
            sock.close()


@contextmanager
def short_connections(target: Target) -> Iterator[None]:
    """Open twice as many connections as the limit, one after another, each with one request."""

    def step() -> None:
        for _ in range(20):
            target.visit()

    for _ in range(2 * target.limit):
        target.visit()
    with _again_and_again(step):
        yield


@contextmanager
def pipelined_and_gone(target: Target) -> Iterator[None]:
    """Send 64 kB of requests on each connection, which the client then closes."""
    with _held(target, STUCK, _many(target)):
        pass
    yield


@contextmanager
def unread_replies(target: Target) -> Iterator[None]:
    """Send as many requests, and read none of the answers."""
    with _held(target, STUCK, _many(target), buffer=SMALL_BUFFER):
        yield


def _many(target: Target) -> bytes:
    return target.request * (PIPELINED // len(target.request))


def _dripping(begun: Callable[[Target], bytes], *, is_open: bool) -> Attack:
    @contextmanager
    def attack(target: Target) -> Iterator[None]:
        with _held(target, STUCK, begun(target), is_open=is_open) as held:

            def step() -> None:
                for sock in held:
                    with suppress(OSError):
                        sock.send(b"x")

            with _again_and_again(step):
                yield

    return attack


@contextmanager
def half_open(target: Target) -> Iterator[None]:
    """Be clients that end their sending half in the middle of a request, and stay."""
    with _held(target, STUCK, target.request[:-10]) as held:
        for sock in held:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_WR)
        yield


@contextmanager
def idle_thousands(target: Target) -> Iterator[None]:
    """Open more connections than the limit, on which nothing is sent."""
    with _held(target, target.limit + 50, b""):
        yield


@contextmanager
def http_2_upgrade(target: Target) -> Iterator[None]:
    """Offer to switch to HTTP/2 in clear text."""
    offer = target.head(
        "connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__"
    )
    # A WebSocket is offered in the same head: one of both, or neither.
    wanted = (b"HTTP/1.1 101", b"HTTP/1.1 4") if target.is_websocket else (b"HTTP/1.1 200",)
    _expect(target, offer, *wanted)
    with _again_and_again(lambda: _expect(target, offer, *wanted)):
        yield


@contextmanager
def http_2_at_once(target: Target) -> Iterator[None]:
    """Be clients that speak HTTP/2 without asking."""
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00" * 20
    with _again_and_again(lambda: _expect(target, preface, b"HTTP/1.1 400", b"HTTP/1.1 505")):
        yield


@contextmanager
def two_lengths(target: Target) -> Iterator[None]:
    """Send requests with both lengths: a proxy might see a second one in them."""
    lines = "content-length: 5", "transfer-encoding: chunked"
    hidden = target.head(*lines, method="POST") + b"0\r\n\r\n" + target.head()
    with _again_and_again(lambda: _expect(target, hidden, b"HTTP/1.1 400")):
        yield


_ODD_LINES = (
    "origin: http://[", "origin: null, null", "origin: \xff", "origin: https://evil.example/.localhost",
    "origin: http://localhost\r\norigin: http://evil.example", "forwarded: for=\"", "forwarded: for=[",
    "x-forwarded-for: " + "1.2.3.4, " * 200, "x-forwarded-host: [", "x-real-ip: 999.1.1.1",
    "host: evil.example", "host: [", "host: localhost:99999", "authorization: Bearer \xff",
    "content-length: 99999999999999999999", "content-length: -1", "transfer-encoding: gzip, chunked",
    "expect: 100-continue\r\ncontent-length: 5", "range: bytes=0-9999999999", "cookie: " + "a=b; " * 1_000,
)  # fmt: skip


_PLAIN = tuple(b"HTTP/1.1 %b" % start for start in (b"1", b"2", b"3", b"4", b"501"))


@contextmanager
def odd_headers(target: Target) -> Iterator[None]:
    """Send origins, hosts, addresses of proxies, and lengths that are none."""

    def step() -> None:
        line = random.choice(_ODD_LINES)
        request = target.head(line, method=random.choice(["GET", "POST", "OPTIONS"]))
        answer = target.asked(request)
        if answer and not answer.startswith(_PLAIN):
            target.odd.append(request[:200] + b" -> " + answer[:100])

    with _again_and_again(step):
        yield


def _expect(target: Target, request: bytes, *answers: bytes) -> None:
    """Note an answer of another kind; a connection may be refused."""
    answer = target.asked(request)
    is_switched = b"h2c" in answer.partition(b"\r\n\r\n")[0].lower()
    if answer and (is_switched or not answer.startswith((*answers, b"HTTP/1.1 429"))):
        target.odd.append(request[:80] + b" -> " + answer[:100])


ATTACKS: dict[str, Attack] = {
    "short connections": short_connections,
    "pipelined and gone": pipelined_and_gone,
    "unread replies": unread_replies,
    "slow head": _dripping(lambda target: target.head()[:-4] + b"\r\nx-slow: ", is_open=False),
    "slow body": _dripping(lambda target: target.begun, is_open=True),
    "half-open": half_open,
    "idle thousands": idle_thousands,
    "HTTP/2 by upgrade": http_2_upgrade,
    "HTTP/2 by prior knowledge": http_2_at_once,
    "two lengths": two_lengths,
    "odd headers": odd_headers,
}
