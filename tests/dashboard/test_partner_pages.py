"""Partners on the page: each form does what it says, keeps what was typed, and shows a key once."""

from __future__ import annotations

import re
import time
from html import unescape
from typing import Any

import pytest

from cfnode.dashboard.partner_pages import TermsForm
from cfnode.ledger.database import Database
from cfnode.ledger.partners import registry
from cfnode.ledger.partners.access import authorize
from cfnode.ledger.partners.registry import Partner
from cfnode.ledger.partners.usage import UsageCounter
from tests.dashboard.visiting import Visitor, visitor
from tests.ledger.contents import rows
from tests.support.dashboard.pages import HOSTILE, plain, text_of

KEY = re.compile(r"cfp_[0-9a-f]{12}_[A-Za-z0-9_-]{43}")
TERMS = {"commission": "15", "affiliate": "", "affiliate_commission": "", "assets": "Eth, btc", "rate": "60",
         "budget": "2.5"}  # fmt: skip


async def send(guest: Visitor, path: str, **fields: str) -> Any:
    """Send a form of the page of partners, and return the answer."""
    return await guest.post(path, {"csrf": await guest.csrf_of("/partners"), **fields})


async def test_a_partner_from_its_key_to_its_removal(empty: Database) -> None:
    """By the page alone."""
    with visitor(empty) as (_, guest):
        await guest.log_in()
        answer = await send(guest, "/partners", name="wallet", **TERMS)
        (key,) = KEY.findall(answer.text)
        partner = authorize(empty, key)
        assert isinstance(partner, Partner)
        assert (partner.commission_bps, partner.assets, partner.budget) == (
            15, frozenset({"Eth", "Btc"}), 2_500_000_000_000_000_000,
        )  # fmt: skip
        counter = UsageCounter()
        counter.note("wallet", "ok")
        counter.note("wallet", "rate_limited")
        counter.write(empty)
        text = await text_of(guest, "/partners/wallet")
        for words in (
            "Active",
            "rate_limited 1",
            time.strftime("%Y-%m-%d", time.gmtime()),
            "0 % for 0 channels",
        ):
            assert words in text, words
        assert not KEY.search((await guest.get("/partners/wallet")).text)
        changed = await send(guest, "/partners/wallet/change", **(TERMS | {"rate": "7", "budget": ""}))
        assert changed.status_code == 303
        assert "The terms are changed." in await text_of(guest, "/partners/wallet")
        partner = registry.require(empty, "wallet")
        assert (partner.rate, partner.budget) == (7, None)
        (second,) = KEY.findall((await send(guest, "/partners/wallet/rotate")).text)
        assert isinstance(authorize(empty, key), Partner)
        assert isinstance(authorize(empty, second), Partner)
        (third,) = KEY.findall((await send(guest, "/partners/wallet/rotate", old="end")).text)
        assert not isinstance(authorize(empty, second), Partner)
        await send(guest, "/partners/wallet/revoke")
        assert not isinstance(authorize(empty, third), Partner)
        assert "Revoked" in await text_of(guest, "/partners/wallet")
        assert "is revoked" in unescape(
            plain(
                (await guest.get((await send(guest, "/partners/wallet/rotate")).headers["location"][4:])).text
            )
        )
        removed = await send(guest, "/partners/wallet/remove")
        assert removed.headers["location"] == "/web/partners"
        kept = rows(empty, "partners")[0]["name"]
        assert kept in await text_of(guest, "/partners")
        assert 'action="/web/partners/' not in (await guest.get(f"/partners/{kept}")).text
        assert KEY.search((await send(guest, "/partners", name="wallet", **TERMS)).text)


async def test_forms_keep_what_was_typed(empty: Database) -> None:
    """Each fault is at its field."""
    registry.add(empty, Partner("wallet", 15))
    before = rows(empty, "partners")
    hostile = dict.fromkeys(TERMS, HOSTILE)
    with visitor(empty) as (_, guest):
        await guest.log_in()
        for path, fields, faults in (
            ("/partners", {"name": "new", **hostile}, 6),
            ("/partners", {"name": HOSTILE, **TERMS}, 1),
            ("/partners", {"name": "wallet", **TERMS}, 1),
            ("/partners/wallet/change", hostile, 6),
            ("/partners/wallet/change", TERMS | {"commission": "99999"}, 1),
        ):
            answer = await send(guest, path, **fields)
            assert answer.status_code == 400, path
            assert answer.text.count('aria-invalid="true"') == faults, (path, plain(answer.text))
            assert "<script>alert" not in answer.text
            for text in fields.values():
                assert f'value="{text}"' in unescape(answer.text) or not text
    assert rows(empty, "partners") == before


@pytest.mark.parametrize("action", ["change", "rotate", "revoke", "remove"])
async def test_a_form_of_another_site_or_session_is_refused(empty: Database, action: str) -> None:
    """Nothing has changed after it."""
    registry.add(empty, Partner("wallet", 15))
    before = rows(empty, "partners")
    path = f"/partners/wallet/{action}"
    with visitor(empty) as (_, guest):
        assert (await guest.post(path, TERMS)).headers["location"] == "/web/login"
        await guest.log_in()
        csrf = await guest.csrf_of("/partners")
        for fields, headers in (
            ({}, {}),
            ({"csrf": "0" * 64}, {}),
            ({"csrf": csrf}, {"origin": "https://elsewhere.example"}),
            ({"csrf": csrf}, {"sec_fetch_site": "cross-site"}),
        ):
            assert (await guest.post(path, TERMS | fields, **headers)).status_code == 403, fields
            refused = await guest.post("/partners", TERMS | {"name": "x"} | fields, **headers)
            assert refused.status_code == 403
        assert (await guest.post("/partners/wallet/x", {"csrf": csrf})).status_code == 404
        assert (await guest.post("/partners/x/revoke", {"csrf": csrf})).status_code == 404
        assert (await guest.get("/partners/x")).status_code == 404
    assert rows(empty, "partners") == before


def test_the_form_of_a_partner_is_read_back_into_its_terms() -> None:
    """Whatever the terms are."""
    account = "cFMTNSQQVfBo2HqtekvhLPfZY764kuJDVFG1EvnnDGYxc3LRW"
    for partner in (
        Partner("a", 0),
        Partner("b", 15, account, frozenset({"Eth", "ArbUsdc"}), 7, 1, affiliate_bps=3),
        Partner("c", 1, budget=5 * 10**18),
    ):
        form = TermsForm.read(TermsForm.of(partner).texts)
        assert form.faults == {}
        assert Partner(partner.name, **form.terms) == partner
