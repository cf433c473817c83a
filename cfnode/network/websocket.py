"""How does a WebSocket become a byte stream?

RFC 6455 by wsproto, which hands on a frame's bytes as they arrive: no frame and no message is ever whole in
memory, however long it says to be. The handshake has to fit in 16 KiB (h11's limit), and compression is never
agreed to, so a byte of the wire is a byte of ours. libp2p puts its own bytes in binary messages and gives
message borders no meaning (libp2p specs, "websockets").

Of pings only the last one is answered, and never by waiting for who does not read. Frames are paid for like
those of yamux, and are read in turns: 64 KiB hold tens of thousands of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import trio
from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
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
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.yamux.budget import TURN, FrameBudget

__all__ = ["WebSocketStream", "accept", "connect"]

READ_SIZE = 64 * 1024
MAX_HANDSHAKE = 16 * 1024
"""Bytes in which the other side's part of the handshake has to end."""


class WebSocketStream(trio.abc.Stream):
    """The bytes inside the binary messages of a WebSocket. Broken rules raise RemoteError."""

    def __init__(self, stream: trio.abc.Stream, machine: WSConnection) -> None:
        self.transport_stream = stream
        self._machine = machine
        self._arrived = bytearray()
        self._ended = False
        self._pong: Pong | None = None
        self._sending = trio.Lock()
        self._budget = FrameBudget()
        self._paid_until = trio.current_time()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """One binary message."""
        async with self._sending:
            await self.transport_stream.send_all(self._machine.send(BytesMessage(bytes(data))))
            await self._answer_ping()

    async def wait_send_all_might_not_block(self) -> None:
        await self.transport_stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """What has arrived; b"" when the other side has closed."""
        while not (self._arrived or self._ended):
            await self._take(bytes(await self.transport_stream.receive_some(READ_SIZE)))
            await self._pong_if_free()
        data = bytes(self._arrived[:max_bytes])
        del self._arrived[: len(data)]
        return data

    async def aclose(self) -> None:
        """Say goodbye where it can be said without waiting for anybody's turn."""
        try:
            if not self._sending.locked():
                await self.transport_stream.send_all(self._machine.send(CloseConnection(code=1000)))
        except (LocalProtocolError, trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # it is closed already
        finally:
            await self.transport_stream.aclose()

    async def _take(self, data: bytes) -> None:
        now = trio.current_time()
        self._budget.earn_time(now - self._paid_until)
        self._paid_until = now
        for event in _events(self._machine, data):
            self._on_event(event)
            if self._budget.spent % TURN == 0:
                await trio.lowlevel.checkpoint()

    def _on_event(self, event: Event) -> None:
        self._budget.spend(1)
        match event:
            case BytesMessage():
                self._arrived += event.data
                self._budget.earn_bytes(len(event.data))
            case Ping():
                self._pong = event.response()
            case CloseConnection() if self._machine.state is ConnectionState.OPEN:
                raise RemoteError(f"websocket: {event.reason}")  # wsproto's word for frames that are none
            case CloseConnection():
                self._ended = True
            case TextMessage():
                raise RemoteError("websocket: text, where only binary messages belong")

    async def _pong_if_free(self) -> None:
        """While somebody sends, the answer follows what is being sent."""
        if self._pong is not None and not self._sending.locked():
            async with self._sending:
                await self._answer_ping()

    async def _answer_ping(self) -> None:
        pong, self._pong = self._pong, None
        if pong is not None and not self._ended:
            await self.transport_stream.send_all(self._machine.send(pong))


async def connect(stream: trio.abc.Stream, host: str) -> WebSocketStream:
    """Our side of the handshake, as the one who called `host` (with its port). Raises RemoteError."""
    machine = WSConnection(ConnectionType.CLIENT)
    await stream.send_all(machine.send(Request(host=host, target="/")))
    match await _handshake(stream, machine):
        case AcceptConnection():
            return _opened(stream, machine)
        case RejectConnection(status_code=code):
            raise RemoteError(f"websocket: refused with HTTP status {code}")
        case other:
            raise RemoteError(f"websocket: {type(other).__name__} instead of a handshake")


async def accept(stream: trio.abc.Stream) -> WebSocketStream:
    """Our side of the handshake, as the one who was called. Raises RemoteError."""
    machine = WSConnection(ConnectionType.SERVER)
    request = await _handshake(stream, machine)
    if not isinstance(request, Request):
        raise RemoteError(f"websocket: {type(request).__name__} instead of a handshake")
    await stream.send_all(machine.send(AcceptConnection()))
    return _opened(stream, machine)


async def _handshake(stream: trio.abc.Stream, machine: WSConnection) -> Event:
    """The first thing that the other side says."""
    received = 0
    while received <= MAX_HANDSHAKE:
        data = bytes(await stream.receive_some(4096))
        if not data:
            raise RemoteError("websocket: the peer hung up during the handshake")
        received += len(data)
        for event in islice(_events(machine, data), 1):
            return event
    raise RemoteError(f"websocket: the handshake does not end within {MAX_HANDSHAKE} bytes")


def _opened(stream: trio.abc.Stream, machine: WSConnection) -> WebSocketStream:
    """The stream, with what came together with the handshake."""
    opened = WebSocketStream(stream, machine)
    for event in _events(machine):
        opened._on_event(event)
    return opened


def _events(machine: WSConnection, data: bytes | None = None) -> Iterator[Event]:
    """What has happened, one after the other, after `data` (empty: the end). Raises RemoteError."""
    try:
        if data is not None:
            machine.receive_data(data or None)
        yield from machine.events()
    # wsproto lets a Host header that is no name out as the UnicodeError that it meets.
    except (RemoteProtocolError, LocalProtocolError, UnicodeError) as error:
        raise RemoteError(f"websocket: {error}") from None
