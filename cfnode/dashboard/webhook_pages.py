"""Pages of webhooks: the receivers, the deliveries of one, and one delivery; with their forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from cfnode.core import ss58
from cfnode.dashboard.forms import next_page, own_form, secret_page
from cfnode.dashboard.page_context import PageContext
from cfnode.dashboard.pages import Page
from cfnode.dashboard.sessions import DashboardSession
from cfnode.ledger.database import Database
from cfnode.ledger.errors import DatabaseError, LedgerError
from cfnode.ledger.webhooks import registry
from cfnode.ledger.webhooks.history import DELIVERY_STATES, delivery_lines, delivery_of
from cfnode.ledger.webhooks.registry import Chosen, Webhook

__all__ = ["WEBHOOK_FORMS", "WEBHOOK_PAGES"]

LINES_PER_PAGE: Final = 50
"""Number of deliveries of one page."""
MAX_FIELD_CHARS: Final = 2_000
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
Fields = dict[str, str]


async def webhooks(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of all receivers, with a form for another one."""
    return await _list(context, request, session, {"url": "", "account": ""}, {})


async def _list(
    context: PageContext,
    request: Request,
    session: DashboardSession,
    texts: Fields,
    faults: Fields,
    status: int = 200,
) -> Response:
    async def make() -> str:
        view = await context.books.run(lambda: registry.listed(context.books.database))
        return context.part("webhooks.html", view=view, csrf=session.csrf, texts=texts, faults=faults)

    return await context.respond(request, session, "Webhooks", make, status=status, is_live=not faults)


async def webhook(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of one receiver: its state, and its deliveries, the newest first."""
    hook = await _required(context, request)
    state, before = request.query_params.get("state", ""), request.query_params.get("before")
    if state not in ("", *DELIVERY_STATES) or (before is not None and not _NUMBER.fullmatch(before)):
        raise HTTPException(404, "There is no such page.")

    async def make() -> str:
        lines = await context.books.read(
            partial(
                delivery_lines,
                webhook=hook.id,
                state=state or None,
                before=None if before is None else int(before),
                limit=LINES_PER_PAGE + 1,
            )
        )
        view = lines[:LINES_PER_PAGE]
        following = view[-1].change if len(lines) > LINES_PER_PAGE else None
        parts = {"state": state, "states": DELIVERY_STATES, "following": following}
        return context.part(
            "webhook.html", hook=hook, view=view, csrf=session.csrf, is_first=before is None, **parts
        )

    return await context.respond(request, session, f"Webhook {hook.id}", make, is_live=before is None)


async def delivery(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of one delivery: the request, and each attempt with its answer and time."""
    webhook_id, number = request.path_params["id"], request.path_params["change"]
    detail = None
    if _NUMBER.fullmatch(number):
        read = partial(delivery_of, webhook=webhook_id, change=int(number))
        detail = await context.books.read(read)
    if detail is None:
        raise HTTPException(404, "The books have no such delivery.")

    async def make() -> str:
        return context.part("delivery.html", view=detail, csrf=session.csrf)

    return await context.respond(request, session, f"Delivery {detail.line.id}", make)


async def _required(context: PageContext, request: Request) -> Webhook:
    """Return the receiver of a path. Raise HTTPException, DatabaseError."""
    name = request.path_params["id"]
    try:
        return await context.books.run(lambda: registry.require(context.books.database, name))
    except DatabaseError:
        raise
    except LedgerError:
        raise HTTPException(404, "There is no such webhook.") from None


# Forms


async def add(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Add a receiver, and return the page with its secret; or the form again with its faults."""
    fields = await own_form(request, session)
    texts = {name: fields.get(name, "").strip()[:MAX_FIELD_CHARS] for name in ("url", "account")}
    faults: Fields = {}
    account = _account(texts["account"], faults)
    try:
        registry.checked_url(texts["url"])
    except ValueError as error:
        faults["url"] = f"Refused: {error}."
    if faults:
        return await _list(context, request, session, texts, faults, 400)
    create = partial(registry.add, context.books.database, texts["url"], account)
    number, secret = await context.books.run(create)
    return await secret_page(context, request, session, number, secret, f"webhooks/{number}")


def _account(text: str, faults: Fields) -> str | None:
    try:
        return ss58.encode(ss58.decode(text)[1]) if text else None
    except ValueError:
        faults["account"] = "Write an account of the State Chain (cF…)."
        return None


async def change(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Do what a form of a receiver requests."""
    fields = await own_form(request, session)
    hook, action = await _required(context, request), request.path_params["action"]
    database, page = context.books.database, f"webhooks/{hook.id}"
    if action == "rotate":
        rotate = partial(registry.rotate, database, hook.id, keeps_old=fields.get("old") != "end")
        secret = await context.books.run(rotate)
        return await secret_page(context, request, session, hook.id, secret, page)
    if action == "replay" and _NUMBER.fullmatch(number := fields.get("change", "")):
        again = partial(registry.replay, database, hook.id, Chosen(change=int(number)))
        count = await context.books.run(again)
        text = "It is sent again." if count else "There is no such change."
        return await next_page(context, request, f"{page}/{number}", text, is_error=not count)
    if action not in _ACTIONS:
        raise HTTPException(404, "There is no such action.")
    text = await context.books.run(partial(_ACTIONS[action], database, hook.id))
    return await next_page(context, request, "webhooks" if action == "remove" else page, text)


def _test(database: Database, webhook_id: str) -> str:
    return f"Delivery {registry.send_test(database, webhook_id)} is a test. The ledger sends it."


def _enable(database: Database, webhook_id: str) -> str:
    registry.enable(database, webhook_id)
    return "The webhook is switched on."


def _disable(database: Database, webhook_id: str) -> str:
    registry.disable(database, webhook_id)
    return "The webhook is switched off: its deliveries wait."


def _remove(database: Database, webhook_id: str) -> str:
    registry.remove(database, webhook_id)
    return f"Webhook {webhook_id} is removed."


def _replay(database: Database, webhook_id: str) -> str:
    count = registry.replay(database, webhook_id, Chosen())
    return f"{count} expired {'delivery is' if count == 1 else 'deliveries are'} sent again."


_ACTIONS: Final[dict[str, Callable[[Database, str], Any]]] = {
    "test": _test,
    "enable": _enable,
    "disable": _disable,
    "remove": _remove,
    "replay": _replay,
}
WEBHOOK_PAGES: Final[dict[str, Page]] = {
    "/webhooks": webhooks,
    "/webhooks/{id}": webhook,
    "/webhooks/{id}/{change}": delivery,
}
WEBHOOK_FORMS: Final[dict[str, Page]] = {"/webhooks": add, "/webhooks/{id}/{action}": change}
