"""What the tests of this room talk with: raw HTTP and WebSocket clients of a few lines, and a served node.

Raw, since most of these tests are about what a well-behaved client never sends.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import trio

from cfnode.node.config import RpcConfig
from cfnode.node.readiness import Health, Impediment
from cfnode.rpc.server import serve_table
from cfnode.rpc.table.rows import Method, Subscription, Table


@dataclass
class StandIn:
    """A node that is nothing but its health."""

    peers: int = 0
    is_syncing: bool = False
    should_have_peers: bool = False

    @property
    def syncing(self) -> str | None:
        """In words."""
        return "Waiting for peers" if self.is_syncing else None

    @property
    def impediments(self) -> list[Impediment]:
        """As a node has them."""
        if self.is_syncing:
            return [{"kind": "syncing", "message": "Waiting for peers"}]
        alone = self.should_have_peers and not self.peers
        return [{"kind": "isolated", "message": "no peers"}] if alone else []

    def health(self) -> Health:
        """Return a health document as a node answers it."""
        return {
            "peers": self.peers,
            "isSyncing": self.is_syncing,
            "shouldHavePeers": self.should_have_peers,
        }


KEPT_S = 5.0
"""Seconds without a call after which `call` connects anew: the server ends silent connections after ten."""


@dataclass
class Answer:
    """One HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the decoded body."""
        return json.loads(self.body)


class Http:
    """One HTTP connection to 127.0.0.1:`port`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.stream: trio.SocketStream
        self._used_at = 0.0

    async def __aenter__(self) -> Http:
        """Open the connection."""
        self.stream = await trio.open_tcp_stream("127.0.0.1", self.port)
        self._used_at = trio.current_time()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        await trio.aclose_forcefully(self.stream)

    async def request(self, verb: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        """Send one request and read its answer; underscores in header names become dashes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named = {"host": f"127.0.0.1:{self.port}", "content-length": str(len(body))} | named
        head = "".join(f"{name}: {value}\r\n" for name, value in named.items() if value)
        await self.stream.send_all(f"{verb} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        return await self.answer()

    async def answer(self) -> Answer:
        """Read one answer."""
        head, body = await self._until(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        length = int(headers.get("content-length", 0))
        while len(body) < length:
            body += await self._more()
        return Answer(int(lines[0].split()[1]), headers, body[:length])

    async def _until(self, mark: bytes) -> tuple[bytes, bytes]:
        data = b""
        while mark not in data:
            data += await self._more()
        head, _, rest = data.partition(mark)
        return head, rest

    async def _more(self) -> bytes:
        data = bytes(await self.stream.receive_some(65536))
        if not data:
            raise EOFError("the server closed the connection")
        return data

    async def post(self, body: bytes | Any, **headers: str) -> Answer:
        """Return POST JSON (bytes as they are) to /."""
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.request("POST", "/", text, **({"content_type": "application/json"} | headers))

    async def call(self, method: str, *params: Any) -> Any:
        """Return the whole answer to one call."""
        if trio.current_time() > self._used_at + KEPT_S:
            await trio.aclose_forcefully(self.stream)
            await self.__aenter__()
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        answer = (await self.post(message)).json()
        self._used_at = trio.current_time()
        return answer


class WebSocket:
    """One WebSocket connection, as raw frames; `messages` are kept until a test takes them."""

    def __init__(self, port: int, **headers: str) -> None:
        self.port = port
        self._headers = headers
        self._buffer = b""
        self._notifications: list[Any] = []
        self._next_id = 0
        self.handshake = ""
        self.stream: trio.SocketStream

    async def __aenter__(self) -> WebSocket:
        """Open the connection, and shake hands."""
        self.stream = await trio.open_tcp_stream("127.0.0.1", self.port)
        return await self.shake_hands()

    async def shake_hands(self) -> WebSocket:
        """Ask for the upgrade, and read the answer."""
        named = {name.replace("_", "-"): value for name, value in self._headers.items()}
        named = {
            "host": f"127.0.0.1:{self.port}",
            "upgrade": "websocket",
            "connection": "Upgrade",
            "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
            "sec-websocket-version": "13",
        } | named
        head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        await self.stream.send_all(f"GET / HTTP/1.1\r\n{head}\r\n".encode())
        while b"\r\n\r\n" not in self._buffer:
            await self._more()
        shake, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        self.handshake = shake.decode()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        await trio.aclose_forcefully(self.stream)

    @property
    def status(self) -> int:
        """The status of the handshake; 101 if it succeeded."""
        return int(self.handshake.split()[1])

    async def _more(self) -> None:
        data = await self.stream.receive_some(65536)
        if not data:
            raise EOFError("the server closed the connection")
        self._buffer += data

    async def send(self, body: bytes, *, opcode: int = 1, final: bool = True) -> None:
        """Send one masked frame."""
        mask = os.urandom(4)
        size = len(body)
        if size < 126:
            head = bytes([0x80 | size])
        elif size < 65536:
            head = bytes([0x80 | 126]) + size.to_bytes(2, "big")
        else:
            head = bytes([0x80 | 127]) + size.to_bytes(8, "big")
        key = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(body, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")
        await self.stream.send_all(bytes([opcode | (0x80 if final else 0)]) + head + mask + masked)

    async def frame(self) -> tuple[int, bytes]:
        """Return the next frame: opcode and payload. Pings are answered by leaving them out."""
        while True:
            frame = self._take_frame()
            if frame is None:
                await self._more()
            elif frame[0] != 9:
                return frame

    def _take_frame(self) -> tuple[int, bytes] | None:
        data = self._buffer
        if len(data) < 2:
            return None
        size, start = data[1] & 0x7F, 2
        if size >= 126:
            width = 2 if size == 126 else 8
            size, start = int.from_bytes(data[2 : 2 + width], "big"), 2 + width
            if len(data) < start:
                return None
        if len(data) < start + size:
            return None
        self._buffer = data[start + size :]
        return data[0] & 0x0F, data[start : start + size]

    async def message(self) -> Any:
        """Return the next message of either kind."""
        _, payload = await self.frame()
        return json.loads(payload)

    async def call(self, method: str, *params: Any) -> Any:
        """Return the whole answer to one call; notifications before it are kept for `notification`."""
        self._next_id += 1
        call = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": list(params)}
        await self.send(json.dumps(call).encode())
        while True:
            message = await self.message()
            if isinstance(message, dict) and message.get("id") == self._next_id:
                return message
            self._notifications.append(message)

    async def notification(self) -> Any:
        """Return the next notification's `params`."""
        message = self._notifications.pop(0) if self._notifications else await self.message()
        return message["params"]


@asynccontextmanager
async def served(
    rows: Iterable[Method | Subscription] = (), node: Any = None, **settings: Any
) -> AsyncIterator[int]:
    """Yield a server of those rows on a free port of 127.0.0.1 and the port."""
    config = RpcConfig(**({"port": 0} | settings))
    async with trio.open_nursery() as nursery:
        addresses = await nursery.start(serve_table, node or StandIn(), Table(rows), config)
        yield int(addresses[0].rpartition(":")[2])
        nursery.cancel_scope.cancel()
