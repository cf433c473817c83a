"""A server that answers each request with something hostile, over HTTP or, after a handshake, as WebSocket.

A behaviour gives the pieces of an answer one by one, so that the server itself needs no memory.
"""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final

MIB: Final = 1024 * 1024
BOMB_SIZE: Final = 31 * MIB
ESCAPES: Final = "\x1b]0;owned\x07\x1b[2J\x9b2J\r\n2026-01-01 00:00:00 all is well"
DIGITS: Final = b"7" * 5_000
TEXT, BINARY = 0x1, 0x2
_KEY: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_PAUSE_S: Final = 0.02

Calls = list[dict[str, Any]] | dict[str, Any]
Pieces = Iterator[bytes]
Answer = Callable[[Calls], Pieces]


def envelope(calls: Calls, outcome: bytes) -> bytes:
    """Return the answer to each call: `outcome` is `"result":…` or `"error":…`."""
    every = [calls] if isinstance(calls, dict) else calls
    identities = [json.dumps(request.get("id")).encode() for request in every]
    parts = [b'{"jsonrpc":"2.0","id":%b,%b}' % (identity, outcome) for identity in identities]
    return parts[0] if isinstance(calls, dict) else b"[" + b",".join(parts) + b"]"


def _of(make: Callable[[Calls], bytes]) -> Answer:
    return lambda calls: iter([make(calls)])


def _bomb(calls: Calls) -> Pieces:
    yield b"["
    for _ in range(BOMB_SIZE // (MIB - MIB % 5)):
        yield b"[[]]," * (MIB // 5)
    yield b"[]]"


def _endless(calls: Calls) -> Pieces:
    while True:
        yield b" " * MIB


def _dripping(calls: Calls) -> Pieces:
    while True:
        yield b" "
        threading.Event().wait(_PAUSE_S)


BODIES: Final[dict[str, Answer]] = {
    "not UTF-8": _of(lambda calls: envelope(calls, b'"result":"\xff\xfe"')),
    "value bomb": _bomb,
    "depth": _of(lambda calls: envelope(calls, b'"result":' + b"[" * 100_000 + b"]" * 100_000)),
    "unclosed depth": _of(lambda calls: b"[" * MIB),
    "5,000 digits": _of(lambda calls: envelope(calls, b'"result":' + DIGITS)),
    "escapes": _of(
        lambda calls: envelope(
            calls, b'"error":' + json.dumps({"code": 1, "message": ESCAPES, "data": ESCAPES}).encode()
        )
    ),
    "wrong types": _of(lambda calls: b'[{"jsonrpc":2,"id":[1],"error":[[]]},7,null]'),
    "wrong envelope": _of(lambda calls: b'{"params":[],"id":{}}'),
    "another id": _of(lambda calls: b'{"jsonrpc":"2.0","id":"another","result":{}}'),
    "endless": _endless,
    "dripping": _dripping,
}
"""Answers of one body, or of one message."""
FURTHER: Final = ("compressed", "redirect", "early end", "silence", "endless head", "another protocol")
"""Answers that are not about the body."""
ANSWERS: Final = (*BODIES, *FURTHER)


@cache
def _packed() -> bytes:
    """Return a few hundred kilobytes that expand to 200 MiB."""
    packed = zlib.compressobj(1, wbits=31)
    return b"".join(packed.compress(b" " * MIB) for _ in range(200)) + packed.flush()


class Hostile:
    """The server; `requests` counts what arrived, by path."""

    def __init__(self, name: str) -> None:
        self.name = name
        _packed()  # made before a client waits for it
        self.paths: list[str] = []
        self.released = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):  # the end
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def close(self) -> None:
        """Close the port and all connections."""
        self.released.set()
        for open_socket in (self._listener, *self._open):
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)
            open_socket.close()
        for thread in self._threads:
            thread.join(10)

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError), connection, connection.makefile("rb") as stream:
            while line := stream.readline(MIB):
                self.paths.append(line.split()[1].decode())
                head = _read_head(stream)
                if b"sec-websocket-key" in head:
                    self._websocket(connection, stream, head[b"sec-websocket-key"])
                    return
                body = stream.read(int(head.get(b"content-length", 0)))
                calls = json.loads(body) if body else {"id": 1}
                if not self._answer(connection, calls):
                    return

    def _answer(self, connection: socket.socket, calls: Calls) -> bool:
        """Send the answer; whether the connection goes on."""
        if self.name in BODIES:
            self._chunked(connection, BODIES[self.name](calls))
            return True
        return self._further(connection, calls)

    def _further(self, connection: socket.socket, calls: Calls) -> bool:
        """Return an answer that is no body; False ends the connection."""
        result = envelope(calls, b'"result":"' + b"x" * 100 + b'"')
        match self.name:
            case "compressed":
                data = _packed()
                connection.sendall(_head("200 OK", b"content-encoding: gzip", len(data)) + data)
            case "redirect":
                connection.sendall(_head("307 Temporary Redirect", b"location: /elsewhere", 0))
                return True
            case "early end":
                connection.sendall(_head("200 OK", b"x: y", len(result) + 1_000) + result)
            case "silence":
                self.released.wait()
            case "endless head":
                connection.sendall(b"HTTP/1.1 200 OK\r\n")
                while not self.released.is_set():
                    connection.sendall(b"x-more: %b\r\n" % (b"y" * 1_000))
            case "another protocol":
                connection.sendall(b"220 mail.example ESMTP\r\n\xff\xfe\r\n\r\n")
        return False

    def _chunked(self, connection: socket.socket, pieces: Pieces) -> None:
        connection.sendall(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        for piece in pieces:
            if self.released.is_set():
                return
            connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
        connection.sendall(b"0\r\n\r\n")

    # WebSocket

    def _websocket(self, connection: socket.socket, stream: Any, key: bytes) -> None:
        if self.name in ("redirect", "endless head", "another protocol"):
            self._further(connection, {"id": 1})
            return
        accepted = base64.b64encode(hashlib.sha1(key + _KEY).digest())
        extension = b"sec-websocket-extensions: permessage-deflate\r\n" * (self.name == "compressed")
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
            b"sec-websocket-accept: %b\r\n%b\r\n" % (accepted, extension)
        )
        while (message := _read_message(stream)) is not None:
            self._send(connection, json.loads(message))
            if self.name == "early end":
                return

    def _send(self, connection: socket.socket, calls: Calls) -> None:
        if self.name == "silence":
            self.released.wait()
        elif self.name == "early end":
            connection.sendall(_frame(b"x" * 100, TEXT)[:50])
        elif self.name in BODIES:
            kind = BINARY if self.name == "not UTF-8" else TEXT
            for piece in BODIES[self.name](calls):
                if self.released.is_set():
                    return
                connection.sendall(_frame(piece, kind, is_final=False))
                kind = 0
            connection.sendall(_frame(b"", 0))


@contextmanager
def answering(name: str) -> Iterator[Hostile]:
    """Yield a hostile server."""
    server = Hostile(name)
    try:
        yield server
    finally:
        server.close()


def _head(status: str, header: bytes, length: int) -> bytes:
    return b"HTTP/1.1 %b\r\n%b\r\ncontent-length: %d\r\n\r\n" % (status.encode(), header, length)


def _read_head(stream: Any) -> dict[bytes, bytes]:
    headers = {}
    while (line := stream.readline(MIB)) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        headers[name.lower()] = value.strip()
    return headers


def _read_message(stream: Any) -> bytes | None:
    """Return the text of a client's next message; None at its end. Clients send one frame each."""
    while True:
        start = stream.read(2)
        if len(start) < 2 or start[0] & 0xF == 8:
            return None
        length = start[1] & 0x7F
        if length > 125:
            length = int.from_bytes(stream.read(2 if length == 126 else 8), "big")
        mask, data = stream.read(4), stream.read(length)
        if start[0] & 0xF < 8:
            return bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))


def _frame(data: bytes, kind: int, *, is_final: bool = True) -> bytes:
    size = len(data)
    if size < 126:
        length = bytes([size])
    else:
        length = b"\x7e" + size.to_bytes(2, "big") if size < 1 << 16 else b"\x7f" + size.to_bytes(8, "big")
    return bytes([kind | (0x80 if is_final else 0)]) + length + data
