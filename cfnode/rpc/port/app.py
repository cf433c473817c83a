"""The ASGI app of the port: JSON-RPC by POST and WebSocket, three pages for health checks, one for browsers.

A service of a higher layer may add HTTP requests of its own (`pages`).

hypercorn, the server below, has no useful limits, so this module enforces them: it counts the bytes of a body
as they arrive, allows `BODY_DEADLINE_S` seconds for the whole body, accepts only JSON, and checks Host and
Origin first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import trio

from cfnode.core import jsonrpc
from cfnode.core.jsonrpc import ErrorCode, Incoming, RpcCall, RpcError
from cfnode.node.config import RpcConfig
from cfnode.rpc.answering.client import RpcClient
from cfnode.rpc.answering.dispatch import Dispatcher
from cfnode.rpc.answering.session import RpcSession
from cfnode.rpc.port.access import AccessDecision, AccessPolicy, HttpRefusal, joined
from cfnode.rpc.port.landing import HEADERS, PAGE, wants_html
from cfnode.rpc.port.rate_limit import RateLimiter, RateLimits
from cfnode.rpc.table.rows import SIGNING, Access
from cfnode.serving.connection import ServedConnection
from cfnode.serving.memory_budget import MemoryBudget
from cfnode.serving.posted import answer_page
from cfnode.serving.reply import Reply
from cfnode.serving.responses import (
    JSON,
    TEXT,
    Receive,
    Scope,
    Send,
    answer_start,
    budget_of,
    deny,
    respond,
    with_head,
    with_status,
)
from cfnode.serving.short_request import RequestAdmission, ShortRequest, WaitingCall
from cfnode.web.bodies import NOT_JSON, BodyRefused, is_json, read_body
from cfnode.web.pages import Pages


class RpcApp:
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
        self._limiters = WeakKeyDictionary[ServedConnection, RateLimiter]()
        self.stopping = trio.Event()
        """The event that is set when the server stops: WebSocket connections are then closed properly."""

    async def stop(self) -> None:
        """Close the WebSocket connections."""
        self.stopping.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or one WebSocket connection."""
        connection = scope["state"]["connection"]
        headers = joined(scope["headers"])
        verdict = self._policy.judge(connection.address, headers, is_public=_is_public(scope))
        if scope["type"] == "websocket":
            await self._websocket(scope, headers, receive, send, verdict)
        elif verdict.refusal is not None:
            await self._refuse(verdict.refusal, headers, send)
        elif self._pages is not None and self._pages.serves(scope["method"], scope["path"]):
            cors = self._policy.cors_headers(headers.get(b"origin"))
            await answer_page(self._pages, scope, headers, receive, send, cors)
        elif scope["method"] == "POST":
            await self._post(scope, headers, receive, send, verdict)
        else:
            await self._other(scope, headers, send)

    async def _refuse(self, refusal: HttpRefusal, headers: dict[bytes, bytes], send: Send) -> None:
        """Send a refusal.

        A page may read why it needs a token (401), but nothing about a refused Host or Origin (403).
        """
        cors = self._policy.cors_headers(headers.get(b"origin")) if refusal.status == 401 else []
        await respond(send, refusal.status, refusal.text, [TEXT, *refusal.headers, *cors])

    async def _post(
        self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send, verdict: AccessDecision
    ) -> None:
        cors = self._policy.cors_headers(headers.get(b"origin"))
        if not is_json(headers):
            await respond(send, 415, NOT_JSON, [TEXT, *cors])
            return
        with budget_of(scope).holding() as hold:
            try:
                limit = self._config.max_request_size
                message = Incoming()
                is_whole = await read_body(headers.get(b"content-length"), receive, limit, message.add, hold)
            except BodyRefused as error:
                await respond(send, error.status, self._too_big(error.status), [JSON, *cors])
                return
            if not is_whole:
                return
            client = self._client(scope["state"]["connection"], verdict)
            status, reply = await self._answer(client, message, hold)
            await respond(send, status, reply, [JSON, *cors])

    def admit(
        self, connection: ServedConnection, request: ShortRequest
    ) -> RequestAdmission[RpcClient] | None:
        """Return what the head of a short request allows.

        None if the request has to come as an ASGI scope, because it is refused, or no JSON-RPC.
        """
        headers = request.headers
        if len(request.body) > self._config.max_request_size:
            return None
        if not is_json(headers) or (self._pages is not None and self._pages.serves("POST", request.path)):
            return None
        ends = None if self._policy.tokens is None else self._policy.tokens.changed
        verdict = self._policy.judge(connection.address, headers)
        if verdict.refusal is not None:
            return None
        client = self._client(connection, verdict)
        start = answer_start([JSON, *self._policy.cors_headers(headers.get(b"origin"))])
        # The limit of a client behind a proxy is looked up with each request, so that it is not forgotten.
        is_repeatable = client.throttle is None or not verdict.is_proxied
        return RequestAdmission(request.head, len(request.body), client, start, ends, is_repeatable)

    def answer_now(
        self, admission: RequestAdmission[RpcClient], body: bytes
    ) -> Reply | WaitingCall[RpcCall] | None:
        """Return the whole answer to a call that needs no waiting, or the call; None for any other body."""
        call = jsonrpc.parse_short(body)
        if call is None:
            return None
        reply = self._dispatcher.answer_now(call, admission.client)
        return WaitingCall(call) if reply is None else with_head(reply, admission.answer_start)

    async def answer(
        self,
        connection: ServedConnection,
        admission: RequestAdmission[RpcClient],
        body: bytes,
        waiting: WaitingCall[RpcCall] | None,
    ) -> Reply:
        """Return the whole answer to a short request, with its head."""
        with connection.budget.holding() as hold:
            hold(len(body))
            if waiting is not None:
                hold(len(body))  # the decoded call
                reply = await self._dispatcher.answer_later(waiting.call, admission.client)
                return with_head(reply, admission.answer_start)
            message = Incoming()
            message.add(body)
            status, reply = await self._answer(admission.client, message, hold)
        return with_head(reply, with_status(admission.answer_start, status))

    async def _answer(
        self, client: RpcClient, message: Incoming, hold: Callable[[int], None]
    ) -> tuple[int, Reply]:
        """Return the status and the body of an answer."""
        hold(message.size)  # the decoded message takes about as much again
        parsed = await self._dispatcher.parse(message)
        status = 400 if isinstance(parsed, jsonrpc.RefusedMessage) and parsed.is_no_message else 200
        return status, await self._dispatcher.answer(parsed, client)

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
        elif scope["method"] == "GET" and scope["path"] == "/" and wants_html(headers.get(b"accept")):
            await respond(send, 200, PAGE, HEADERS)
        else:
            text = b"Used HTTP Method is not allowed. POST is required\n"
            await respond(send, 405, text, [TEXT, (b"allow", b"POST, OPTIONS")])

    def _health(self, path: str) -> tuple[int, dict[str, Any]]:
        """Return status and content of a health page; the readiness page lists why the node is not ready."""
        node = self._dispatcher.node
        page: dict[str, Any] = {**node.health()}
        if path != "/health/readiness":
            return 200, page
        if exposures := self.exposures:
            page["warnings"] = [
                {"kind": f"{access.value}_exposed", "message": text} for access, text in exposures.items()
            ]
        if not (reasons := node.impediments):
            return 200, page
        return 500, page | {"reasons": reasons}

    @property
    def exposures(self) -> dict[Access, str]:
        """The harm that strangers can do with the methods of the broker and of the liquidity provider.

        Nothing for one whose methods are absent or closed.
        """
        signing = filter(self._dispatcher.offers, SIGNING)
        exposures = {access: self._policy.exposure(access) for access in signing}
        return {access: text for access, text in exposures.items() if text is not None}

    def _client(self, connection: ServedConnection, verdict: AccessDecision) -> RpcClient:
        return RpcClient(
            address=verdict.address,
            closed=verdict.closed,
            throttle=self._rates.throttle(verdict, self._limiter(connection)),
            memory=connection.budget,
        )

    def _limiter(self, connection: ServedConnection) -> RateLimiter | None:
        """Return the rate limit of a connection."""
        limiter = self._limiters.get(connection)
        if limiter is None and (limiter := self._rates.of_connection()) is not None:
            self._limiters[connection] = limiter
        return limiter

    async def _websocket(
        self,
        scope: Scope,
        headers: dict[bytes, bytes],
        receive: Receive,
        send: Send,
        verdict: AccessDecision,
    ) -> None:
        await receive()  # websocket.connect
        if verdict.refusal is not None:
            await deny(send, verdict.refusal)
            return
        await send({"type": "websocket.accept"})
        wire = Wire(receive, send, budget_of(scope))
        connection: ServedConnection = scope["state"]["connection"]
        client = replace(self._client(connection, verdict), protocol="ws")
        session = RpcSession(self._dispatcher, self._config, client, wire.send, budget_of(scope))
        with self._counted():
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._end_when_stopping, nursery.cancel_scope)
                nursery.start_soon(self._end_when_revoked, scope, headers, verdict, nursery.cancel_scope)
                connection.session = session
                await session.run(wire.receive)
                nursery.cancel_scope.cancel()
        await send({"type": "websocket.close", "code": 1001 if self.stopping.is_set() else 1000})

    @contextmanager
    def _counted(self) -> Iterator[None]:
        observer = self._dispatcher.observer
        if observer is not None:
            observer.session_opened()
        try:
            yield
        finally:
            if observer is not None:
                observer.session_closed()

    async def _end_when_revoked(
        self, scope: Scope, headers: dict[bytes, bytes], decision: AccessDecision, ending: trio.CancelScope
    ) -> None:
        """End a WebSocket if, by tokens that were read again, its handshake would get another verdict."""
        tokens = self._policy.tokens
        while tokens is not None:
            changed = tokens.changed
            if self._policy.judge(scope["state"]["connection"].address, headers) != decision:
                ending.cancel()
                return
            await changed.wait()

    async def _end_when_stopping(self, scope: trio.CancelScope) -> None:
        await self.stopping.wait()
        scope.cancel()


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
        """Return the next message, text or binary; None when the client has disconnected."""
        self._budget.remove(self._taken)
        self._taken = 0
        event = await self._receive()
        if event["type"] != "websocket.receive":
            return None
        message: Incoming = event["message"]
        self._taken = message.size
        return message


_HEALTH_PAGES = frozenset({"/health", "/health/readiness", "/health/liveness"})


def _is_public(scope: Scope) -> bool:
    """Return whether the request needs no token.

    A health page needs none, nor the preflight of a browser, which sends none.
    """
    if scope["type"] == "websocket":
        return False
    method = scope["method"]
    return method == "OPTIONS" or (method == "GET" and scope["path"] in _HEALTH_PAGES)
