"""ASGI application of the service's port.

It serves the requests of the swap service and of the partner API, a few reads by JSON-RPC, a health page, and
the operator's page if there is one.

The rules are those of a node's port: Host and Origin first, then tokens, JSON only, bodies of bounded size
and time. With a file of tokens, a request needs one if a line names `read`; opening a channel needs one of
the group `broker` if a line names that group.
"""

from __future__ import annotations

from typing import Final, Protocol

from cfnode.core import jsonrpc
from cfnode.serving.posted import answer_page, posted_json
from cfnode.serving.responses import JSON, TEXT, Receive, Scope, Send, respond
from cfnode.swap_service.live_network import forward
from cfnode.swap_service.live_network.partner_api.app import PartnerApi
from cfnode.swap_service.live_network.source import LiveSource
from cfnode.swap_service.routes import MAX_BODY_BYTES, SPENDING_REQUEST, SwapService
from cfnode.web.bearer import HttpRefusal, RequestHeaders, granted_groups, joined
from cfnode.web.origins import OriginPolicy
from cfnode.web.tokens import Group, Tokens

__all__ = ["HEALTH_PAGES", "ServiceApp", "WebPage"]

HEALTH_PAGES: Final = frozenset({"/health", "/healthcheck"})
"""Pages of a GET that needs no token."""
_RPC: Final = ("POST", "/")
_NEEDS_BROKER: Final = b"A token of the group broker is required to open a channel.\n"


class WebPage(Protocol):
    """ASGI application for some of the paths: the operator's page."""

    def serves(self, method: str, path: str) -> bool:
        """Return whether a request is for the page."""
        ...

    def listening(self, origin: str) -> None:
        """Note that it is served at an origin."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        ...


class ServiceApp:
    """ASGI application of the swap service."""

    def __init__(
        self, source: LiveSource, origins: OriginPolicy, tokens: Tokens | None, web: WebPage | None = None
    ) -> None:
        self._source, self._web = source, web
        self._service = SwapService(source)
        self.partners = PartnerApi(source)
        self._origins, self._tokens = origins, tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; refuse a WebSocket."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = joined(scope["headers"])
        method, path = scope["method"], scope["path"]
        if self._web is not None and self._web.serves(method, path):
            await self._to_web(self._web, headers, scope, receive, send)
            return
        refusal = self._refusal(method, path, headers)
        if refusal is not None:
            head = [TEXT, *refusal.headers]
            if refusal.status == 401:
                head += self._origins.cors_headers(headers.get(b"origin"))
            await respond(send, refusal.status, refusal.text, head)
        elif method == "OPTIONS":
            is_partners = self.partners.serves(path)
            preflight = self._origins.preflight_headers(
                headers.get(b"origin"),
                takes_tokens=self._tokens is not None or is_partners,
                further=b", idempotency-key" * is_partners,
            )
            await respond(send, 200, b"", preflight)
        else:
            await self._answer(scope, headers, receive, send)

    async def _to_web(
        self, web: WebPage, headers: RequestHeaders, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Pass a request to the operator's page, which has tokens and a check of origins of its own."""
        refused = self._origins.refusal(headers.get(b"host"), None)
        if refused is not None:
            await respond(send, 403, refused, [TEXT])
        else:
            await web(scope, receive, send)

    def _refusal(self, method: str, path: str, headers: RequestHeaders) -> HttpRefusal | None:
        refused = self._origins.refusal(headers.get(b"host"), headers.get(b"origin"))
        if refused is not None:
            return HttpRefusal(403, refused)
        if self._tokens is None or method == "OPTIONS" or (method == "GET" and path in HEALTH_PAGES):
            return None
        if self.partners.serves(path):  # the partner API has keys of its own
            return None
        granted = granted_groups(self._tokens, headers.get(b"authorization", b""))
        if isinstance(granted, HttpRefusal):
            return granted
        if method == "POST" and path.endswith(SPENDING_REQUEST) and Group.BROKER not in granted:
            return HttpRefusal(401, _NEEDS_BROKER, ((b"www-authenticate", b"Bearer"),))
        return None

    async def _answer(self, scope: Scope, headers: RequestHeaders, receive: Receive, send: Send) -> None:
        cors = self._origins.cors_headers(headers.get(b"origin"))
        method, path = scope["method"], scope["path"]
        if self.partners.serves(path):
            await self.partners(scope, headers, receive, send, cors)
        elif method == "GET" and path == "/health":
            status, page = await self._source.health()
            await respond(send, status, jsonrpc.encode(page), [JSON, *cors])
        elif not self._service.serves(method, path) and (method, path) != _RPC:
            await respond(send, 404, jsonrpc.encode({"message": "resource not found"}), [JSON, *cors])
        elif path != "/":
            await answer_page(self._service, scope, headers, receive, send, cors)
        elif (body := await posted_json(scope, headers, receive, send, MAX_BODY_BYTES, cors)) is not None:
            await respond(send, 200, await forward.answer(self._source.link, body), [JSON, *cors])
