"""Pages that find swaps: the search, the list with its filter, one swap, and one channel."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from cfnode.dashboard.filters import FilterForm
from cfnode.dashboard.page_context import PageContext
from cfnode.dashboard.pages import Page, before_of, recover_command
from cfnode.dashboard.sessions import DashboardSession
from cfnode.dashboard.views import FATES, PAGE_PATH_PREFIX
from cfnode.ledger.channel_detail import channel_detail
from cfnode.ledger.partners.registry import listed
from cfnode.ledger.search import MAX_TERM_CHARACTERS, SearchResult, search_books
from cfnode.ledger.swap_detail import swap_detail
from cfnode.ledger.swap_list import SwapFilter, SwapPage, swap_page
from cfnode.swaps.fate import EXPLANATIONS
from cfnode.swaps.identity import ChannelId, UnknownChain
from cfnode.swaps.journey import REQUEST_STATES

__all__ = ["SWAP_PAGES"]

LINES_PER_PAGE: Final = 50
"""Number of swaps of one page."""
MAX_PARTNER_CHOICES: Final = 500
"""Maximum partners that the filter offers."""
_NUMBER: Final = re.compile(r"[0-9]{1,18}")


async def search(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Lead to the one swap or channel that a term names, or return the page of all matches."""
    term = request.query_params.get("term", "")
    matches = await context.books.read(partial(search_books, term=term))
    path = _only(matches)
    if path is not None:
        return RedirectResponse(f"{PAGE_PATH_PREFIX}/{path}", 303)

    async def make() -> str:
        return context.part("found.html", view=matches, term=term.strip()[:MAX_TERM_CHARACTERS])

    return await context.respond(request, session, "Search", make, is_live=False)


def _only(matches: SearchResult) -> str | None:
    """Return the path of the only match; None without one, or with several."""
    if matches.count != 1:
        return None
    if matches.swaps:
        return f"swaps/{matches.swaps[0].request}"
    if matches.channels:
        return f"channels/{matches.channels[0].id}"
    return None if matches.account is None else f"swaps?account={matches.account}"


async def swaps(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of swaps that the filter takes, the newest first."""
    form, before = FilterForm.read(request.query_params), before_of(request)

    async def make() -> str:
        names = [partner.name for partner in await context.books.run(lambda: listed(context.books.database))]
        read_page = partial(swap_page, swap_filter=form.wanted, limit=LINES_PER_PAGE, before=before)
        view = SwapPage([]) if form.faults else await context.books.read(read_page)
        next_before = None if view.following is None else "{}-{}".format(*view.following)
        parts = {"view": view, "following": next_before, "is_first": before is None}
        return context.part(
            "swaps.html", form=form, partners=names[:MAX_PARTNER_CHOICES], states=REQUEST_STATES, **parts
        )

    name = "swaps" if form.is_plain and before is None else None
    return await context.respond(request, session, "Swaps", make, name=name, is_live=before is None)


async def swap(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of one swap: its journey, chunks, fees, payouts and webhooks."""
    text = request.path_params["number"]
    detail = None
    if _NUMBER.fullmatch(text):
        detail = await context.books.read(partial(swap_detail, number=int(text)))
    if detail is None:
        raise HTTPException(404, "The books have no such swap.")

    async def make() -> str:
        failed = [(payout, recover_command(context, payout)) for payout in detail.failed]
        return context.part("swap.html", view=detail, failed=failed, words=FATES, explained=EXPLANATIONS)

    return await context.respond(request, session, f"Swap {detail.swap.request}", make)


async def channel(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of one channel, open or past, with its deposits and swaps."""
    identity, before = _identity(request.path_params["id"]), before_of(request)
    detail = None if identity is None else await context.books.read(partial(channel_detail, channel=identity))
    if detail is None:
        raise HTTPException(404, "The books have no such channel.")
    own_swaps = SwapFilter(channel=identity)
    read_page = partial(swap_page, swap_filter=own_swaps, limit=LINES_PER_PAGE, before=before)
    page = await context.books.read(read_page)

    async def make() -> str:
        next_before = None if page.following is None else "{}-{}".format(*page.following)
        parts = {"swaps": page.swaps, "following": next_before, "is_first": before is None}
        return context.part("channel.html", view=detail, **parts)

    return await context.respond(request, session, f"Channel {detail.line.id}", make)


def _identity(text: str) -> ChannelId | None:
    try:
        return ChannelId.parse(text)
    except UnknownChain:
        return None


SWAP_PAGES: Final[dict[str, Page]] = {
    "/find": search,
    "/swaps": swaps,
    "/swaps/{number}": swap,
    "/channels/{id}": channel,
}
