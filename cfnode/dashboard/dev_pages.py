"""Pages of a development chain alone: its controls, and its blocks."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from cfnode.core.refusals import read_refusal, refusal_text
from cfnode.core.safe_text import printable
from cfnode.dashboard.development import ACTIONS, BadField, perform
from cfnode.dashboard.forms import next_page, own_form
from cfnode.dashboard.page_context import PageContext
from cfnode.dashboard.pages import Page
from cfnode.dashboard.sessions import DashboardSession
from cfnode.ledger.errors import CallError, LedgerError, NodeError
from cfnode.ledger.open_channels import open_channels

__all__ = ["DEV_PAGES", "act"]

T = TypeVar("T")
MAX_CHANNEL_CHOICES: Final = 30
"""Number of open channels that the form for a deposit proposes."""
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_KEY: Final = re.compile(r"[0-9]{1,9}|0x[0-9a-f]{64}")


def _require_dev(context: PageContext) -> None:
    if not context.is_dev:
        raise HTTPException(404, "There is no such page.")


async def controls(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page with forms for what a test does to the chain."""
    _require_dev(context)
    prefilled = {name: request.query_params.get(name, "")[:120] for name in ("address", "asset")}

    async def make() -> str:
        channels = await context.books.read(lambda connection: open_channels(connection, MAX_CHANNEL_CHOICES))
        return context.part("dev.html", csrf=session.csrf, channels=channels, asked=prefilled)

    return await context.respond(request, session, "Controls", make, is_live=False)


async def act(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Do what a form requests, and go back to the controls."""
    fields = await own_form(request, session)
    _require_dev(context)
    action = request.path_params["action"]
    if action not in ACTIONS:
        raise HTTPException(404, "There is no such action.")
    try:
        text, is_error = await perform(context.watch.node, action, fields), False
    except (BadField, LedgerError) as error:
        text, is_error = _words(error), True
    return await next_page(context, request, "dev", text, is_error=is_error)


def _words(error: Exception) -> str:
    """Return an error without the names of JSON-RPC, a refusal of the chain in words."""
    if not isinstance(error, CallError):
        return str(error)
    refusal = read_refusal(error.message)
    return printable(error.message if refusal is None else refusal_text(refusal))


async def blocks(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of the newest blocks."""
    _require_dev(context)
    text = request.query_params.get("before")
    if text is not None and not _NUMBER.fullmatch(text):
        raise HTTPException(404, "There is no such page.")

    async def make() -> str:
        lines = await _asked(context, lambda: context.explorer.lines(None if text is None else int(text)))
        next_before = lines[-1].number if lines and lines[-1].number > 0 else None
        return context.part("blocks.html", view=lines, following=next_before, is_first=text is None)

    return await context.respond(request, session, "Blocks", make)


async def block(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of one block."""
    _require_dev(context)
    key = request.path_params["key"]
    page = None
    if _KEY.fullmatch(key):
        page = await _asked(context, lambda: context.explorer.page(key))
    if page is None:
        raise HTTPException(404, "There is no such block.")

    async def make() -> str:
        return context.part("block.html", view=page)

    return await context.respond(request, session, f"Block {page.number}", make, is_live=False)


async def _asked(context: PageContext, ask: Callable[[], Awaitable[T]]) -> T:
    """Await a request to the node. Raise LedgerError, also for an answer without the expected members."""
    try:
        return await ask()
    except (TypeError, KeyError, ValueError, AttributeError, IndexError):
        raise NodeError(
            f"{context.watch.node.origin} sent a malformed answer; check that it is a node"
        ) from None


DEV_PAGES: Final[dict[str, Page]] = {"/dev": controls, "/blocks": blocks, "/blocks/{key}": block}
