"""Shared parts of all pages: the books, the node, the templates, and the cache."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from cfnode.core.chain_time import behind_text
from cfnode.dashboard.books import BookReader
from cfnode.dashboard.cache import Cache
from cfnode.dashboard.explorer import Explorer
from cfnode.dashboard.formats import time_text
from cfnode.dashboard.node import NodeWatch, RpcNode
from cfnode.dashboard.pulse import Pulse
from cfnode.dashboard.sessions import DashboardSession, Sessions, TokenSource
from cfnode.dashboard.views import Views
from cfnode.flow.restarts import Restarts
from cfnode.ledger.database import Database
from cfnode.ledger.service_key import service_key

__all__ = ["MESSAGE_COOKIE", "PageContext"]

MESSAGE_COOKIE = "cfnode_message"
"""Name of the cookie with the message for the next page."""


class PageContext:
    """Everything from which a page is made."""

    def __init__(self, database: Database, node: RpcNode, tokens: TokenSource, restarts: Restarts) -> None:
        self.books = BookReader(database)
        self.watch = NodeWatch(node)
        self.pulse = Pulse(database, self._renew, restarts)
        self.views = Views()
        self.explorer = Explorer(node)
        self.cache = Cache()
        self._tokens = tokens
        self._sessions: Sessions | None = None

    @property
    def is_dev(self) -> bool:
        """Whether the chain is a development chain that this page may control."""
        return self.watch.state.is_dev

    def _version(self, block: int) -> tuple[int, bool]:
        """Return what a page's content depends on, besides the clock."""
        return block, self.is_dev

    async def _renew(self, block: int) -> None:
        await self.cache.renew(self._version(block))

    async def sessions(self) -> Sessions:
        """Return the reader and maker of sessions. Raise LedgerError while the books cannot be read."""
        if self._sessions is None:
            key = await self.books.run(lambda: service_key(self.books.database))
            self._sessions = Sessions(key, self._tokens)
        return self._sessions

    async def respond(
        self,
        request: Request,
        session: DashboardSession,
        title: str,
        make: Callable[[], Awaitable[str]],
        *,
        name: str | None = None,
        is_live: bool = True,
        status: int = 200,
    ) -> Response:
        """Return a page. Its content is kept for others under `name`, until the next block."""
        if name is None:
            content = await make()
        else:
            content = await self.cache.get(name, self._version(self.pulse.block), make)
        cookie = request.cookies.get(MESSAGE_COOKIE)
        message = (await self.sessions()).read_message(cookie) if cookie else None
        answer = self.views.page(
            request,
            title,
            content,
            session,
            status=status,
            is_dev=self.is_dev,
            is_live=is_live,
            block=self.pulse.block,
            chain_time=self._chain_time(),
            message=message,
        )
        if cookie:
            answer.delete_cookie(MESSAGE_COOKIE, "/web")
        return answer

    def _chain_time(self) -> str:
        """Return the time of a development chain, and how far it is behind the clock.

        Empty for a chain in step.
        """
        moment = self.watch.state.time
        behind = "" if moment is None else behind_text(moment, time.time_ns() // 1_000_000)
        return f"chain time {time_text(moment)} UTC, {behind}" if moment is not None and behind else ""

    def part(self, template: str, **values: Any) -> str:
        """Return the content of a page, from its template."""
        return self.views.part(template, is_dev=self.is_dev, node=self.watch.state, **values)
