"""One TCP connection of the JSON-RPC server: hypercorn's own, with the holds that it lacks.

hypercorn speaks HTTP/1.1 and WebSocket well, but its sends cannot be cancelled, so a client that reads
nothing would keep a server from stopping; a WebSocket message that is too long goes on growing after it was
refused; and it negotiates what we do not want. Changed here, and nowhere else:

- a send that makes no progress for `SEND_DEADLINE` seconds ends the connection, and `abort` ends it at any
  time;
- no HTTP/2, no compressed WebSocket messages (61 kB on the wire can unfold to 60 MiB);
- a WebSocket message over the limit ends the connection, after the close frame that says so.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
from typing import Any, Final, cast

import h11
import trio
from hypercorn.config import Config as HypercornConfig
from hypercorn.events import Closed, Event, RawData
from hypercorn.protocol.h11 import H11Protocol, H11WSConnection
from hypercorn.protocol.ws_stream import FrameTooLargeError, WebsocketBuffer, WSStream
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.tcp_server import MAX_RECV, TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ConnectionState, H11SendableEvent
from hypercorn.utils import parse_socket_addr
from wsproto.events import Message, TextMessage

from cfnode.rpc.burden import Burden, Burdens
from cfnode.rpc.dispatch import Client

log = logging.getLogger("cfnode.rpc")

_GONE: Final = (trio.BrokenResourceError, trio.ClosedResourceError)
SEND_DEADLINE: Final = 30.0
SEND_PIECE: Final = 256 * 1024
"""Bytes that must leave within SEND_DEADLINE: a client slower than 9 KiB/s is as good as gone."""


class BoundedStream:
    """A socket stream whose sends end, one way or the other. What a TCPServer asks of a stream, no more."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self.socket = stream.socket
        self.is_over = False
        """Set: nothing more is read."""

    async def send_all(self, data: bytes) -> None:
        """Send all, or close. Raises BrokenResourceError if the client takes nothing.

        What the kernel takes at once is handed over without a turn of the scheduler: nearly every answer.
        """
        try:
            sent = os.write(self.socket.fileno(), data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise trio.BrokenResourceError("the client is gone") from error
        view = memoryview(data)
        for start in range(sent, len(view), SEND_PIECE):
            await self._send_piece(view[start : start + SEND_PIECE])

    async def _send_piece(self, piece: memoryview) -> None:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + SEND_DEADLINE) as scope:
            await self._stream.send_all(piece)
        if scope.cancelled_caught:
            self.abort()
            raise trio.BrokenResourceError("the client does not read")

    async def receive_some(self, max_bytes: int) -> bytes | bytearray:
        """The next bytes; none at the end."""
        return await self._stream.receive_some(max_bytes)

    async def send_eof(self) -> None:
        """Close our direction."""
        await self._stream.send_eof()

    async def aclose(self) -> None:
        """Close both."""
        await self._stream.aclose()

    def abort(self) -> None:
        """Close at once; what waits on the socket is woken with ClosedResourceError."""
        self.is_over = True
        self.socket.close()


class MessageBuffer(WebsocketBuffer):
    """The pieces of one WebSocket message; counts bytes, and ends the stream when they are too many."""

    def __init__(self, max_length: int, stream: BoundedStream, burden: Burden) -> None:
        super().__init__(max_length)
        self._stream = stream
        self._burden = burden
        self._held = 0

    def extend(self, event: Message[Any]) -> None:
        """Add a piece; raises FrameTooLargeError, upon which hypercorn sends the close frame."""
        if isinstance(event, TextMessage) and not event.data.isascii():
            self.length += len(event.data.encode()) - len(event.data)
        if self._stream.is_over or self.length + len(event.data) > self.max_length:
            self._stream.is_over = True
            raise FrameTooLargeError
        super().extend(event)
        self._held += len(event.data)
        self._burden.add(len(event.data))

    def clear(self) -> None:
        """The message is complete."""
        super().clear()
        self._burden.remove(self._held)
        self._held = 0


class Http1(H11Protocol):
    """HTTP/1.1 and the WebSocket upgrade, nothing else."""

    bounded: BoundedStream
    burden: Burden
    _head = b""

    async def _send_h11_event(self, event: H11SendableEvent) -> None:
        """The head of an answer leaves with the first piece of its body, in one packet."""
        try:
            data = self._head + (self.connection.send(event) or b"")
        except h11.LocalProtocolError as error:
            # What the client sent meanwhile (frames before the handshake was over, no HTTP at all) leaves no
            # answer that it could read.
            log.debug("a connection is closed: %s", error)
            self.bounded.abort()
            return
        self._head = data if isinstance(event, h11.Response) else b""
        if data and not self._head:
            await self.send(RawData(data=data))

    async def _check_protocol(self, event: h11.Request) -> None:
        """An offer to upgrade to HTTP/2 is not taken up: the request is answered in HTTP/1.1."""

    async def _create_stream(self, request: h11.Request) -> None:
        if request.http_version not in (b"1.0", b"1.1"):
            await self._send_error_response(505)
            await self.send(Closed())
            return
        await super()._create_stream(_without_extensions(request))
        if isinstance(self.stream, WSStream):
            self.stream.buffer = MessageBuffer(
                self.config.websocket_max_message_size, self.bounded, self.burden
            )


def _without_extensions(request: h11.Request) -> h11.Request:
    names = [name for name, _ in request.headers]
    if b"sec-websocket-extensions" not in names:
        return request
    kept = [(name, value) for name, value in request.headers if name != b"sec-websocket-extensions"]
    return h11.Request(
        method=request.method, target=request.target, headers=kept, http_version=request.http_version
    )


class Connection(TCPServer):
    """One accepted connection; `client` is what the dispatcher knows of it."""

    def __init__(
        self,
        app: AppWrapper,
        config: HypercornConfig,
        context: WorkerContext,
        stream: trio.SocketStream,
        client: Client,
        burdens: Burdens,
    ) -> None:
        self.client = client
        self.burden = burdens.begin(self.abort)
        self._bounded = BoundedStream(stream)
        state = ConnectionState({"connection": self})
        super().__init__(app, config, context, state, cast(Any, self._bounded))
        self._task_group = TaskGroup()

    def abort(self) -> None:
        """Close it now, whatever is on its way."""
        self._bounded.abort()

    async def protocol_send(self, event: Event) -> None:
        """What the protocol wants sent, or done to the connection."""
        if not isinstance(event, RawData):
            await super().protocol_send(event)
            return
        async with self.send_lock:
            try:
                await self._bounded.send_all(event.data)
            except _GONE:
                await self.protocol.handle(Closed())

    async def _read_data(self) -> None:
        """Hand on what comes, until the client leaves or is silent for the read timeout."""
        silence = self.config.read_timeout or math.inf
        with trio.CancelScope() as listening, contextlib.suppress(*_GONE):
            while not self._bounded.is_over:
                listening.deadline = trio.current_time() + silence
                data = await self._bounded.receive_some(MAX_RECV)
                listening.deadline = math.inf
                await self.protocol.handle(RawData(bytes(data)))
                if not data:
                    break
        await self.protocol.handle(Closed())

    async def run(self) -> None:
        """Serve requests until one side has had enough."""
        protocol = self._new_protocol()
        try:
            with trio.CancelScope() as everything:
                async with self._task_group:
                    self.protocol = cast(Any, protocol)
                    await self.idle_task.restart(self._task_group, self._idle_timeout)
                    await self._read_data()
                    # What is left of the connection sleeps: until the next ping, or the end of its idle time.
                    if isinstance(protocol.connection, H11WSConnection):
                        everything.cancel()
                    await self.idle_task.stop()
        except OSError:
            pass  # the client is gone
        finally:
            self.burden.end()
            await self._close()

    def _new_protocol(self) -> Http1:
        sock = self._bounded.socket
        protocol = Http1(
            self.app,
            self.config,
            self.context,
            self._task_group,
            cast(ConnectionState, self.state),
            False,
            parse_socket_addr(sock.family, sock.getpeername()),
            parse_socket_addr(sock.family, sock.getsockname()),
            self.protocol_send,
        )
        protocol.bounded, protocol.burden = self._bounded, self.burden
        return protocol
