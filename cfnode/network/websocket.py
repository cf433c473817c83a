"""A WebSocket as a byte stream, for the dialer and for the listener.

It follows RFC 6455 by wsproto, which returns a frame's bytes as they arrive: no frame or message is held
completely in memory, whatever length it announces. The handshake has to fit in 16 KiB (h11's limit), and
compression is never accepted, so a byte on the wire is at most a byte in memory. libp2p sends its bytes in
binary messages, whose boundaries have no meaning (libp2p specs, "websockets").

Only the last ping is answered, and never by waiting for a peer that does not read. Frames spend a budget like
those of yamux, and other tasks run in between: 64 KiB hold tens of thousands of frames.
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
from cfnode.core.p2p.yamux.budget import FRAMES_PER_TURN, YamuxFrameBudget

__all__ = ["WebSocketByteStream", "accept", "connect"]

WEBSOCKET_READ_BYTES = 64 * 1024
MAX_UPGRADE_BYTES = 16 * 1024
"""Bytes within which the peer's part of the handshake has to end."""


class WebSocketByteStream(trio.abc.Stream):
    """The bytes inside the binary messages of a WebSocket. A broken protocol raises RemoteError."""

    def __init__(self, stream: trio.abc.Stream, machine: WSConnection) -> None:
        self.transport_stream = stream
        self._machine = machine
        self._arrived = bytearray()
        self._ended = False
        self._pong: Pong | None = None
        self._sending = trio.Lock()
        self._budget = YamuxFrameBudget()
        self._paid_until = trio.current_time()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Send one binary message."""
        async with self._sending:
            await self.transport_stream.send_all(self._machine.send(BytesMessage(bytes(data))))
            await self._answer_ping()

    async def wait_send_all_might_not_block(self) -> None:
        """Wait until the transport below may accept data."""
        await self.transport_stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return the data that has arrived; b"" when the peer has closed."""
        while not (self._arrived or self._ended):
            await self._take(bytes(await self.transport_stream.receive_some(WEBSOCKET_READ_BYTES)))
            await self._pong_if_free()
        data = bytes(self._arrived[:max_bytes])
        del self._arrived[: len(data)]
        return data

    async def aclose(self) -> None:
        """Close the stream; send a close frame first unless another task is sending."""
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
            if self._budget.spent % FRAMES_PER_TURN == 0:
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
                raise RemoteError(f"websocket: {event.reason}")  # wsproto's reason: a malformed frame
            case CloseConnection():
                self._ended = True
            case TextMessage():
                raise RemoteError("websocket: a text message; only binary ones are allowed")

    async def _pong_if_free(self) -> None:
        """Answer a ping, unless a task is sending: that task answers it afterwards."""
        if self._pong is not None and not self._sending.locked():
            async with self._sending:
                await self._answer_ping()

    async def _answer_ping(self) -> None:
        pong, self._pong = self._pong, None
        if pong is not None and not self._ended:
            await self.transport_stream.send_all(self._machine.send(pong))


async def connect(stream: trio.abc.Stream, host: str) -> WebSocketByteStream:
    """Return a stream after the dialer's handshake; `host` with its port. Raise RemoteError."""
    machine = WSConnection(ConnectionType.CLIENT)
    await stream.send_all(machine.send(Request(host=host, target="/")))
    match await _handshake(stream, machine):
        case AcceptConnection():
            return _opened(stream, machine)
        case RejectConnection(status_code=code):
            raise RemoteError(f"websocket: refused with HTTP status {code}")
        case unexpected:
            raise RemoteError(f"websocket: {type(unexpected).__name__} instead of a handshake")


async def accept(stream: trio.abc.Stream) -> WebSocketByteStream:
    """Return a stream after the listener's handshake. Raise RemoteError."""
    machine = WSConnection(ConnectionType.SERVER)
    request = await _handshake(stream, machine)
    if not isinstance(request, Request):
        raise RemoteError(f"websocket: {type(request).__name__} instead of a handshake")
    await stream.send_all(machine.send(AcceptConnection()))
    return _opened(stream, machine)


async def _handshake(stream: trio.abc.Stream, machine: WSConnection) -> Event:
    """Return the first event of the peer's part of the handshake. Raise RemoteError."""
    received = 0
    while received <= MAX_UPGRADE_BYTES:
        data = bytes(await stream.receive_some(4096))
        if not data:
            raise RemoteError("websocket: the peer closed the connection during the handshake")
        received += len(data)
        for event in islice(_events(machine, data), 1):
            return event
    raise RemoteError(f"websocket: the handshake does not end within {MAX_UPGRADE_BYTES} bytes")


def _opened(stream: trio.abc.Stream, machine: WSConnection) -> WebSocketByteStream:
    """Return the stream, with the data that arrived together with the handshake."""
    websocket = WebSocketByteStream(stream, machine)
    for event in _events(machine):
        websocket._on_event(event)
    return websocket


def _events(machine: WSConnection, data: bytes | None = None) -> Iterator[Event]:
    """Yield the events after `data`, one after the other (empty: the end). Raise RemoteError."""
    try:
        if data is not None:
            machine.receive_data(data or None)
        yield from machine.events()
    # For a malformed Host header wsproto raises the UnicodeError of decoding it.
    except (RemoteProtocolError, LocalProtocolError, UnicodeError) as error:
        raise RemoteError(f"websocket: {error}") from None
