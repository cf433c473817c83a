"""Pages that find swaps: the search, the list with its filter, one swap, and one channel."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from cfnode.dashboard.desk import Desk
from cfnode.dashboard.filters import FilterForm
from cfnode.dashboard.pages import Page, before_of, recover_command
from cfnode.dashboard.sessions import Session
from cfnode.dashboard.views import FATES, PREFIX
from cfnode.ledger.channel_detail import channel_detail
from cfnode.ledger.find import MAX_TERM_CHARACTERS, Found, find
from cfnode.ledger.partners.registry import listed
from cfnode.ledger.swap_detail import swap_detail
from cfnode.ledger.swap_list import SwapFilter, SwapPage, swap_page
from cfnode.swaps.fate import EXPLANATIONS
from cfnode.swaps.identity import ChannelId, UnknownChain
from cfnode.swaps.journey import REQUEST_STATES

__all__ = ["SWAP_PAGES"]

LINES: Final = 50
"""Number of swaps of one page."""
MAX_PARTNERS: Final = 500
"""Maximum partners that the filter offers."""
_NUMBER: Final = re.compile(r"[0-9]{1,18}")


async def search(desk: Desk, request: Request, session: Session) -> Response:
    """Lead to the one swap or channel that a term names, or return the page of all matches."""
    given = request.query_params.get("term", "")
    found = await desk.books.read(partial(find, term=given))
    path = _only(found)
    if path is not None:
        return RedirectResponse(f"{PREFIX}/{path}", 303)

    async def make() -> str:
        return desk.part("found.html", view=found, term=given.strip()[:MAX_TERM_CHARACTERS])

    return await desk.respond(request, session, "Search", make, is_live=False)


def _only(found: Found) -> str | None:
    """Return the path of the only match; None without one, or with several."""
    if found.count != 1:
        return None
    if found.swaps:
        return f"swaps/{found.swaps[0].request}"
    if found.channels:
        return f"channels/{found.channels[0].id}"
    return None if found.account is None else f"swaps?account={found.account}"


async def swaps(desk: Desk, request: Request, session: Session) -> Response:
    """Return the page of swaps that the filter takes, the newest first."""
    form, before = FilterForm.read(request.query_params), before_of(request)

    async def make() -> str:
        names = [each.name for each in await desk.books.run(lambda: listed(desk.books.database))]
        look = partial(swap_page, swap_filter=form.wanted, limit=LINES, before=before)
        view = SwapPage([]) if form.faults else await desk.books.read(look)
        following = None if view.following is None else "{}-{}".format(*view.following)
        parts = {"view": view, "following": following, "is_first": before is None}
        return desk.part(
            "swaps.html", form=form, partners=names[:MAX_PARTNERS], states=REQUEST_STATES, **parts
        )

    name = "swaps" if form.is_plain and before is None else None
    return await desk.respond(request, session, "Swaps", make, name=name, is_live=before is None)


async def swap(desk: Desk, request: Request, session: Session) -> Response:
    """Return the page of one swap: its journey, chunks, fees, payouts and webhooks."""
    text = request.path_params["number"]
    found = None
    if _NUMBER.fullmatch(text):
        found = await desk.books.read(partial(swap_detail, number=int(text)))
    if found is None:
        raise HTTPException(404, "The books have no such swap.")

    async def make() -> str:
        failed = [(each, recover_command(desk, each)) for each in found.failed]
        return desk.part("swap.html", view=found, failed=failed, words=FATES, explained=EXPLANATIONS)

    return await desk.respond(request, session, f"Swap {found.swap.request}", make)


async def channel(desk: Desk, request: Request, session: Session) -> Response:
    """Return the page of one channel, open or past, with its deposits and swaps."""
    identity, before = _identity(request.path_params["id"]), before_of(request)
    found = None if identity is None else await desk.books.read(partial(channel_detail, channel=identity))
    if found is None:
        raise HTTPException(404, "The books have no such channel.")
    look = partial(swap_page, swap_filter=SwapFilter(channel=identity), limit=LINES, before=before)
    page = await desk.books.read(look)

    async def make() -> str:
        following = None if page.following is None else "{}-{}".format(*page.following)
        parts = {"swaps": page.swaps, "following": following, "is_first": before is None}
        return desk.part("channel.html", view=found, **parts)

    return await desk.respond(request, session, f"Channel {found.line.id}", make)


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
