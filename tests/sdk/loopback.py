"""A server on this machine that behaves as a test wants: well, badly, or not at all."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

Handler = Callable[["Request"], bytes | None]
"""Gives the bytes to send back; None closes the connection without a word."""


class Request:
    """A received request: `line` is the request line, `head` the headers, `body` everything after them."""

    def __init__(
        self, line: str, head: bytes, body: bytes, connection: socket.socket, release: threading.Event
    ) -> None:
        self.line = line
        self.head = head
        self.body = body
        self.connection = connection
        self.release = release

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The JSON-RPC calls, of a batch or a single one."""
        message = json.loads(self.body)
        return message if isinstance(message, list) else [message]

    def results(self, answers: dict[str, Any]) -> bytes:
        """Return the JSON-RPC answer to everything that was asked."""
        replies = [
            {"jsonrpc": "2.0", "id": call["id"], "result": answers[call["method"]]} for call in self.calls
        ]
        return page(200, json.dumps(replies).encode())


def page(status: int, body: bytes, kind: str = "application/json") -> bytes:
    """Return a whole HTTP answer."""
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Loopback:
    """The server; `requests` has all that arrived, in order."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.requests: list[Request] = []
        self.release = threading.Event()
        self.skipped: BaseException | None = None
        """Why the test has to be skipped: a reference answer is missing."""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self._connections: list[socket.socket] = []
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while line := stream.readline():
                length, head = 0, b""
                while (header := stream.readline()) not in (b"\r\n", b""):
                    head += header
                    name, _, value = header.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                body = stream.read(length)
                request = Request(line.decode().strip(), head, body, connection, self.release)
                self.requests.append(request)
                try:
                    answer = self.handler(request)
                except pytest.skip.Exception as skipped:  # raised again where the test can see it
                    self.skipped = skipped
                    return
                if answer is None:
                    return
                try:
                    connection.sendall(answer)
                except OSError:
                    return

    def close(self) -> None:
        """Close the port and all connections."""
        self.release.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self._connections:
            with suppress(OSError):  # it has ended
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(timeout=10)


@contextmanager
def serving(handler: Handler) -> Iterator[Loopback]:
    """Yield a server that answers by `handler`; raise what its threads skipped."""
    server = Loopback(handler)
    try:
        yield server
    finally:
        server.close()
        if server.skipped is not None:
            raise server.skipped


def unused_url() -> str:
    """Return an address without a server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
