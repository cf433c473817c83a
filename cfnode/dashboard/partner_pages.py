"""Pages of partners: the list, one partner with the use of its key, and the forms that change them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from cfnode.core import ss58
from cfnode.core.assets import ASSETS, asset_in_text, units
from cfnode.core.foreign import ForeignError
from cfnode.dashboard.amounts import smallest_units
from cfnode.dashboard.books import PartnerUse
from cfnode.dashboard.forms import next_page, own_form, secret_page
from cfnode.dashboard.page_context import PageContext
from cfnode.dashboard.pages import Page
from cfnode.dashboard.sessions import DashboardSession
from cfnode.ledger.errors import DatabaseError, LedgerError
from cfnode.ledger.partners import registry
from cfnode.ledger.partners.registry import Partner
from cfnode.ledger.partners.usage import usage_of

__all__ = ["PARTNER_FORMS", "PARTNER_PAGES", "TermsForm"]

USAGE_DAYS: Final = 14
MAX_TERM_FIELD_CHARS: Final = 300
BUDGET_DECIMALS: Final = ASSETS["Flip"].decimals
Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TermsForm:
    """Form of a partner's terms: texts and faults by field, and the terms that the texts are."""

    texts: Texts
    faults: Texts
    terms: Mapping[str, Any]

    @classmethod
    def empty(cls) -> TermsForm:
        """Return the form for a new partner."""
        texts = dict.fromkeys(_READERS, "") | {"name": "", "commission": "0", "rate": "60"}
        return cls(texts, {}, {})

    @classmethod
    def of(cls, partner: Partner) -> TermsForm:
        """Return the form with the terms of a partner."""
        texts = {
            "commission": str(partner.commission_bps),
            "affiliate": partner.affiliate or "",
            "affiliate_commission": str(partner.affiliate_bps or ""),
            "assets": ", ".join(sorted(partner.assets or ())),
            "rate": str(partner.rate),
            "budget": "" if partner.budget is None else units(partner.budget, BUDGET_DECIMALS),
        }
        return cls(texts, {}, {})

    @classmethod
    def read(cls, fields: Texts) -> TermsForm:
        """Return the form of posted fields."""
        names = ("name", *_READERS)
        texts = {name: fields.get(name, "").strip()[:MAX_TERM_FIELD_CHARS] for name in names}
        faults: dict[str, str] = {}
        terms: dict[str, Any] = {}
        for name, (term, read) in _READERS.items():
            try:
                terms[term] = read(texts[name])
            except ValueError as error:
                faults[name] = str(error)
        return cls(texts, faults, terms)

    def with_fault(self, fault: str, field: str) -> TermsForm:
        """Return the form with the fault of all terms together, at a field."""
        return TermsForm(self.texts, {**self.faults, field: fault}, self.terms)


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValueError("Write a whole number.")
    return int(text)


def _affiliate(text: str) -> str | None:
    try:
        return ss58.encode(ss58.decode(text)[1]) if text else None
    except ValueError:
        raise ValueError("Write an account of the State Chain (cF…).") from None


def _assets(text: str) -> frozenset[str] | None:
    names = [name.strip() for name in text.split(",") if name.strip()]
    try:
        return (
            frozenset(ASSETS[name].name if name in ASSETS else asset_in_text(name).name for name in names)
            or None
        )
    except (ForeignError, KeyError, ValueError):
        raise ValueError(f"Write assets with commas: {', '.join(ASSETS)}.") from None


def _budget(text: str) -> int | None:
    return smallest_units(text, BUDGET_DECIMALS) if text else None


_READERS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "commission": ("commission_bps", _whole),
    "affiliate": ("affiliate", _affiliate),
    "affiliate_commission": ("affiliate_bps", lambda text: _whole(text or "0")),
    "assets": ("assets", _assets),
    "rate": ("rate", _whole),
    "budget": ("budget", _budget),
}
"""The term of each field, and its reader."""


async def partners(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of all partners, with a form for another one."""
    return await _list(context, request, session, TermsForm.empty())


async def _list(
    context: PageContext, request: Request, session: DashboardSession, form: TermsForm
) -> Response:
    async def make() -> str:
        view = await context.books.partners()
        parts = {"texts": form.texts, "faults": form.faults, "csrf": session.csrf}
        return context.part("partners.html", view=view, **parts)

    status = 400 if form.faults else 200
    return await context.respond(request, session, "Partners", make, status=status, is_live=not form.faults)


async def partner(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Return the page of one partner: its terms, the use of its budget, and its requests by day."""
    use = await _required(context, request)
    return await _one(context, request, session, use, TermsForm.of(use.partner))


async def _one(
    context: PageContext, request: Request, session: DashboardSession, use: PartnerUse, form: TermsForm
) -> Response:
    today = int(time.time()) // 86_400

    async def make() -> str:
        read = partial(usage_of, partner=use.partner.name, days=USAGE_DAYS, today=today)
        parts = {"texts": form.texts, "faults": form.faults, "csrf": session.csrf, "days": USAGE_DAYS}
        return context.part("partner.html", use=use, usage=await context.books.read(read), **parts)

    title, status = f"Partner {use.partner.name}", 400 if form.faults else 200
    return await context.respond(request, session, title, make, status=status, is_live=not form.faults)


async def _required(context: PageContext, request: Request) -> PartnerUse:
    """Return the partner of a path. Raise HTTPException, DatabaseError."""
    name = request.path_params["name"]
    try:
        return await context.books.partner(name)
    except DatabaseError:
        raise
    except LedgerError:
        raise HTTPException(404, "There is no such partner.") from None


async def add(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Add a partner, and return the page with its key; or the form again with its faults."""
    form = TermsForm.read(await own_form(request, session))
    if form.faults:
        return await _list(context, request, session, form)
    terms, name = form.terms, form.texts["name"]
    try:
        new = Partner(name=name, **terms)
        key = await context.books.run(lambda: registry.add(context.books.database, new))
    except DatabaseError:
        raise
    except (ValueError, LedgerError) as error:
        return await _list(context, request, session, form.with_fault(f"Refused: {error}.", "name"))
    return await secret_page(context, request, session, name, key, f"partners/{name}")


async def change(context: PageContext, request: Request, session: DashboardSession) -> Response:
    """Do what a form of a partner requests."""
    fields = await own_form(request, session)
    use, action = await _required(context, request), request.path_params["action"]
    database, name, run = context.books.database, use.partner.name, context.books.run
    page = f"partners/{name}"
    try:
        if action == "change":
            form = TermsForm.read(fields)
            if not form.faults:
                try:
                    await run(lambda: registry.change(database, name, **form.terms))
                except ValueError as error:
                    form = form.with_fault(f"Refused: {error}.", "commission")
            if form.faults:
                return await _one(context, request, session, use, form)
            return await next_page(context, request, page, "The terms are changed.")
        if action == "rotate":
            keeps_old = fields.get("old") != "end"
            key = await run(lambda: registry.rotate(database, name, keeps_old=keeps_old))
            return await secret_page(context, request, session, name, key, page)
        if action == "revoke":
            await run(lambda: registry.revoke(database, name))
            return await next_page(context, request, page, "The key is revoked.")
        if action == "remove":
            kept = await run(lambda: registry.remove(database, name))
            return await next_page(
                context, request, "partners", f"The name is free. The channels stay: {kept}."
            )
    except DatabaseError:
        raise
    except LedgerError as error:
        return await next_page(context, request, page, str(error), is_error=True)
    raise HTTPException(404, "There is no such action.")


PARTNER_PAGES: Final[dict[str, Page]] = {"/partners": partners, "/partners/{name}": partner}
PARTNER_FORMS: Final[dict[str, Page]] = {"/partners": add, "/partners/{name}/{action}": change}
