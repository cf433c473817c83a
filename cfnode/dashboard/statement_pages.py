"""Pages of statements: the form with the periods of the books, and the download of a file."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import trio
from starlette.requests import Request
from starlette.responses import Response

from cfnode.core import ss58
from cfnode.dashboard.page_context import PageContext
from cfnode.dashboard.pages import Page
from cfnode.dashboard.sessions import DashboardSession
from cfnode.ledger.block_times import block_range, times_of
from cfnode.ledger.partners.registry import listed
from cfnode.ledger.statements import CalendarPeriod, LedgerStatement
from cfnode.ledger.statements.formats import FORMATS, StatementFormat, file_name
from cfnode.web.spool import send_spooled

__all__ = ["STATEMENT_PAGES"]

FIELDS: Final = ("period", "account", "partner", "format")
MAX_FIELD_CHARS: Final = 100
LISTED_MONTHS: Final = 12
LISTED_QUARTERS: Final = 4
LISTED_YEARS: Final = 2
MAX_PARTNER_CHOICES: Final = 500
Message = MutableMapping[str, Any]


@dataclass(frozen=True, slots=True)
class StatementForm:
    """Form of a download: texts and faults by field, and what the texts are."""

    texts: Mapping[str, str]
    faults: Mapping[str, str]
    values: Mapping[str, Any]

    @classmethod
    def read(cls, params: Mapping[str, str], partners: list[str], now: int) -> StatementForm:
        """Return the form of a request's parameters; `now` is Unix ms."""
        texts = {name: params.get(name, "").strip()[:MAX_FIELD_CHARS] for name in FIELDS}
        values: dict[str, Any] = {}
        faults: dict[str, str] = {}
        readers: dict[str, Callable[[str], Any]] = {
            "period": partial(_period, now=now),
            "account": _account,
            "partner": partial(_partner, partners=partners),
            "format": _format,
        }
        for name, read in readers.items():
            try:
                values[name] = read(texts[name])
            except ValueError as error:
                faults[name] = str(error)
        return cls(texts, faults, values)


def _period(text: str, now: int) -> CalendarPeriod:
    try:
        period = CalendarPeriod.parse(text)
    except ValueError:
        raise ValueError("Write a month, 2026-11, a quarter, 2026-Q4, a year, 2026, or a day.") from None
    try:
        period.require_begun(now)
    except ValueError as error:
        raise ValueError(f"{error}.") from None
    return period


def _account(text: str) -> str | None:
    try:
        return ss58.encode(ss58.decode(text)[1]) if text else None
    except ValueError:
        raise ValueError("Write an account of the State Chain (cF…).") from None


def _partner(text: str, partners: list[str]) -> str | None:
    if text and text not in partners:
        raise ValueError("Choose a partner of the list.")
    return text or None


def _format(text: str) -> StatementFormat:
    if text not in FORMATS:
        raise ValueError("Choose a format of the list.")
    return FORMATS[text]


async def statements(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the form, with the periods of the books."""
    form = StatementForm({"period": "", "account": "", "partner": "", "format": "xlsx"}, {}, {})
    return await _page(context, request, session, form)


async def download(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the file of a statement, or the form again with its faults."""
    partners = await _partners(context)
    form = StatementForm.read(request.query_params, partners, time.time_ns() // 1_000_000)
    if form.faults:
        return await _page(context, request, session, form, status=400)
    values = form.values
    statement = LedgerStatement(
        context.books.database, values["period"], account=values["account"], partner=values["partner"]
    )
    span = await context.books.read(_span)
    is_whole = span is not None and span[1] >= statement.period.end
    return StatementFile(statement, values["format"], context.books.downloads, is_whole=is_whole)


async def _page(
    context: PageContext, request: Request, session: DashboardSession, form: StatementForm, status: int = 200
) -> Response:
    async def make() -> str:
        span = await context.books.read(_span)
        periods = [] if span is None else list(_periods(*span))
        partners = await _partners(context)
        return context.part(
            "statements.html", form=form, periods=periods, partners=partners, formats=tuple(FORMATS.values())
        )

    return await context.respond(request, session, "Statements", make, is_live=False, status=status)


async def _partners(context: PageContext) -> list[str]:
    partners = await context.books.run(lambda: listed(context.books.database))
    return [partner.name for partner in partners[:MAX_PARTNER_CHOICES]]


def _span(connection: Any) -> tuple[int, int] | None:
    """Return the times of the first and the newest block; None for empty books."""
    books = block_range(connection)
    if books is None:
        return None
    times = times_of(connection, books)
    return times[books[0]], times[books[1]]


def _periods(first: int, last: int) -> Iterator[tuple[CalendarPeriod, bool]]:
    """Yield the newest months, quarters and years of the books, and whether each has ended in them."""
    newest = datetime.fromtimestamp(last / 1000, UTC)
    month, quarter = newest.year * 12 + newest.month - 1, newest.year * 4 + (newest.month - 1) // 3
    texts = [f"{number // 12}-{number % 12 + 1:02}" for number in range(month, month - LISTED_MONTHS, -1)]
    texts += [f"{number // 4}-Q{number % 4 + 1}" for number in range(quarter, quarter - LISTED_QUARTERS, -1)]
    texts += [str(number) for number in range(newest.year, newest.year - LISTED_YEARS, -1)]
    for text in texts:
        period = CalendarPeriod.parse(text)
        if period.end > first:
            yield period, period.end <= last


class StatementFile(Response):
    """Answer with the file of a statement, which is sent while it is written."""

    def __init__(
        self,
        statement: LedgerStatement,
        form: StatementFormat,
        downloads: trio.CapacityLimiter,
        *,
        is_whole: bool,
    ) -> None:
        name = file_name(statement, form, is_whole=is_whole)
        # nginx would hold the answer back.
        headers = {
            "content-disposition": f'attachment; filename="{name}"',
            "cache-control": "no-store, no-transform",
            "x-accel-buffering": "no",
        }
        super().__init__(None, 200, headers, form.content_type)
        self._write = partial(form.write, statement)
        self._downloads = downloads
        self.raw_headers = [header for header in self.raw_headers if header[0] != b"content-length"]

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Send the file. Raises LedgerError."""

        async def start() -> None:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

        async def send_piece(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        await send_spooled(self._write, start, send_piece, self._downloads)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


STATEMENT_PAGES: Final[dict[str, Page]] = {"/statements": statements, "/statements/file": download}
