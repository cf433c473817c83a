"""Pages of the books and of the node: the function that answers each path."""

from __future__ import annotations

import io
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import segno
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from cfnode.core.assets import CHAINS
from cfnode.dashboard.books import last_day
from cfnode.dashboard.figures import PERIODS_DAYS, figures
from cfnode.dashboard.page_context import PageContext
from cfnode.dashboard.sessions import DashboardSession
from cfnode.dashboard.views import FATES, PAGE_PATH_PREFIX
from cfnode.ledger.condition import condition
from cfnode.ledger.day_totals import counted_block, totals_of
from cfnode.ledger.open_channels import OpenChannel, channel_of, open_channels
from cfnode.ledger.recent_swaps import FailedPayoutLine, failed_payouts
from cfnode.ledger.unread import unread_kinds
from cfnode.swaps.fate import EXPLANATIONS
from cfnode.swaps.identity import ChannelId

__all__ = ["PAGES", "Page", "before_of", "recover_command"]

Page = Callable[[PageContext, Request, DashboardSession], Awaitable[Response]]
LINES_PER_PAGE: Final = 50
"""Number of channels, or payouts, of one page."""
USUAL_BLOCKS_BEHIND: Final = 50
"""Blocks (five minutes of them) that may wait to be counted without a note on the page."""
_PLACE: Final = re.compile(r"([0-9]{1,12})-([0-9]{1,9})")
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
TEST_NETS: Final = ("perseverance", "sisyphos", "backspin")
"""Networks that --network of `cfnode recover` knows, by the names of their chains."""


async def now(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of swaps that move, and of today's figures."""

    async def make() -> str:
        return context.part("now.html", view=await context.books.overview())

    return await context.respond(request, session, "Now", make, name="now")


async def volumes(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of charts and tables of a period of days."""
    chosen = request.query_params.get("days", str(PERIODS_DAYS[1]))
    if chosen not in map(str, PERIODS_DAYS):
        raise HTTPException(404, "There is no such period.")
    days = int(chosen)

    async def make() -> str:
        books = await context.books.read(condition)
        counted = await context.books.read(counted_block)
        span = range(last_day(books) - days + 1, last_day(books) + 1)
        totals = await context.books.read(partial(totals_of, first=span[0], last=span[-1]))
        earlier = await context.books.read(partial(totals_of, first=span[0] - days, last=span[0] - 1))
        behind = 0 if books is None else books.block - (counted or 0)
        behind = behind if behind > USUAL_BLOCKS_BEHIND else 0
        view = await context.books.run(partial(figures, totals, span, earlier))
        return context.part("figures.html", view=view, periods=PERIODS_DAYS, behind=behind)

    title = "Volumes and fees"
    return await context.respond(request, session, title, make, name=f"figures {days}", is_live=False)


async def channels(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of open channels, the newest first."""
    before = before_of(request)

    async def make() -> str:
        lines = await context.books.read(partial(open_channels, limit=LINES_PER_PAGE + 1, before=before))
        view, next_before = lines[:LINES_PER_PAGE], _following(lines)
        return context.part("channels.html", view=view, following=next_before, is_first=before is None)

    name = "channels" if before is None else None
    return await context.respond(request, session, "Open channels", make, name=name)


async def channel(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Lead to the page of an open channel by its number, which identifies it while it is open."""
    channel = await _channel(context, request)
    path = ChannelId(channel.chain, channel.channel, channel.block)
    return RedirectResponse(f"{PAGE_PATH_PREFIX}/channels/{path}", 303)


async def qr_code(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the QR code of a channel's address."""
    channel = await _channel(context, request)
    image = io.BytesIO()
    segno.make(channel.address, error="m", micro=False).save(
        image, kind="svg", scale=4, border=4, light="#fff", dark="#000", xmldecl=False
    )
    return Response(image.getvalue(), 200, {"cache-control": "private, max-age=600"}, "image/svg+xml")


async def _channel(context: PageContext, request: Request) -> OpenChannel:
    chain, number = request.path_params["chain"], request.path_params["number"]
    channel = None
    if chain in CHAINS and _NUMBER.fullmatch(number):
        channel = await context.books.read(partial(channel_of, chain=chain, number=int(number)))
    if channel is None:
        raise HTTPException(404, "There is no such open channel: it may have expired.")
    return channel


async def payouts(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of failed payouts, with the command that recovers each."""
    before = before_of(request)

    async def make() -> str:
        failed = await context.books.read(partial(failed_payouts, limit=LINES_PER_PAGE + 1, before=before))
        view = [(payout, recover_command(context, payout)) for payout in failed[:LINES_PER_PAGE]]
        parts = {"view": view, "words": FATES, "explained": EXPLANATIONS}
        return context.part("payouts.html", **parts, following=_following(failed), is_first=before is None)

    name = "payouts" if before is None else None
    return await context.respond(request, session, "Failed payouts", make, name=name)


def recover_command(context: PageContext, failed: FailedPayoutLine) -> str | None:
    """Return the command that finds the call of a failed payout; None where none does."""
    if not failed.fate.may_have_call:
        return None
    origin = context.watch.node.origin
    return f"cfnode recover {_network(context)}--node {origin} {failed.chain.lower()} {failed.call}"


def _network(context: PageContext) -> str:
    """Return the flag of the node's network; empty for the main net."""
    if context.is_dev:
        return "--network dev "
    name = context.watch.state.chain.removeprefix("Chainflip-").lower()
    return f"--network {name} " if name in TEST_NETS else ""


async def health(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of the node, and of the books against the chain."""

    async def make() -> str:
        books = await context.books.read(condition)
        unread = await context.books.run(partial(unread_kinds, context.books.database))
        origin, fault = context.watch.node.origin, context.pulse.fault
        return context.part(
            "health.html", view=books, unread=unread[:LINES_PER_PAGE], origin=origin, fault=fault
        )

    return await context.respond(request, session, "Health", make, name="health")


def before_of(request: Request) -> tuple[int, int] | None:
    """Return block and event of the last line of the previous page."""
    text = request.query_params.get("before")
    if text is None:
        return None
    match = _PLACE.fullmatch(text)
    if match is None:
        raise HTTPException(404, "There is no such page.")
    return int(match[1]), int(match[2])


def _following(lines: list[OpenChannel] | list[FailedPayoutLine]) -> str | None:
    """Return the place before which the next page begins; None for the last page."""
    if len(lines) <= LINES_PER_PAGE:
        return None
    last = lines[LINES_PER_PAGE - 1]
    return f"{last.block}-{last.event}"


PAGES: Final[dict[str, Page]] = {
    "/": now,
    "/figures": volumes,
    "/channels": channels,
    "/channels/{chain}/{number}": channel,
    "/channels/{chain}/{number}/code.svg": qr_code,
    "/payouts": payouts,
    "/health": health,
}
