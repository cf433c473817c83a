"""Which protocols does the port speak? HTTP/1.1 and the WebSocket upgrade, nothing else: hypercorn's protocol
with stricter choices."""

from __future__ import annotations

import logging
from typing import Any, Final, cast

import h11
from hypercorn.events import Closed, RawData
from hypercorn.protocol.events import Body, Request
from hypercorn.protocol.h11 import STREAM_ID, H11Protocol, H11WSConnection
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.typing import H11SendableEvent

from cfnode.rpc.bounded_stream import BoundedStream
from cfnode.rpc.memory_budget import MemoryBudget
from cfnode.rpc.reply import Part
from cfnode.rpc.turns import Turn
from cfnode.rpc.websocket import WebSocketStream

log = logging.getLogger("cfnode.rpc")

_VERSIONS: Final = (b"1.0", b"1.1")
_EXTENSIONS: Final = b"sec-websocket-extensions"
"""Removed from requests: a compressed message of 61 kB can expand to 60 MiB."""


class ReplyStream(HTTPStream):
    """One request and its answer; made by hypercorn."""

    async def app_send(self, message: Any) -> None:
        """Send a message of the application; a reply is sent piece by piece, without joining it."""
        parts = None if message is None or self.scope["method"] == "HEAD" else message.get("parts")
        if parts:
            await self.send(Body(stream_id=self.stream_id, data=parts))
        await super().app_send(message)


class Http1(H11Protocol):
    """The protocol of one connection."""

    bounded: BoundedStream
    budget: MemoryBudget
    turn: Turn
    is_pipelined = False
    """Whether a request was handled since the last read: then the next one was pipelined."""
    _head = b""
    websocket: WebSocketStream | None = None
    """The WebSocket stream, after an upgrade was asked for."""

    def detach(self) -> None:
        """Drop references after the connection has ended."""
        self.stream = None
        if self.websocket is not None:
            self.websocket.detach()

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
        found: list[Part] = []
        for part in event.data:
            found += connection.send_with_data_passthrough(h11.Data(data=part)) or ()
        return found

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
        kind = WebSocketStream if _is_upgrade(request) else ReplyStream
        stream = kind(
            self.app, self.config, self.context, self.task_group, self.ssl, self.client, self.server,
            self.stream_send, STREAM_ID,
        )  # fmt: skip
        if isinstance(stream, WebSocketStream):
            self.websocket = stream
            stream.attach(self.bounded, self.budget, self.turn)
            self.connection = H11WSConnection(cast(h11.Connection, self.connection))
        self.stream = stream
        await stream.handle(self._event(request))
        self.keep_alive_requests += 1

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
    """The status with which a request is refused, or None. A request with both lengths is refused: a proxy
    might read it differently than this server, and the difference could hide a second request.
    """
    if request.http_version not in _VERSIONS:
        return 505
    names = {name for name, _ in request.headers}
    return 400 if {b"content-length", b"transfer-encoding"} <= names else None


def _is_upgrade(request: h11.Request) -> bool:
    headers = {name: value.strip().lower() for name, value in request.headers}
    tokens = [token.strip() for token in headers.get(b"connection", b"").split(b",")]
    return request.method == b"GET" and headers.get(b"upgrade") == b"websocket" and b"upgrade" in tokens
