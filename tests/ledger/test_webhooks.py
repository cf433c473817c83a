"""Webhooks: each change of a swap's state, as the books have it, signed, at least once, in order."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import trio
from sqlalchemy import select
from trio.testing import MockClock

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.follower import Source
from cfnode.ledger.reports import Period, report
from cfnode.ledger.service_tables import webhooks
from cfnode.ledger.webhooks import queue, registry
from cfnode.ledger.webhooks.deliverer import Deliverer, Pace
from cfnode.ledger.webhooks.queue import Attempt
from cfnode.ledger.webhooks.registry import Chosen
from tests import process
from tests.conftest import ROOT
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import rows
from tests.ledger.day import Day
from tests.ledger.postgres import by_length
from tests.ledger.receivers import Receiver, accept, receiving
from tests.lengths import repeats
from tests.support.cli.commands import run
from tests.support.ledger.books import followed, url_of
from tests.support.ledger.webhooks import NOWHERE, by_swap, changes, left, noted
from tests.support.waiting import until

GUIDE = "docs/guide/webhooks.md"
RECEIVERS = "docs/guide/webhook-receivers.md"
FAST = Pace(poll_s=0.02, limit_s=0.4, lease_s=1.0, first_pause_s=0.05, max_pause_s=0.1)
WAIT_S = 60
PATIENT = replace(FAST, limit_s=10 * WAIT_S, lease_s=20 * WAIT_S, first_pause_s=0.5, max_pause_s=0.5)
"""A pace at which no receiver is late on any machine, but for one that never answers."""


async def test_changes_are_the_states_of_the_books_at_each_block(
    day: Day, make_database: MakeDatabase
) -> None:
    """Note a change where the report's state changes, for the webhook's account only, and once."""
    database = make_database()
    database.migrate()
    affiliates, _ = registry.add(database, NOWHERE, day.affiliate)
    await noted(database, day, NOWHERE)
    own = {row["request"] for row in rows(database, "shares") if row["account"] == day.affiliate}
    requests = {row["id"]: row["request"] for row in rows(database, "changes")}
    its = {requests[row["change"]] for row in rows(database, "deliveries") if row["webhook"] == affiliates}
    assert its == own
    assert len(own) == 1 < len(by_swap(database))
    stored_changes = rows(database, "changes")
    assert {change["state"] for change in stored_changes} >= {"swapping", "paid", "failed"}
    swap_changes = [change for change in stored_changes if change["type"] == "swap.state"]
    for change in swap_changes:
        body = json.loads(change["body"])
        assert (body["request"], body["state"]) == (change["request"], change["state"])
        assert body["swap"]["input"].isdigit()
    for number in range(day.head, 0, -repeats(1, 12)):
        Books(database).go_back(number + 1)
        newest = {change["request"]: change["state"] for change in swap_changes if change["block"] <= number}
        books = {record["request"]: record["state"] for record in report(database, "swaps", Period())}
        assert books == newest, number
    await followed(database, Source(day.url, first=1))
    assert rows(database, "changes") == stored_changes  # blocks that are read again change nothing


def fails_at_first(count: int) -> Any:
    """Return a receiver that answers 500 some times and then 200."""

    def answer(handler: BaseHTTPRequestHandler) -> bool:
        nonlocal count
        count -= 1
        if count < 0:
            return accept(handler)
        handler.send_response(500)
        handler.end_headers()
        return False

    return answer


def redirects_to(url: str) -> Any:
    """Return a receiver that redirects, which could lead a delivery to another host."""

    def answer(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(307)
        handler.send_header("location", url)
        handler.end_headers()
        return False

    return answer


@pytest.fixture
def movable_clock() -> MockClock:
    """Return a clock that goes as any other, and can be set forward."""
    return MockClock(rate=1.0)


async def test_bad_receivers_do_not_disturb_others(
    day: Day, tmp_path: Path, movable_clock: MockClock
) -> None:
    """Deliver in order next to a receiver that hangs, redirects, fails or never ends."""
    database, never, cut_off = Database(sqlite_url(tmp_path / "books.sqlite")), threading.Event(), []

    def hangs(handler: BaseHTTPRequestHandler) -> bool:
        return never.wait() and False

    def endless(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(200)
        handler.end_headers()
        try:
            while not never.is_set():
                handler.wfile.write(b"x" * 65_536)
        except OSError:
            cut_off.append(True)
        return True

    with ExitStack() as stack:
        good = stack.enter_context(receiving())
        others = [hangs, redirects_to(good.url), fails_at_first(3), endless]
        hanging, redirecting, failing, talking = (stack.enter_context(receiving(other)) for other in others)
        stack.callback(never.set)
        everyone = (hanging, redirecting, good, failing, talking)
        ids = await noted(database, day, *(receiver.url for receiver in everyone), NOWHERE)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Deliverer(database, PATIENT).run)
            await until(lambda: not any(left(database, identity) for identity in ids[2:5]))
            await until(lambda: all(errors_of(database)[ids[place]] for place in (1, 5)))
            assert errors_of(database)[ids[0]] is None, "its first attempts wait for an answer"
            movable_clock.jump(PATIENT.limit_s)
            await until(lambda: errors_of(database)[ids[0]])
            nursery.cancel_scope.cancel()
        expected = by_swap(database)
        for receiver in (good, failing):
            assert receiver.states() == expected
        assert [delivery.id.split(".")[0] for delivery in good.received] == [ids[2]] * len(
            rows(database, "changes")
        )
        assert len(failing.attempts) == len(failing.received) + 3
        assert len(cut_off) > 0
        assert redirecting.received == hanging.received == []
        assert (
            left(database, ids[0])
            == left(database, ids[1])
            == left(database, ids[5])
            == len(rows(database, "changes"))
        )
        errors = errors_of(database)
        assert errors[ids[0]] == f"no answer within {PATIENT.limit_s:g} s"
        assert errors[ids[1]] == "answered 307"
        assert str(errors[ids[5]]).startswith("no answer (Network error: ")
        check_signatures(database, good)


def errors_of(database: Database) -> dict[str, str | None]:
    """Return the newest error of each webhook, by its id."""
    return {webhook.id: webhook.error for webhook in registry.listed(database)}


def check_signatures(database: Database, receiver: Receiver) -> None:
    """Check signatures by the Standard Webhooks specification, with the secret of the receiver."""
    with database.reading() as connection:
        secret = connection.execute(
            select(webhooks.c.secret).where(webhooks.c.url == receiver.url)
        ).scalar_one()
    key = base64.b64decode(secret[len("whsec_") :])
    for delivery in receiver.received:
        signed = b".".join(
            (delivery.id.encode(), delivery.headers["webhook-timestamp"].encode(), delivery.body)
        )
        mac = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
        assert delivery.headers["webhook-signature"] == f"v1,{mac}"
        assert abs(int(delivery.headers["webhook-timestamp"]) - time.time()) < WAIT_S


@pytest.mark.world
@by_length
async def test_killed_between_delivery_and_mark(day: Day, make_database: MakeDatabase) -> None:
    """Deliver again what was sent but not yet marked when the process was killed, and lose nothing."""
    database = make_database()
    with receiving() as receiver:
        await noted(database, day, receiver.url)
        command = [sys.executable, "-m", "tests.ledger.delivering", url_of(database)]
        done = await trio.to_thread.run_sync(
            lambda: subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 3
    assert len(receiver.received) > len(rows(database, "changes"))  # some came twice
    assert receiver.states() == by_swap(database)
    assert {row["state"] for row in rows(database, "deliveries")} == {"delivered"}


async def test_a_day_of_attempts_and_a_replay(day: Day, make_database: MakeDatabase) -> None:
    """Give up after a day of attempts with growing pauses, go on with the next, and replay by command."""
    database = make_database()
    (webhook,) = await noted(database, day, NOWHERE)
    now, pace, attempts = rows(database, "deliveries")[-1]["next_at"], Pace(), 0
    noted_changes = rows(database, "changes")
    request = changes(database)[0][0]
    subject = next(row["subject"] for row in noted_changes if row["request"] == request)
    own = [row["id"] for row in noted_changes if row["subject"] == subject]
    states = [row["id"] for row in noted_changes if row["request"] == request]
    first = queue.claimed(database, webhook, now, 1_000, 100)
    oldest = {row["subject"]: row["id"] for row in reversed(noted_changes)}
    assert sorted(claim.change for claim in first) == sorted(oldest.values())
    assert queue.claimed(database, webhook, now + 999, 1_000, 100) == []
    (claim,) = [claim for claim in first if claim.change == own[0]]
    state, start = "pending", now
    while state == "pending":
        attempts += 1
        pause = int(pace.pause_s(attempts) * 1000)
        state = queue.mark(database, claim, Attempt(500, "answered 500"), now, pause).state
        now += pause
        if state == "pending":
            (claim,) = queue.claimed(database, webhook, now, 1_000, 1)
    assert state == "expired"
    claims = queue.claimed(database, webhook, now, 1_000, 100)
    (claim,) = [claim for claim in claims if claim.change in own]
    assert 86_400_000 <= now - start < 86_400_000 + 2 * 3_600_000
    assert 20 < attempts < 40
    assert claim.change == own[1]  # the next one is not lost
    assert registry.listed(database)[0].expired == 1
    assert registry.replay(database, webhook, Chosen()) == 1
    assert registry.listed(database)[0].expired == 0
    other, _ = registry.add(database, NOWHERE)
    assert registry.replay(database, other, Chosen(request=request)) == len(states)
    assert registry.replay(database, other, Chosen(start=0, end=2**45)) == len(rows(database, "changes"))
    assert registry.replay(database, other, Chosen(end=0)) == 0
    registry.remove(database, webhook)
    assert {row["webhook"] for row in rows(database, "deliveries")} == {other}
    assert "whsec" not in repr(claim)


@pytest.mark.world
def test_a_running_ledger_sends_until_a_signal(day: Day, tmp_path: Path) -> None:
    """Deliver while the ledger follows the chain, and end with 0 after SIGTERM."""
    url = sqlite_url(tmp_path / "books.sqlite")
    database = Database(url)
    database.migrate()
    with receiving() as receiver:
        webhook, _ = registry.add(database, receiver.url)
        command = process.command("ledger", "run", "--node", day.url, "--database", url, "--first-block", "1")
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as ledger:
            trio.run(_sent, database, day, webhook)
            ledger.send_signal(signal.SIGTERM)
            assert ledger.wait(WAIT_S) == 0
    assert receiver.states() == by_swap(database)
    assert by_swap(database)


async def _sent(database: Database, day: Day, webhook: str) -> None:
    """Wait until the day is in the books, and all of it is delivered."""
    with trio.fail_after(WAIT_S):
        await until(lambda: (tip := Books(database).tip()) is not None and tip.number == day.head)
        await until(lambda: not left(database, webhook))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("example.com", "not a URL such as https://example.com/webhooks"),
        ("ftp://example.com/", "not a URL"),
        ("http://example.com/", "http is for loopback addresses only"),
        ("https://me:secret@example.com/", "a user, password or fragment is refused"),
        ("https://[::1", "not a URL"),
        ("https://example.com/" + "x" * 2_000, "not a URL"),
    ],
)
def test_urls_that_are_refused(url: str, words: str, tmp_path: Path) -> None:
    """Refuse foreign http, passwords and overlong URLs without printing the password."""
    books = sqlite_url(tmp_path / "books.sqlite")
    Database(books).migrate()
    code, _, err = run("ledger", "webhook", "add", url, "--database", books)
    assert (code, words in err, "secret@" in err) == (2, True, False), err
    code, _, err = run("ledger", "webhook", "remove", "wh_1", "--database", books)
    assert (code, "no webhook 'wh_1': `cfnode ledger webhook list`" in err) == (1, True)
