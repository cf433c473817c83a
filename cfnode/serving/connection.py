"""One bounded TCP connection: hypercorn's, with the deadlines and limits that it lacks.

hypercorn's sends cannot be cancelled, so a client that reads nothing would keep the server from stopping; and
hypercorn handles all received bytes in one turn, however many they are. This module changes that:

- a send that makes no progress ends the connection (`bounded_stream.py`), and `abort` ends it at any time,
  with all tasks that run for it;
- received bytes are passed on in small portions, and other connections get their turn between them;
- a short request (`short_request.py`) and a short message (`frames.short_message`) are answered here, without
  hypercorn's protocol, and without a turn of the event loop if the call needs no waiting;
- the head of a request has a deadline of its own, so that a connection may be idle for longer;
- no HTTP/2 (`http1.py`), no compressed WebSocket messages, and limits on frames (`websocket.py`).
"""

from __future__ import annotations

import contextlib
import math
from typing import Any, Final, cast

import trio
from hypercorn.config import Config as HypercornConfig
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol.h11 import H11WSConnection
from hypercorn.trio.tcp_server import MAX_RECV, TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ConnectionState
from hypercorn.utils import parse_socket_addr

from cfnode.core.ip_addresses import party_of
from cfnode.flow.fairness import CLIENT
from cfnode.flow.turns import CLIENT_TURN, ClientTurn, Turns
from cfnode.serving.bounded_stream import BoundedStream
from cfnode.serving.frames import Messages, framed, short_message
from cfnode.serving.http1 import Http1
from cfnode.serving.inbox import Applications
from cfnode.serving.limits import KEEP_ALIVE_S, REQUEST_HEAD_TIMEOUT_S
from cfnode.serving.memory_budget import MemoryBudgets
from cfnode.serving.reply import Reply
from cfnode.serving.short_request import RequestAdmission, ShortRequests, WaitingCall, short_request

__all__ = ["ServedConnection"]

CLOSE_LINGER_S: Final = 2.0
"""Seconds for which the rest of a refused body is discarded."""
LINGER_BYTES: Final = 1024 * 1024
"""Bytes of a refused body that are discarded; beyond, the connection is reset."""
DEADLINE_STEP: Final = 1.0
"""Seconds by which the deadline of an idle connection may be too early: moving it costs as much as parsing a
call, so it is not moved with each request."""
_GONE: Final = (trio.BrokenResourceError, trio.ClosedResourceError)
PORTION: Final = 16 * 1024
"""Bytes that the protocol gets at once: one read may hold thousands of headers, chunks or frames.

The head of a request has no more.
"""


class ServedConnection(TCPServer):
    """One accepted connection from `address`."""

    def __init__(
        self,
        app: AppWrapper,
        config: HypercornConfig,
        context: WorkerContext,
        stream: trio.SocketStream,
        address: str,
        budgets: MemoryBudgets,
        turns: Turns,
        short: ShortRequests[ServedConnection, Any] | None = None,
    ) -> None:
        self.address = address
        """The address of the other end."""
        self.party = party_of(address)
        """The party that the connection counts for."""
        self.turn = ClientTurn(turns)
        self.budget = budgets.begin(self.abort)
        self._everything = trio.CancelScope()
        self._bounded = BoundedStream(stream, self._everything.cancel)
        state = ConnectionState({"connection": self})
        super().__init__(app, config, context, state, cast(Any, self._bounded))
        self._task_group = Applications()
        self._short = short
        self._admission: RequestAdmission[Any] | None = None
        """What the head of the last short request allows."""
        self._waiting: WaitingCall[Any] | None = None
        """The call of the request that has just been received, parsed."""
        self.session: Messages | None = None
        """The application's side of the WebSocket, once it is open."""
        self._is_between = True
        """Whether hypercorn's protocol has neither a request nor a part of one."""
        self._is_answering = False
        """Whether a short request is being answered."""
        self._lingers_until = 0.0
        """The time until which received bytes are discarded because the connection is over; 0 before."""
        self._discarded = 0
        self._listening = trio.CancelScope()
        self._is_listening = False
        """Whether the connection waits for bytes; then the deadline of `_listening` counts."""
        self._since = trio.current_time()
        """The time of the last change between idle, reading a head, and serving a request."""
        self._is_reading_head = True
        """Whether a part of a request's head has been received, or no request yet."""

    @property
    def is_idle(self) -> bool:
        """Whether no request is in progress and nothing is held for the client."""
        if self._bounded.is_over or self._is_answering or self.budget.size:
            return False
        protocol: Any = getattr(self, "protocol", None)
        is_between = protocol is None or protocol.stream is None
        return is_between or isinstance(protocol.connection, H11WSConnection)

    @property
    def idle_since(self) -> float | None:
        """The time at which an HTTP connection became idle; None during a request, and for a WebSocket.

        The next request may have been sent already (`has_unread`).
        """
        protocol: Any = getattr(self, "protocol", None)
        if protocol is None or not self.is_idle or not protocol.is_between_requests:
            return None
        return None if protocol.has_data else self._since

    @property
    def has_unread(self) -> bool:
        """Whether the client has sent bytes that were not received yet; this asks the kernel."""
        return self._bounded.has_unread

    def abort(self) -> None:
        """Close the connection now, even in the middle of a message."""
        self._bounded.abort()

    async def protocol_send(self, event: Event) -> None:
        """Send bytes of the protocol, or apply its event to the connection."""
        if isinstance(event, Updated):
            self._is_reading_head, self._since = False, trio.current_time()
            if self._is_listening:
                self._listening.deadline = self._deadline()
        if isinstance(event, Closed) and cast(Http1, self.protocol).is_body_missing:
            await self._linger()
            return
        if not isinstance(event, RawData):
            await super().protocol_send(event)
            return
        parts = [event.data] if isinstance(event.data, bytes) else event.data
        self.turn.charge(sum(map(len, parts)))
        async with self.send_lock:
            try:
                await self._bounded.send_all(parts)
            except _GONE:  # no client is left for what this connection still answers
                self.abort()

    async def _linger(self) -> None:
        """End the connection after an answer that was sent before the whole body was received.

        Discard for a while what is still received of the body: closing a socket with unread bytes resets the
        connection, and the client might not receive the answer (RFC 9112, 9.6).
        """
        with contextlib.suppress(*_GONE):
            await self._bounded.send_eof()
        self._lingers_until = trio.current_time() + CLOSE_LINGER_S
        if self._is_listening:
            self._listening.deadline = self._lingers_until
        await self.protocol.handle(Closed())

    async def _read_data(self) -> None:
        """Pass received bytes on until the client disconnects or is silent for too long."""
        with self._listening as listening, contextlib.suppress(*_GONE):
            while not self._bounded.is_over:
                self._listen(listening)
                data = await self._bounded.receive_some(MAX_RECV)
                if self._lingers_until:
                    self._discarded += len(data)
                    if not data or self._discarded > LINGER_BYTES:
                        break
                    continue
                if (reply := self._answer_now(data)) is not None:
                    sent_bytes = self._bounded.send_now(reply.parts) if reply else 0
                    if sent_bytes < reply.size:
                        listening.deadline = math.inf
                        await self._send_rest(reply, sent_bytes)
                    continue
                listening.deadline, self._is_listening = math.inf, False
                await self._hand_on(data)
                if not data:
                    break
        await self.protocol.handle(Closed())

    def _listen(self, listening: trio.CancelScope) -> None:
        """Begin to wait for bytes."""
        deadline = self._deadline()
        if not 0 <= deadline - listening.deadline < DEADLINE_STEP:
            listening.deadline = deadline
        self._is_listening = True

    def _answer_now(self, data: bytes) -> Reply | None:
        """Return the answer to received bytes that need no waiting.

        They must be just one request or message of the usual kind, with a call that needs no waiting. None
        for anything else, of which nothing was handled.
        """
        if self.send_lock.locked() or self.context.terminated.is_set():
            return None
        reply: Reply | None = None
        if self.session is not None:
            reply = self._answer_message(self.session, data)
        elif (admission := self._admission) is not None and self._is_between and admission.covers(data):
            start = len(admission.head)
            if len(data) == start + admission.length and self._short is not None:
                answer = self._short.answer_now(admission, data[start:])
                if isinstance(answer, WaitingCall):
                    self._waiting = answer
                else:
                    reply = answer
            if reply is not None:
                self._is_reading_head, self._since = False, trio.current_time()
        if reply is not None:
            self.turn.charge(len(data))
            self.turn.charge(reply.size)
        return reply

    def _answer_message(self, session: Messages, data: bytes) -> Reply | None:
        websocket = cast(Http1, self.protocol).websocket
        if websocket is None or not websocket.is_at_message:
            return None
        message = short_message(data)
        if message is None or len(message) > self.config.websocket_max_message_size:
            return None
        reply = session.answer_now(message, websocket.messages)
        return None if reply is None else framed(reply)

    def _deadline(self) -> float:
        """Return the time at which the connection ends if no more bytes are received."""
        if self._lingers_until:
            return self._lingers_until
        if self._is_between and not self._is_reading_head:
            return self._since + KEEP_ALIVE_S
        protocol = cast(Http1, self.protocol)
        if not protocol.is_between_requests:
            return trio.current_time() + (self.config.read_timeout or math.inf)
        if not self._is_reading_head and protocol.has_data:
            self._is_reading_head, self._since = True, trio.current_time()
        return self._since + (REQUEST_HEAD_TIMEOUT_S if self._is_reading_head else KEEP_ALIVE_S)

    async def _hand_on(self, data: bytes) -> None:
        cast(Http1, self.protocol).is_pipelined = False
        self.turn.charge(len(data))
        if data and not (data := await self._answer_short(data)):
            return
        self._is_between = False
        await self.protocol.handle(RawData(data[:PORTION]))
        for start in range(PORTION, len(data), PORTION):
            await self.turn.take()
            if self._bounded.is_over or self._lingers_until:
                return
            await self.protocol.handle(RawData(data[start : start + PORTION]))

    async def _answer_short(self, data: bytes) -> bytes:
        """Answer the short requests at the beginning of received bytes; return the rest, for hypercorn."""
        protocol = cast(Http1, self.protocol)
        if not self._is_between:  # else the protocol has got nothing since
            self._is_between = protocol.is_between_requests and not protocol.has_data
        if self._short is None or not self._is_between:
            return data
        while (admission := self._admitted(self._short, data)) is not None:
            if protocol.is_pipelined:
                await self.turn.take()
            start, end = len(admission.head), len(admission.head) + admission.length
            self._is_answering = True
            waiting, self._waiting = self._waiting, None
            try:
                await self._send_reply(await self._short.answer(self, admission, data[start:end], waiting))
            finally:
                self._is_answering = False
            if self.context.terminated.is_set():
                await self._initiate_server_close()
                return b""
            protocol.is_pipelined = True
            self._is_reading_head, self._since = False, trio.current_time()
            data = data[end:]
        return data

    def _admitted(
        self, short: ShortRequests[ServedConnection, Any], data: bytes
    ) -> RequestAdmission[Any] | None:
        """Return what the head at the beginning of `data` allows; None if no short request begins there."""
        if (last_admission := self._admission) is not None and last_admission.covers(data):
            return last_admission
        if (request := short_request(data)) is None:
            return None
        admission = short.admit(self, request)
        self._admission = admission if admission is not None and admission.is_repeatable else None
        return admission

    async def _send_reply(self, reply: Reply) -> None:
        self.turn.charge(reply.size)
        with self.budget.keeping(reply):
            async with self.send_lock:
                await self._bounded.send_all(reply.parts)

    async def _send_rest(self, reply: Reply, sent: int) -> None:
        """Send a reply of which the kernel has accepted the first `sent` bytes."""
        async with self.send_lock:  # it is free, so nothing comes between
            with self.budget.keeping(reply):
                await self._bounded.send_rest(reply.parts, sent)

    async def _idle_timeout(self) -> None:
        """Close an idle connection when the server stops; until then `_deadline` decides."""
        await self.context.terminated.wait()
        if not self._is_answering:  # else it ends with that answer
            with trio.CancelScope(shield=True):
                await self._initiate_server_close()

    async def run(self) -> None:
        """Serve requests until either side closes the connection."""
        protocol = self._new_protocol()
        CLIENT.set(self)
        CLIENT_TURN.set(self.turn)
        try:
            with self._everything as scope:
                async with self._task_group:
                    self.protocol = cast(Any, protocol)
                    await self.idle_task.restart(self._task_group, self._idle_timeout)
                    await self._read_data()
                    # The remaining tasks sleep: until the next ping, or the end of the idle time.
                    if isinstance(protocol.connection, H11WSConnection):
                        scope.cancel()
                    await self.idle_task.stop()
        except OSError:
            pass  # the client has disconnected
        finally:
            self.budget.end()
            self.session = self._admission = None
            protocol.detach()
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
        protocol.bounded, protocol.budget, protocol.turn = self._bounded, self.budget, self.turn
        return protocol
