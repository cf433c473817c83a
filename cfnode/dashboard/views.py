"""HTML of the pages: content from a template, escaped, in the frame that all pages share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.dashboard.formats import FILTERS
from cfnode.dashboard.sessions import DashboardSession
from cfnode.swaps.fate import Fate

__all__ = ["FATES", "PAGE_PATH_PREFIX", "STATES", "Views"]

PAGE_PATH_PREFIX: Final = "/web"
HERE: Final = Path(__file__).parent
THEMES: Final = ("auto", "light", "dark")
PAGES: Final = (
    ("", "Now"),
    ("swaps", "Swaps"),
    ("figures", "Volumes"),
    ("channels", "Channels"),
    ("payouts", "Payouts"),
    ("partners", "Partners"),
    ("webhooks", "Webhooks"),
    ("statements", "Statements"),
    ("health", "Health"),
)
DEV_PAGES: Final = (("dev", "Controls"), ("blocks", "Blocks"))
STATES: Final[Mapping[str, tuple[str, str, int]]] = {
    "boosted": ("Boosted, swapping", "busy", 1),
    "swapping": ("Swapping", "busy", 1),
    "scheduled": ("Payout scheduled", "busy", 2),
    "signing": ("Payout being signed", "busy", 2),
    "sent": ("Payout sent", "busy", 2),
    "paid": ("Paid out", "good", 4),
    "refunded": ("Refunded", "back", 4),
    "partly_refunded": ("Partly refunded", "back", 4),
    "credited": ("Credited on the State Chain", "good", 4),
    "done": ("Done", "good", 4),
    "failed": ("Payout failed", "bad", 2),
    "aborted": ("Payout aborted", "bad", 2),
    "invalid": ("Message cannot be sent", "bad", 2),
    "ignored": ("Too small to pay out", "bad", 2),
    "expired": ("Payout failed, its call has expired", "bad", 2),
}
"""States of a swap: words, kind, and how many of the steps deposit, swap, payout and end are done."""

FATES: Final = {
    Fate.PAID: ("Paid", "good"),
    Fate.ON_ITS_WAY: ("On its way", "busy"),
    Fate.CALL_ON_OFFER: ("Call is ready", "good"),
    Fate.BATCH_ON_OFFER: ("Batch is ready", "good"),
    Fate.UNSIGNED: ("Call is being signed", "busy"),
    Fate.EXPIRED: ("Call expired", "muted"),
    Fate.WITHOUT_CALL: ("No call", "muted"),
    Fate.UNKNOWN: ("Unknown", "muted"),
}
"""Fates of a payout: words and kind."""


class Views:
    """Templates of the pages."""

    def __init__(self) -> None:
        self._environment = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters.update(FILTERS)
        self._environment.globals.update(PREFIX=PAGE_PATH_PREFIX, STATES=STATES, ASSETS=ASSETS, CHAINS=CHAINS)

    def part(self, template: str, **values: Any) -> str:
        """Return the content of a page."""
        return self._environment.get_template(template).render(**values)

    def page(
        self,
        request: Request,
        title: str,
        content: str,
        session: DashboardSession | None,
        *,
        status: int = 200,
        is_dev: bool = False,
        is_live: bool = False,
        block: int = 0,
        chain_time: str = "",
        message: tuple[str, bool] | None = None,
    ) -> HTMLResponse:
        """Return a whole page around its content."""
        section = request.url.path.removeprefix(PAGE_PATH_PREFIX).strip("/").partition("/")[0]
        text = self._environment.get_template("frame.html").render(
            title=title,
            content=Markup(content),
            session=session,
            pages=PAGES,
            dev_pages=DEV_PAGES if is_dev else (),
            here=section,
            path=request.url.path,
            theme=theme_of(request),
            themes=THEMES,
            is_live=is_live,
            block=block,
            chain_time=chain_time,
            message=message,
        )
        return HTMLResponse(text, status, {"cache-control": "no-store"})


def theme_of(request: Request) -> str:
    """Return the chosen theme; the browser's own unless one was chosen."""
    chosen = request.cookies.get("cfnode_theme", "")
    return chosen if chosen in THEMES else "auto"
