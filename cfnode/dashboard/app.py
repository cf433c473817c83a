"""ASGI application of the web page: its paths below /web, for a session; without one, a login form."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from cfnode.dashboard.dev_pages import DEV_PAGES, act
from cfnode.dashboard.guard import SECURITY_HEADERS, form_of, is_secure, require_own_form, require_own_origin
from cfnode.dashboard.node import RpcNode
from cfnode.dashboard.once import MAX_CODE_CHARS, OneTimeCodes
from cfnode.dashboard.page_context import PageContext
from cfnode.dashboard.pages import PAGES, Page
from cfnode.dashboard.partner_pages import PARTNER_FORMS, PARTNER_PAGES
from cfnode.dashboard.sessions import SESSION_MAX_AGE_S, DashboardSession, TokenSource
from cfnode.dashboard.statement_pages import STATEMENT_PAGES
from cfnode.dashboard.stream import EventStream
from cfnode.dashboard.swap_pages import SWAP_PAGES
from cfnode.dashboard.views import HERE, PAGE_PATH_PREFIX, THEMES
from cfnode.dashboard.webhook_pages import WEBHOOK_FORMS, WEBHOOK_PAGES
from cfnode.flow.restarts import Restarts
from cfnode.ledger.database import Database
from cfnode.ledger.errors import LedgerError

__all__ = ["Dashboard"]

log = logging.getLogger("cfnode.service")
SESSION_COOKIE: Final = "cfnode_session"
THEME_COOKIE: Final = "cfnode_theme"
THEME_COOKIE_AGE_S: Final = 365 * 86_400
_OWN_PATH: Final = re.compile(r"/web(?:/[A-Za-z0-9_-]*)*")
_ALL_PAGES: Final = {**PAGES, **SWAP_PAGES, **PARTNER_PAGES, **WEBHOOK_PAGES, **STATEMENT_PAGES, **DEV_PAGES}
_FORMS: Final = {**PARTNER_FORMS, **WEBHOOK_FORMS}
_BAD_CODE: Final = (
    "This link was used already, or is older than ten minutes. Give the token, or restart the service."
)
_BAD_TOKEN: Final = "Access denied: this token is not in the group admin."

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Dashboard:
    """ASGI application; `run` follows the books and calls the node until cancelled."""

    def __init__(
        self,
        database: Database,
        node: RpcNode,
        tokens: TokenSource,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        """Prepare the page; `announce` gets a link that logs in once, as soon as it is served."""
        self.restarts = Restarts(log)
        self._codes, self._announce = OneTimeCodes(), announce
        self._context = PageContext(database, node, tokens, self.restarts)
        self._app = Starlette(
            routes=[Route("/", _to_first), Mount(PAGE_PATH_PREFIX, routes=self._routes())],
            exception_handlers={
                HTTPException: self._refused,
                LedgerError: self._unavailable,
                Exception: self._broken,
            },
        )

    async def run(self) -> None:
        """Keep the pages up to date until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(
                self.restarts.keep, "the page's updates from the node", self._context.watch.run
            )
            nursery.start_soon(self._context.pulse.run)
            nursery.start_soon(self.restarts.keep, "the page's cache", self._context.cache.run)

    def listening(self, origin: str) -> None:
        """Announce a link that logs in once, at the origin of the server."""
        if self._announce is not None:
            self._announce(f"{origin}{PAGE_PATH_PREFIX}/login?once={self._codes.offer()}")

    def serves(self, method: str, path: str) -> bool:
        """Return whether a request is for the page."""
        is_first = (method, path) == ("GET", "/")
        return is_first or path == PAGE_PATH_PREFIX or path.startswith(f"{PAGE_PATH_PREFIX}/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                names = {name for name, _ in message["headers"]}
                missing = [(name, value) for name, value in SECURITY_HEADERS.items() if name not in names]
                message = {**message, "headers": [*message["headers"], *missing]}
            await send(message)

        await self._app(scope, receive, guarded)

    def _routes(self) -> list[Route | Mount]:
        static = StaticFiles(directory=HERE / "static")
        pages = [Route(path, self._opened(page)) for path, page in _ALL_PAGES.items()]
        return [
            Route("/login", self._login, methods=["GET", "POST"]),
            Route("/theme", self._theme, methods=["POST"]),
            Route("/logout", self._opened(self._logout), methods=["POST"]),
            Route("/dev/{action}", self._opened(act), methods=["POST"]),
            *(Route(path, self._opened(form), methods=["POST"]) for path, form in _FORMS.items()),
            Route("/events", self._opened(self._events)),
            Mount("/static", static),
            *pages,
        ]

    def _opened(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint of a page, for a client with a session."""

        async def endpoint(request: Request) -> Response:
            session = await self._session(request)
            if session is None:
                return RedirectResponse(f"{PAGE_PATH_PREFIX}/login", 303)
            return await page(self._context, request, session)

        return endpoint

    async def _session(self, request: Request) -> DashboardSession | None:
        return (await self._context.sessions()).read(request.cookies.get(SESSION_COOKIE))

    async def _login(self, request: Request) -> Response:
        if request.method == "GET":  # which a program that looks at links may send, too: it takes no code
            return self._login_form(request, once=request.query_params.get("once", "")[:MAX_CODE_CHARS])
        require_own_origin(request)
        fields, sessions = await form_of(request), await self._context.sessions()
        code = fields.get("once")
        if code is not None and not self._codes.take(code[:MAX_CODE_CHARS]):
            return self._login_form(request, _BAD_CODE)
        cookie = sessions.begin(fields.get("token", "")) if code is None else sessions.begin_trusted()
        if cookie is None:
            return self._login_form(request, _BAD_TOKEN)
        answer = RedirectResponse(f"{PAGE_PATH_PREFIX}/", 303)
        _set_cookie(request, answer, SESSION_COOKIE, cookie, SESSION_MAX_AGE_S)
        return answer

    def _login_form(self, request: Request, fault: str = "", once: str = "") -> Response:
        content = self._context.part("login.html", fault=fault, once=once)
        status = 403 if fault else 200
        return self._context.views.page(request, "Log in", content, None, status=status)

    async def _logout(self, context: PageContext, request: Request, session: DashboardSession) -> Response:
        require_own_origin(request)
        require_own_form(await form_of(request), session.csrf)
        answer = RedirectResponse(f"{PAGE_PATH_PREFIX}/login", 303)
        answer.delete_cookie(SESSION_COOKIE, PAGE_PATH_PREFIX)
        return answer

    async def _theme(self, request: Request) -> Response:
        require_own_origin(request)
        fields = await form_of(request)
        path = fields.get("path", "")
        answer = RedirectResponse(path if _OWN_PATH.fullmatch(path) else f"{PAGE_PATH_PREFIX}/", 303)
        if fields.get("theme") in THEMES:
            _set_cookie(request, answer, THEME_COOKIE, fields["theme"], THEME_COOKIE_AGE_S)
        return answer

    async def _events(self, context: PageContext, request: Request, session: DashboardSession) -> Response:
        if context.pulse.is_full:
            raise HTTPException(503, "Too many browsers follow the page already; close one and try again.")
        return EventStream(context.pulse)

    # Faults

    async def _refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        text = "There is no such page." if error.detail == "Not Found" else error.detail
        return await self._fault(request, error.status_code, text)

    async def _unavailable(self, request: Request, error: Exception) -> Response:
        return await self._fault(request, 503, str(error))

    async def _broken(self, request: Request, error: Exception) -> Response:
        return await self._fault(request, 500, "This is a bug of cfnode; its log has more. Please report it.")

    async def _fault(self, request: Request, status: int, text: str) -> Response:
        try:
            session = await self._session(request)
        except LedgerError:
            session = None
        is_dev = session is not None and self._context.is_dev
        content = self._context.part("fault.html", status=status, text=text)
        views = self._context.views
        return views.page(request, "Request failed", content, session, status=status, is_dev=is_dev)


async def _to_first(request: Request) -> Response:
    return RedirectResponse(f"{PAGE_PATH_PREFIX}/", 307)


def _set_cookie(request: Request, answer: Response, name: str, value: str, age: int) -> None:
    answer.set_cookie(
        name, value, age, path=PAGE_PATH_PREFIX, secure=is_secure(request), httponly=True, samesite="strict"
    )
