"""What is served on the port? An ASGI app: JSON-RPC by POST and WebSocket, and three pages for health checks.
A service of a higher layer may add HTTP requests of its own (`pages`).

hypercorn, the server below, has no useful limits, so this module enforces them: it counts the bytes of a body
as they arrive, allows `BODY_DEADLINE` seconds for the whole body, accepts only JSON, and checks Host and
Origin first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import trio

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import ErrorCode, Incoming, RpcError
from cfnode.node.config import RpcConfig
from cfnode.rpc.access import AccessPolicy, Refusal, RequestHeaders, Verdict, joined
from cfnode.rpc.dispatch import Client, Dispatcher
from cfnode.rpc.fairness import CLIENT
from cfnode.rpc.memory_budget import MemoryBudget
from cfnode.rpc.pages import Pages
from cfnode.rpc.rate_limit import RateLimits
from cfnode.rpc.reply import Reply
from cfnode.rpc.responses import JSON, TEXT, Receive, Scope, Send, deny, respond, with_head
from cfnode.rpc.session import Session
from cfnode.rpc.short_request import ShortRequest
from cfnode.rpc.turns import TURN

if TYPE_CHECKING:
    from cfnode.rpc.connection import Connection

BODY_DEADLINE = 30.0
MIN_PIECE = 64
"""Minimum average size of the pieces of a body, in bytes. Each piece costs a turn of the event loop, while a
chunk of one byte costs the client only six."""
FREE_PIECES = 1024
"""Pieces of a body (TCP segments, for instance) that may be smaller than that."""
NOT_JSON = b"Supplied content type is not allowed. Content-Type: application/json is required\n"


class BodyRefused(Exception):
    """The rest of a request's body is not read; `status` gives the reason."""

    def __init__(self, status: int) -> None:
        self.status = status


class App:
    """The ASGI application of one listener."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        config: RpcConfig,
        policy: AccessPolicy,
        pages: Pages | None = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._pages = pages
        self._config = config
        self._policy = policy
        self._rates = RateLimits(config.rate_limit)
        self.stopping = trio.Event()
        """Set when the server stops: WebSocket connections are then closed properly."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or one WebSocket connection."""
        connection = scope["state"]["connection"]
        CLIENT.set(connection)
        TURN.set(connection.turn)
        headers = joined(scope["headers"])
        verdict = self._policy.judge(connection.address, headers, is_public=_is_public(scope))
        if scope["type"] == "websocket":
            await self._websocket(scope, headers, receive, send, verdict)
        elif verdict.refusal is not None:
            await self._refuse(verdict.refusal, headers, send)
        elif self._pages is not None and self._pages.serves(scope["method"], scope["path"]):
            await self._page(self._pages, scope, headers, receive, send)
        elif scope["method"] == "POST":
            await self._post(scope, headers, receive, send, verdict)
        else:
            await self._other(scope, headers, send)

    async def _refuse(self, refusal: Refusal, headers: dict[bytes, bytes], send: Send) -> None:
        """A page may read why it needs a token (401), but nothing about a refused Host or Origin (403)."""
        cors = self._policy.cors_headers(headers.get(b"origin")) if refusal.status == 401 else []
        await respond(send, refusal.status, refusal.text, [TEXT, *refusal.headers, *cors])

    async def _post(
        self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send, verdict: Verdict
    ) -> None:
        cors = self._policy.cors_headers(headers.get(b"origin"))
        if not _is_json(headers):
            await respond(send, 415, NOT_JSON, [TEXT, *cors])
            return
        with _budget(scope).holding() as hold:
            try:
                limit = self._config.max_request_size
                message = Incoming()
                is_whole = await _read_body(headers.get(b"content-length"), receive, limit, message.add, hold)
            except BodyRefused as error:
                await respond(send, error.status, self._too_big(error.status), [JSON, *cors], close=True)
                return
            if not is_whole:
                return
            reply = await self._answer(scope["state"]["connection"], message, verdict, hold)
            with _budget(scope).keeping(reply):
                await respond(send, 200, reply, [JSON, *cors])

    async def short(self, connection: Connection, request: ShortRequest) -> Reply | None:
        """The whole answer to a short request, with its head; None if the request has to come as an ASGI
        scope, because it is refused, or no JSON-RPC."""
        headers = request.headers
        if not _is_json(headers) or (self._pages is not None and self._pages.serves("POST", request.path)):
            return None
        verdict = self._policy.judge(connection.address, headers)
        if verdict.refusal is not None:
            return None
        with connection.budget.holding() as hold:
            hold(len(request.body))
            message = Incoming()
            message.add(request.body)
            reply = await self._answer(connection, message, verdict, hold)
        return with_head(reply, [JSON, *self._policy.cors_headers(headers.get(b"origin"))])

    async def _answer(
        self, connection: Connection, message: Incoming, verdict: Verdict, hold: Callable[[int], None]
    ) -> Reply:
        hold(message.size)  # the decoded message takes about as much again
        parsed = await self._dispatcher.parse(message)
        return await self._dispatcher.answer(parsed, self._client(connection, verdict))

    async def _page(
        self, pages: Pages, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        cors = self._policy.cors_headers(headers.get(b"origin"))
        if scope["method"] == "POST" and not _is_json(headers):
            await respond(send, 415, NOT_JSON, [TEXT, *cors])
            return
        try:
            with _budget(scope).holding() as hold:
                announced, body = headers.get(b"content-length"), bytearray()
                is_whole = await _read_body(announced, receive, pages.max_body, body.extend, hold)
        except BodyRefused as error:
            text = jsonrpc.encode(
                {"message": f"the body has more than {pages.max_body} bytes or arrived too slowly"}
            )
            await respond(send, error.status, text, [JSON, *cors], close=True)
            return
        if is_whole:
            version = headers.get(b"x-chainflip-sdk-version", b"").decode("latin-1")
            answer = await pages.answer(scope["path"], scope["query_string"], bytes(body), version)
            await respond(send, answer.status, answer.body, [TEXT if answer.is_text else JSON, *cors])

    def _too_big(self, status: int) -> bytes:
        if status != 413:
            return b""
        limit = f"Exceeded max limit of {self._config.max_request_size}"
        return jsonrpc.failure(jsonrpc.NULL, RpcError(ErrorCode.REQUEST_TOO_BIG, "Request is too big", limit))

    async def _other(self, scope: Scope, headers: dict[bytes, bytes], send: Send) -> None:
        origin = headers.get(b"origin")
        if scope["method"] == "OPTIONS":
            await respond(send, 200, b"", self._policy.preflight_headers(origin))
        elif scope["method"] == "GET" and scope["path"] in _HEALTH_PAGES:
            status, page = self._health(scope["path"])
            await respond(send, status, jsonrpc.encode(page), [JSON, *self._policy.cors_headers(origin)])
        else:
            text = b"Used HTTP Method is not allowed. POST is required\n"
            await respond(send, 405, text, [TEXT, (b"allow", b"POST, OPTIONS")])

    def _health(self, path: str) -> tuple[int, dict[str, Any]]:
        """Status and content of a health page; the readiness page lists why the node is not ready."""
        node = self._dispatcher.node
        page: dict[str, Any] = {**node.health()}
        if path != "/health/readiness":
            return 200, page
        if (exposure := self.exposure) is not None:
            page["warnings"] = [{"kind": "broker_exposed", "message": exposure}]
        if not (reasons := node.impediments):
            return 200, page
        return 500, page | {"reasons": reasons}

    @property
    def exposure(self) -> str | None:
        """What strangers can do with the broker's methods; None if there are none, or they are closed."""
        return self._policy.exposure if self._dispatcher.has_broker else None

    def _client(self, connection: Connection, verdict: Verdict) -> Client:
        return replace(
            connection.client,
            address=verdict.address,
            closed=verdict.closed,
            throttle=self._rates.throttle(verdict, connection.limiter),
        )

    async def _websocket(
        self,
        scope: Scope,
        headers: dict[bytes, bytes],
        receive: Receive,
        send: Send,
        verdict: Verdict,
    ) -> None:
        await receive()  # websocket.connect
        if verdict.refusal is not None:
            await deny(send, verdict.refusal)
            return
        await send({"type": "websocket.accept"})
        wire = Wire(receive, send, _budget(scope))
        client = replace(self._client(scope["state"]["connection"], verdict), protocol="ws")
        session = Session(self._dispatcher, self._config, client, wire.send, _budget(scope))
        with self._counted():
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._end_when_stopping, nursery.cancel_scope)
                nursery.start_soon(self._end_when_revoked, scope, headers, verdict, nursery.cancel_scope)
                await session.run(wire.receive)
                nursery.cancel_scope.cancel()
        await send({"type": "websocket.close", "code": 1001 if self.stopping.is_set() else 1000})

    @contextmanager
    def _counted(self) -> Iterator[None]:
        observer = self._dispatcher.observer
        if observer is not None:
            observer.rpc_session_opened()
        try:
            yield
        finally:
            if observer is not None:
                observer.rpc_session_closed()

    async def _end_when_revoked(
        self, scope: Scope, headers: dict[bytes, bytes], given: Verdict, ending: trio.CancelScope
    ) -> None:
        """End a WebSocket if, by tokens that were read again, its handshake would get another verdict."""
        tokens = self._policy.tokens
        while tokens is not None:
            changed = tokens.changed
            if self._policy.judge(scope["state"]["connection"].address, headers) != given:
                ending.cancel()
                return
            await changed.wait()

    async def _end_when_stopping(self, scope: trio.CancelScope) -> None:
        await self.stopping.wait()
        scope.cancel()


def _is_json(headers: RequestHeaders) -> bool:
    """Whether the content type is JSON. For a foreign page a browser sends it only if the server consents."""
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower() == b"application/json"


async def _read_body(
    announced: bytes | None,
    receive: Receive,
    limit: int,
    add: Callable[[bytes], None],
    hold: Callable[[int], None],
) -> bool:
    """Read the whole body and count its pieces; False if the client disconnects. Raises BodyRefused."""
    if announced is not None and int(announced) > limit:
        raise BodyRefused(413)
    size = pieces = 0
    with trio.move_on_after(BODY_DEADLINE):
        while True:
            event = await receive()
            if event["type"] != "http.request":
                return False
            piece = event["body"]
            size, pieces = size + len(piece), pieces + 1
            hold(len(piece))
            if size > limit:
                raise BodyRefused(413)
            if pieces > FREE_PIECES + size // MIN_PIECE:
                raise BodyRefused(400)
            add(piece)
            if not event["more_body"]:
                return True
    raise BodyRefused(408)


class Wire:
    """Whole messages of one WebSocket. A received message counts as held until the next one is requested."""

    def __init__(self, receive: Receive, send: Send, budget: MemoryBudget) -> None:
        self._receive = receive
        self._send = send
        self._budget = budget
        self._taken = 0

    async def send(self, reply: Reply) -> None:
        """Send JSON as a text message."""
        await self._send({"type": "websocket.send", "parts": reply.parts})

    async def receive(self) -> Incoming | None:
        """The next message, text or binary; None when the client has disconnected."""
        self._budget.remove(self._taken)
        self._taken = 0
        event = await self._receive()
        if event["type"] != "websocket.receive":
            return None
        message: Incoming = event["message"]
        self._taken = message.size
        return message


def _budget(scope: Scope) -> MemoryBudget:
    """The memory account of the connection."""
    budget: MemoryBudget = scope["state"]["connection"].budget
    return budget


_HEALTH_PAGES = frozenset({"/health", "/health/readiness", "/health/liveness"})


def _is_public(scope: Scope) -> bool:
    """Whether the request needs no token: a health page, or the preflight of a browser, which sends none."""
    if scope["type"] == "websocket":
        return False
    method = scope["method"]
    return method == "OPTIONS" or (method == "GET" and scope["path"] in _HEALTH_PAGES)
