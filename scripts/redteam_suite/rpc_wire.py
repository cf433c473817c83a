"""Connections to a JSON-RPC port by hand, for honest calls and any other bytes.

They are plain blocking sockets, so that a client measures the node and not a client library.
"""

from __future__ import annotations

import itertools
import json
import math
import socket
import struct
import time
from typing import Any

UPGRADE = (
    "GET / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
    "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\n\r\n"
)
CONTINUATION, TEXT, CLOSE, PING, PONG = 0x0, 0x1, 0x8, 0x9, 0xA
CALL_S = 20.0
"""Seconds after which an honest client gives up."""


class RpcFailed(Exception):
    """Error for a call that the node refused or did not answer.

    `error` is the node's error object, if there is one.
    """

    def __init__(self, text: str, error: dict[str, Any] | None = None) -> None:
        super().__init__(text)
        self.error = error


def connect(port: int, source: str = "127.0.0.1", *, buffer: int = 0) -> socket.socket:
    """Open a TCP connection to this machine.

    `buffer`: bytes that the kernel keeps for us, 0 for its usual.
    """
    sock = socket.socket()
    if buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.settimeout(CALL_S)
    try:
        sock.bind((source, 0))
        sock.connect(("127.0.0.1", port))
    except OSError:
        sock.close()
        raise
    return sock


def frame(opcode: int, payload: bytes, *, final: bool = True) -> bytes:
    """Return a WebSocket frame of a client, under the mask 0."""
    first, size = (0x80 if final else 0) | opcode, len(payload)
    if size < 126:
        head = struct.pack("!BB", first, 0x80 | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", first, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, size)
    return head + bytes(4) + payload


def call_json(method: str, params: Any, identity: int = 1) -> bytes:
    """Return a JSON-RPC call as bytes."""
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}).encode()


class WebSocket:
    """WebSocket connection after its handshake."""

    def __init__(self, port: int, source: str = "127.0.0.1", *, buffer: int = 0) -> None:
        self.sock = connect(port, source, buffer=buffer)
        self._received = bytearray()
        self._ids = itertools.count(1)
        self.sock.sendall(UPGRADE.format(port=port).encode())
        head = self._until(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            self.close()
            raise RpcFailed(head.split(b"\r\n")[0].decode(errors="replace"))

    def close(self) -> None:
        """Close the socket without a close frame."""
        self.sock.close()

    def send(self, payload: bytes) -> None:
        """Send one text message."""
        self.sock.sendall(frame(TEXT, payload))

    def call(self, method: str, *params: Any, seconds: float = CALL_S) -> Any:
        """Return the result of one call. Raise RpcFailed."""
        identity, deadline = next(self._ids), time.monotonic() + seconds
        try:
            self.sock.settimeout(seconds)
            self.send(call_json(method, list(params), identity))
            while (answer := json.loads(self.receive(deadline))).get("id") != identity:
                pass
        except (OSError, ValueError) as error:
            raise RpcFailed(f"{method}: {error or type(error).__name__}") from None
        if "error" in answer:
            raise RpcFailed(f"{method}: {answer['error']}", answer["error"])
        return answer["result"]

    def receive(self, deadline: float = math.inf) -> bytes:
        """Return the next text message. Raise OSError, or RpcFailed at the end."""
        while (message := self.next_message()) is None:
            if deadline < math.inf:  # for all reads: the node's own pings do not count as an answer
                self.sock.settimeout(max(0.001, deadline - time.monotonic()))
            self.feed()
        return message

    def feed(self) -> None:
        """Wait for bytes. Raise OSError, or RpcFailed at the end."""
        data = self.sock.recv(1 << 18)
        if not data:
            raise RpcFailed("the node closed the connection")
        self._received += data

    def next_message(self) -> bytes | None:
        """Return the next text message that has already arrived; answer pings."""
        while (received := self._next_frame()) is not None:
            opcode, payload = received
            if opcode == PING:
                self.sock.sendall(frame(PONG, payload))
            elif opcode == CLOSE:
                raise RpcFailed("the node closed the WebSocket")
            elif opcode == TEXT:
                return payload
        return None

    def _next_frame(self) -> tuple[int, bytes] | None:
        data = self._received
        if len(data) < 2:
            return None
        size, start = data[1] & 0x7F, 2
        if size >= 126:
            start = 4 if size == 126 else 10
            if len(data) < start:
                return None
            size = int.from_bytes(data[2:start], "big")
        if len(data) < start + size:
            return None
        payload, opcode = bytes(data[start : start + size]), data[0] & 0xF
        del data[: start + size]
        return opcode, payload

    def _until(self, end: bytes) -> bytes:
        while end not in self._received:
            self.feed()
        at = self._received.index(end) + len(end)
        head = bytes(self._received[:at])
        del self._received[:at]
        return head


def post(sock: socket.socket, body: bytes) -> bytes:
    """Post a body, and return the answer's status line and body.

    The connection stays. Raises OSError at its end.
    """
    sock.sendall(http_request(sock.getpeername()[1], body))
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(sock)
    head, _, content = data.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    size = next((int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")), 0)
    while len(content) < size:
        content += _some(sock)
    return lines[0] + b"\r\n" + content


def http_request(port: int, body: bytes, more: str = "") -> bytes:
    """Return a POST of JSON; `more`: further header lines."""
    head = (
        f"POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        f"{more}content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _some(sock: socket.socket) -> bytes:
    data = sock.recv(1 << 18)
    if not data:
        raise ConnectionError("the node closed the connection")
    return data
