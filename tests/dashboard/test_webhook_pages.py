"""Webhooks on the page: forms do what they say, for this page's own session; all that is on them is text."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from sqlalchemy import insert

from cfnode.ledger import schema
from cfnode.ledger.database import Database
from cfnode.ledger.service_tables import attempts, changes, deliveries
from cfnode.ledger.webhooks import registry
from tests.dashboard.visiting import Visitor, visitor
from tests.ledger.contents import rows
from tests.support.dashboard.pages import HOSTILE, plain, text_of

URL = "https://shop.example/hooks"
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")
FORMS = ("test", "enable", "disable", "rotate", "replay", "remove")


async def send(guest: Visitor, path: str, **fields: str) -> str:
    """Send a form; return the text of the page to which it leads."""
    answer = await guest.post(path, {"csrf": await guest.csrf_of("/webhooks"), **fields})
    if answer.status_code == 303:
        return await text_of(guest, answer.headers["location"].removeprefix("/web"))
    assert answer.status_code == 200, plain(answer.text)
    return plain(answer.text)


async def test_a_receiver_is_added_and_its_secret_is_shown_once(empty: Database) -> None:
    """It is in no other page, and in no cookie."""
    with visitor(empty) as (_, guest):
        await guest.log_in()
        assert "No webhooks yet" in await text_of(guest, "/webhooks")
        answer = await guest.post("/webhooks", {"csrf": await guest.csrf_of("/webhooks"), "url": f" {URL} "})
        (secret,) = SECRET.findall(unescape(answer.text))
        assert answer.headers["cache-control"] == "no-store"
        assert "set-cookie" not in answer.headers
        (hook,) = rows(empty, "webhooks")
        assert (hook["url"], hook["account"], hook["secret"]) == (URL, None, secret)
        for path in ("/webhooks", f"/webhooks/{hook['id']}"):
            assert URL in await text_of(guest, path)
            assert "whsec_" not in (await guest.get(path)).text


async def test_a_form_with_a_fault_keeps_what_was_typed(empty: Database) -> None:
    """And adds nothing."""
    with visitor(empty) as (_, guest):
        await guest.log_in()
        typed = {"url": HOSTILE, "account": HOSTILE, "csrf": await guest.csrf_of("/webhooks")}
        answer = await guest.post("/webhooks", typed)
        assert answer.status_code == 400
        assert unescape(answer.text).count(f'value="{HOSTILE}"') == 2
        assert "<script>alert" not in answer.text
        assert answer.text.count('aria-invalid="true"') == 2
        assert "not a URL such as https://example.com/webhooks" in answer.text
    assert rows(empty, "webhooks") == []


async def test_each_action_of_a_receiver(empty: Database) -> None:
    """Test, off, on, rotation, replay, removal."""
    webhook, first = registry.add(empty, URL)
    path = f"/webhooks/{webhook}"
    with visitor(empty) as (_, guest):
        await guest.log_in()
        assert f"Delivery {webhook}.1 is a test" in await send(guest, f"{path}/test")
        assert "webhook.test" in await text_of(guest, path)
        assert json.loads(rows(empty, "changes")[0]["body"])["type"] == "webhook.test"
        assert "Switched off" in await send(guest, f"{path}/disable")
        assert "Switched off" in await text_of(guest, "/webhooks")
        assert "The webhook is switched on." in await send(guest, f"{path}/enable")
        (second,) = SECRET.findall(await send(guest, f"{path}/rotate"))
        assert rows(empty, "webhooks")[0]["old_secret"] == first
        assert "Old secret ends" in await text_of(guest, path)
        (third,) = SECRET.findall(await send(guest, f"{path}/rotate", old="end"))
        (hook,) = rows(empty, "webhooks")
        assert (hook["secret"], hook["old_secret"], second != third) == (third, None, True)
        assert "0 expired deliveries are sent again." in await send(guest, f"{path}/replay")
        assert "It is sent again." in await send(guest, f"{path}/replay", change="1")
        assert f"Webhook {webhook} is removed." in await send(guest, f"{path}/remove")
    assert rows(empty, "webhooks") == rows(empty, "deliveries") == []


@pytest.mark.parametrize("action", FORMS)
async def test_a_form_of_another_site_or_session_is_refused(empty: Database, action: str) -> None:
    """Nothing has changed after it."""
    webhook, _ = registry.add(empty, URL)
    before = rows(empty, "webhooks")
    path = f"/webhooks/{webhook}/{action}"
    with visitor(empty) as (_, guest):
        assert (await guest.post(path, {})).headers["location"] == "/web/login"
        await guest.log_in()
        csrf = await guest.csrf_of("/webhooks")
        for fields, headers in (
            ({"csrf": ""}, {}),
            ({"csrf": "0" * 64}, {}),
            ({"csrf": csrf}, {"origin": "https://elsewhere.example"}),
            ({"csrf": csrf}, {"sec_fetch_site": "cross-site"}),
        ):
            assert (await guest.post(path, fields, **headers)).status_code == 403, fields
            assert (await guest.post("/webhooks", {**fields, "url": URL}, **headers)).status_code == 403
        assert (await guest.get(path)).status_code in (404, 405)
        assert (await guest.post(f"/webhooks/{webhook}/x", {"csrf": csrf})).status_code == 404
        assert (await guest.post("/webhooks/wh_x/test", {"csrf": csrf})).status_code == 404
    assert rows(empty, "webhooks") == before
    assert rows(empty, "deliveries") == []


async def test_a_delivery_has_its_request_and_attempts_as_text(empty: Database) -> None:
    """Whatever the receiver answered."""
    webhook, _ = registry.add(empty, URL)
    with empty.writing() as connection:
        change = {"id": 5, "block": 1, "request": 3, "state": "paid", "body": json.dumps({"x": HOSTILE})}
        connection.execute(insert(changes), change | {"type": "swap.state", "subject": "swap-3"})
        sent = {"webhook": webhook, "change": 5, "subject": "swap-3", "state": "pending", "attempts": 1}
        connection.execute(insert(deliveries), sent | {"next_at": 9, "error": "answered 500"})
        tried = {"webhook": webhook, "change": 5, "number": 1, "at": 7, "took_ms": 1_234, "status": 500}
        connection.execute(insert(attempts), tried | {"error": "answered 500", "answer": HOSTILE})
    with visitor(empty) as (_, guest):
        await guest.log_in()
        page = (await guest.get(f"/webhooks/{webhook}/5")).text
        text = plain(page)
        for words in ("swap.paid", "waiting", "1,234 ms", "answered 500", "Send it again"):
            assert words in text, words
        assert "<script>alert" not in page
        assert unescape(page).count("<script>alert(1)") == 2
        listed = await text_of(guest, f"/webhooks/{webhook}?state=pending")
        assert "swap.paid" in listed
        assert "No deliveries." in await text_of(guest, f"/webhooks/{webhook}?state=expired")
        for path in (f"{webhook}/6", f"{webhook}/x", "wh_x/5", "wh_x", f"{webhook}?state=x",
                     f"{webhook}?before=x", f"{webhook}/" + "9" * 30):  # fmt: skip
            assert (await guest.get(f"/webhooks/{path}")).status_code == 404, path


async def test_deliveries_page_back_to_the_first(empty: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is on one page, with the filter kept."""
    monkeypatch.setattr("cfnode.dashboard.webhook_pages.LINES_PER_PAGE", 2)
    webhook, _ = registry.add(empty, URL)
    for _ in range(5):
        registry.send_test(empty, webhook)
    seen, path = [], f"/web/webhooks/{webhook}?state=pending"
    with visitor(empty) as (_, guest):
        await guest.log_in()
        while path:
            page = (await guest.client.get(path)).text
            seen += [int(number) for number in re.findall(rf'href="/web/webhooks/{webhook}/(\d+)"', page)]
            older = re.search(r'href="([^"]+)">Older', page)
            path = "" if older is None else unescape(older[1])
    assert seen == [5, 4, 3, 2, 1]


async def test_the_pages_of_a_swap_and_a_channel_name_what_was_sent(empty: Database) -> None:
    """Each delivery is a link."""
    webhook, _ = registry.add(empty, URL)
    name = "1-Ethereum-7"
    with empty.writing() as connection:
        block = {"number": 1, "hash": "0x1", "parent": "0x0", "time": 1, "spec_version": 1, "events": 9}
        connection.execute(insert(schema.blocks), block)
        opened = {"block": 1, "event": 1, "kind": "swap", "chain": "Ethereum", "channel": 7, "account": "a"}
        connection.execute(insert(schema.channels), opened | {"has_message": False})
        connection.execute(insert(schema.requests), {
            "block": 1, "event": 2, "request": 3, "kind": "Regular", "origin": "x", "chain": "Ethereum",
            "channel": 7, "opened": 1, "source": "Eth", "target": "Btc", "amount": 5,
        })  # fmt: skip
        for number, (kind, state, request) in enumerate(
            [("channel.opened", "opened", None), ("swap.state", "swapping", 3)], 1
        ):
            change = {"id": number, "block": 1, "type": kind, "request": request, "state": state}
            connection.execute(insert(changes), change | {"subject": name, "body": "{}"})
            sent = {"webhook": webhook, "change": number, "subject": name, "state": "delivered"}
            connection.execute(insert(deliveries), sent | {"attempts": 1, "next_at": 1, "ended_at": 2})
    with visitor(empty) as (_, guest):
        await guest.log_in()
        channel, swap = (await guest.get(f"/channels/{name}")).text, (await guest.get("/swaps/3")).text
    assert [link in channel for link in (f"{webhook}/1", f"{webhook}/2")] == [True, True]
    assert [link in swap for link in (f"{webhook}/1", f"{webhook}/2")] == [False, True]
    assert "channel.opened" in channel
    assert "swap.swapping" in swap
