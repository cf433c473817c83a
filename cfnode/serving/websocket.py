"""The WebSocket of a connection, from frames to messages and replies: hypercorn's stream, with limits.

hypercorn handles all frames of a read in one turn, joins messages as text, and copies a message five times
when it sends it. This module changes that:

- after a few frames other connections get their turn, and small frames are counted (`frames.py`);
- of the pings of one turn only the last is answered (RFC 6455, 5.5.3), so at most one pong waits to be sent;
- a message over the limit is answered with that reason as soon as it passes the limit, and the rest of it is
  skipped; one that goes on for many times the limit ends the connection;
- messages stay bytes, and are counted as held memory until the session reads them;
- a reply is sent without copying: the frame's head is a separate piece.
"""

from __future__ import annotations

import logging
from typing import Any, Final

import trio
from hypercorn.protocol.events import Body, Data, Event, StreamClosed
from hypercorn.protocol.ws_stream import ASGIWebsocketState, WSStream
from wsproto.connection import ConnectionState
from wsproto.events import CloseConnection, Message, Ping, Pong, TextMessage
from wsproto.frame_protocol import CloseReason

from cfnode.core.jsonrpc import Incoming
from cfnode.flow.turns import ClientTurn
from cfnode.serving.bounded_stream import BoundedStream
from cfnode.serving.frames import FRAMES_A_TURN, FrameBoundary, WebSocketFrameBudget, text_frame_head
from cfnode.serving.memory_budget import MemoryBudget

log = logging.getLogger("cfnode.serving")

ENDLESS: Final = 16
"""The multiple of the limit at which a message ends its connection."""


class ServedWebSocket(WSStream):
    """The WebSocket of one connection. hypercorn creates it; `attach` adds the server's own objects."""

    _bounded: BoundedStream
    _budget: MemoryBudget

    def attach(self, bounded: BoundedStream, budget: MemoryBudget, turn: ClientTurn) -> None:
        """Set the objects of the connection."""
        self._bounded, self._budget, self._turn = bounded, budget, turn
        self._frames = WebSocketFrameBudget()
        self._boundary = FrameBoundary()
        self.messages = 0
        """The number of messages handed to the session."""
        self._incoming = Incoming()
        self._skipped = 0
        """Bytes of the present message, beginning with the piece that made it too long."""

    def detach(self) -> None:
        """Free unread messages at once, not by the garbage collector, after the connection has ended."""
        self._incoming = Incoming()
        self.app_put = None
        self.closed = True

    async def handle(self, event: Event) -> None:
        """Handle an event of hypercorn's protocol."""
        if isinstance(event, Body | Data):
            self._boundary.follow(event.data)
        await super().handle(event)

    @property
    def is_at_message(self) -> bool:
        """Whether the next received byte begins a message, which may be answered without this class."""
        return self._is_open and self._boundary.is_at_message

    async def app_send(self, message: Any) -> None:
        """Send a message of the application; a reply is sent piece by piece, without joining it."""
        if message is None or message["type"] != "websocket.send":
            await super().app_send(message)
        elif self._is_open:
            parts = message["parts"]
            frame: Any = [text_frame_head(sum(map(len, parts))), *parts]
            await self.send(Data(stream_id=self.stream_id, data=frame))

    @property
    def _is_open(self) -> bool:
        is_accepted = not self.closed and self.state is ASGIWebsocketState.CONNECTED
        return is_accepted and self.connection.state is ConnectionState.OPEN

    async def _handle_events(self) -> None:
        """Handle the received frames: a few in each turn, and one message in each turn."""
        ping: Ping | None = None
        self._is_first = True
        for number, event in enumerate(self.connection.events(), 1):
            if isinstance(event, Ping):
                ping = event
            if number % FRAMES_A_TURN == 0:
                await self._answer(ping)
                ping = None
                await self._turn.take()
            if self.closed or not await self._take(event):
                return
        await self._answer(ping)

    async def _answer(self, ping: Ping | None) -> None:
        if ping is not None and not self.closed:
            await self._send_wsproto_event(ping.response())

    async def _take(self, event: Any) -> bool:
        """Handle one event; return whether to continue."""
        if isinstance(event, Message):
            return await self._take_piece(event)
        if isinstance(event, Ping | Pong):
            reason = self._frames.control(trio.current_time())
            return reason is None or await self._end(CloseReason.POLICY_VIOLATION, reason)
        if isinstance(event, CloseConnection):
            if self.connection.state is ConnectionState.REMOTE_CLOSING:
                await self._send_wsproto_event(event.response())
            elif self.connection.state is ConnectionState.OPEN:  # the frame was malformed: say so
                await self._send_wsproto_event(event)
            await self.send(StreamClosed(stream_id=self.stream_id))
            return False
        return True

    async def _take_piece(self, event: Message[Any]) -> bool:
        piece = event.data.encode() if isinstance(event, TextMessage) else event.data
        reason = self._frames.fragment(
            len(piece), ends_frame=event.frame_finished, ends_message=event.message_finished
        )
        if reason is not None:
            return await self._end(CloseReason.POLICY_VIOLATION, reason)
        limit = self.config.websocket_max_message_size
        if self._skipped or self._incoming.size + len(piece) > limit:
            return await self._skip(len(piece), limit, is_last=event.message_finished)
        self._incoming.add(piece)
        self._budget.add(len(piece))
        if event.message_finished:
            await self._hand_over()
        return not self._bounded.is_over

    async def _skip(self, size: int, limit: int, *, is_last: bool) -> bool:
        """Skip a piece of a message over the limit, which is refused at its first such piece."""
        if not self._skipped:
            self._incoming.refuse(limit)
            await self._hand_over()
        self._skipped = 0 if is_last else self._skipped + max(size, 1)
        if self._skipped > ENDLESS * limit:
            return await self._end(CloseReason.MESSAGE_TOO_BIG, None)
        return not self._bounded.is_over

    async def _hand_over(self) -> None:
        """Give the message to the session."""
        message, self._incoming = self._incoming, Incoming()
        if not self._is_first:
            await self._turn.take()
        self._is_first = False
        assert self.app_put is not None
        self.messages += 1
        await self.app_put({"type": "websocket.receive", "message": message})

    async def _end(self, code: CloseReason, reason: str | None) -> bool:
        """Close with a reason, and read no more; return False."""
        log.debug("closing a WebSocket: %s", reason or code.name)
        self._bounded.is_over = True
        await self._send_wsproto_event(CloseConnection(code=code, reason=reason))
        return False
