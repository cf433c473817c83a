"""The protocols of a port: HTTP/1.1 and the WebSocket upgrade, as hypercorn's with stricter choices.

- HTTP/2 is not spoken, by upgrade or by prior knowledge: a proxy that passes an upgrade on would become a
  tunnel to all paths.
- An answer that is sent before the whole body was received says `Connection: close`, since the connection
  ends with it (RFC 9112, 9.3). Any answer while the server stops says so too.
- What a client has not read yet counts as held for it.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, Final, cast

import h11
from hypercorn.events import Closed, RawData
from hypercorn.protocol.events import Body, EndBody, Event, Request, Response
from hypercorn.protocol.h11 import STREAM_ID, H11Protocol, H11WSConnection
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.typing import H11SendableEvent

from cfnode.flow.turns import ClientTurn
from cfnode.serving.bounded_stream import BoundedStream
from cfnode.serving.memory_budget import MemoryBudget
from cfnode.serving.reply import Part, Reply, whole
from cfnode.serving.websocket import ServedWebSocket

log = logging.getLogger("cfnode.serving")

MAX_EARLY: Final = 16
"""Pieces of a body that are read before the application starts; tiny chunks beyond cost a turn each."""
_CLOSE: Final = (b"connection", b"close")
_VERSIONS: Final = (b"1.0", b"1.1")
_EXTENSIONS: Final = b"sec-websocket-extensions"
"""A header that is removed from requests: a compressed message of 61 kB can expand to 60 MiB."""


class ReplyStream(HTTPStream):
    """One request and its answer; made by hypercorn. A body counts as held until it is sent."""

    budget: MemoryBudget

    async def app_send(self, message: Any) -> None:
        """Send a message of the application; a reply is sent piece by piece, without joining it."""
        if message is None or not (reply := _body_of(message)):
            await super().app_send(message)
            return
        with self.budget.keeping(reply):
            if "parts" in message and self.scope["method"] != "HEAD":
                await self.send(Body(stream_id=self.stream_id, data=cast(bytes, reply.parts)))
            await super().app_send(message)


def _body_of(message: Any) -> Reply:
    """Return the piece of a body in a message of the application."""
    return Reply(*message["parts"]) if "parts" in message else whole(message.get("body", b""))


class Http1(H11Protocol):
    """The protocol of one connection."""

    bounded: BoundedStream
    budget: MemoryBudget
    turn: ClientTurn
    is_pipelined = False
    """Whether a request was handled since the last read: the next one was then pipelined."""
    _head = b""
    websocket: ServedWebSocket | None = None
    """The WebSocket stream, after a request asked for an upgrade."""

    def detach(self) -> None:
        """Drop references after the connection has ended."""
        self.stream = None
        if self.websocket is not None:
            self.websocket.detach()

    async def stream_send(self, event: Event) -> None:
        """Send an event of the request's stream."""
        if isinstance(event, Response) and event.status_code >= 200 and self._ends_with_answer:
            headers = [header for header in event.headers if header[0] != b"connection"]
            event = replace(event, headers=[*headers, _CLOSE])
        await super().stream_send(event)

    @property
    def _ends_with_answer(self) -> bool:
        """Whether the connection cannot serve a further request after this one."""
        return self.is_body_missing or self.context.terminated.is_set()

    @property
    def is_body_missing(self) -> bool:
        """Whether a part of the request's body has not been received yet."""
        connection = self.connection
        return isinstance(connection, h11.Connection) and connection.their_state is h11.SEND_BODY

    @property
    def is_between_requests(self) -> bool:
        """Whether the connection has no request, or only a part of its head."""
        connection = self.connection
        return isinstance(connection, h11.Connection) and connection.their_state is h11.IDLE

    @property
    def has_data(self) -> bool:
        """Whether a part of the next request has been received."""
        return bool(cast(h11.Connection, self.connection).trailing_data[0])

    async def _send_h11_event(self, event: H11SendableEvent) -> None:
        """Send the head of an answer with the first piece of its body, in one packet."""
        try:
            parts = self._encode(event)
        except h11.LocalProtocolError as error:
            # The client broke the protocol (frames before the end of the handshake, or no HTTP at all), so no
            # answer could reach it.
            log.debug("closing a connection: %s", error)
            self.bounded.abort()
            return
        if isinstance(event, h11.Response):
            self._head = b"".join(parts)
        elif self._head or any(parts):
            head, self._head = self._head, b""
            await self.send(RawData(data=[head, *parts]))  # type: ignore[arg-type]

    def _encode(self, event: H11SendableEvent) -> list[Part]:
        if not isinstance(event, h11.Data) or not isinstance(event.data, tuple):
            return [self.connection.send(event) or b""]
        connection: Any = self.connection
        parts: list[Part] = []
        for part in event.data:
            parts += connection.send_with_data_passthrough(h11.Data(data=part)) or ()
        return parts

    async def _check_protocol(self, event: h11.Request) -> None:
        """Ignore an offer to upgrade to HTTP/2: the request is answered in HTTP/1.1."""

    async def _create_stream(self, request: h11.Request) -> None:
        if (status := _refusal(request)) is not None:
            await self._send_error_response(status)
            await self.send(Closed())
            return
        if self.is_pipelined:
            await self.turn.take()
        self.is_pipelined = True
        kind = ServedWebSocket if _is_upgrade(request) else ReplyStream
        stream = kind(
            self.app, self.config, self.context, self.task_group, self.ssl, self.client, self.server,
            self.stream_send, STREAM_ID,
        )  # fmt: skip
        self.keep_alive_requests += 1
        if isinstance(stream, ServedWebSocket):
            self.websocket = stream
            stream.attach(self.bounded, self.budget, self.turn)
            self.connection = H11WSConnection(cast(h11.Connection, self.connection))
            self.stream = stream
            await stream.handle(self._event(request))
        else:
            stream.budget = self.budget
            await self._begin(stream, request)

    async def _begin(self, stream: ReplyStream, request: h11.Request) -> None:
        """Start the application for a request, with as much of the body as was received."""
        try:
            body, is_whole = self._received_body()
        except h11.RemoteProtocolError as error:
            await self._send_error_response(error.error_status_hint)
            await self.send(Closed())
            return
        self.stream = stream
        await stream.handle(self._event(request))
        if body:
            await stream.handle(Body(stream_id=STREAM_ID, data=body))
        if is_whole:
            await stream.handle(EndBody(stream_id=STREAM_ID))

    def _received_body(self) -> tuple[bytes, bool]:
        """Return the received part of a request's body, and whether it is the whole.

        It is read before the application starts, so that an answer that comes at once knows whether the
        connection can serve a further request.
        """
        connection, parts = self.connection, list[bytes]()
        while isinstance(connection, h11.Connection) and self.is_body_missing and len(parts) < MAX_EARLY:
            event = connection.next_event()
            if not isinstance(event, h11.Data):
                break
            parts.append(bytes(event.data))
        return b"".join(parts), not self.is_body_missing

    def _event(self, request: h11.Request) -> Request:
        return Request(
            stream_id=STREAM_ID,
            headers=[header for header in request.headers if header[0] != _EXTENSIONS],
            http_version=request.http_version.decode(),
            method=request.method.decode("ascii").upper(),
            raw_path=request.target,
            state=self.connection_state,
        )


def _refusal(request: h11.Request) -> int | None:
    """Return the status with which a request is refused, or None.

    A request with both lengths is refused: a proxy might read it differently than this server, and the
    difference could hide a second request.
    """
    if request.http_version not in _VERSIONS:
        return 505
    names = {name for name, _ in request.headers}
    return 400 if {b"content-length", b"transfer-encoding"} <= names else None


def _is_upgrade(request: h11.Request) -> bool:
    headers = {name: value.strip().lower() for name, value in request.headers}
    tokens = [token.strip() for token in headers.get(b"connection", b"").split(b",")]
    return request.method == b"GET" and headers.get(b"upgrade") == b"websocket" and b"upgrade" in tokens
