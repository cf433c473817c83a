"""What an operator does with webhooks: tests, rotation of secrets, attempts, switching off, replays."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
import trio

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.webhooks import queue, registry
from cfnode.ledger.webhooks.deliverer import Deliverer, Pace
from cfnode.ledger.webhooks.history import WebhookDelivery, delivery_lines, delivery_number, delivery_of
from cfnode.ledger.webhooks.queue import DAY_MS, Attempt
from cfnode.ledger.webhooks.registry import Chosen, Webhook
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import rows
from tests.ledger.receivers import Received, accept, receiving
from tests.support.cli.commands import run
from tests.support.ledger.blocks import GENESIS, block
from tests.support.ledger.reused import BLOCKS
from tests.support.ledger.webhooks import NOWHERE, left
from tests.support.waiting import until

FAST = Pace(poll_s=0.02, limit_s=5.0, lease_s=1.0, first_pause_s=0.05, max_pause_s=0.1)
WAIT_S = 60
HOUR_MS = 3_600_000


def books(make_database: MakeDatabase, url: str = NOWHERE) -> tuple[Database, str, str]:
    """Return the books of some blocks, and id and secret of a webhook that has got nothing yet."""
    database = make_database()
    database.migrate()
    webhook, secret = registry.add(database, url)
    Books(database).begin(GENESIS, "Development", "all", block(0, []), {})
    Books(database).write([block(number, events) for number, events in enumerate(BLOCKS, 1)], {})
    return database, webhook, secret


def state(database: Database, webhook: str) -> Webhook:
    """Return a webhook as the list has it."""
    return registry.require(database, webhook)


def delivery_named(database: Database, delivery: str) -> WebhookDelivery:
    """Return a delivery by its id."""
    key = delivery_number(delivery)
    assert key is not None
    with database.reading() as connection:
        found = delivery_of(connection, *key)
    assert found is not None
    return found


def is_signed(delivery: Received, secret: str) -> bool:
    """Return whether one of the signatures is by a secret, by the Standard Webhooks specification."""
    signed = b".".join((delivery.id.encode(), delivery.headers["webhook-timestamp"].encode(), delivery.body))
    mac = hmac.digest(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256)
    return f"v1,{base64.b64encode(mac).decode()}" in delivery.headers["webhook-signature"].split(" ")


async def drained(database: Database, webhook: str) -> None:
    """Deliver all that waits."""
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Deliverer(database, FAST).run)
            await until(lambda: not left(database, webhook))
            nursery.cancel_scope.cancel()


async def test_secrets_that_change_in_the_middle_of_deliveries(
    make_database: MakeDatabase,
) -> None:
    """Each request is signed by the newest secret and, until a day has passed, by the one before it."""
    rotated, lock = list[str](), Lock()

    def rotate_at_third(handler: BaseHTTPRequestHandler) -> bool:
        with lock:
            if len(receiver.received) >= 2 and not rotated:
                rotated.append(registry.rotate(database, webhook))
        return accept(handler)

    with receiving(rotate_at_third) as receiver:
        database, webhook, first = books(make_database, receiver.url)
        await drained(database, webhook)
        assert len(receiver.received) == len(rows(database, "changes")) > 6
        assert all(is_signed(delivery, first) for delivery in receiver.received)
        assert is_signed(receiver.received[-1], rotated[0])
        assert not is_signed(receiver.received[0], rotated[0])
        newest = registry.rotate(database, webhook, keeps_old=False)
        registry.send_test(database, webhook)
        await drained(database, webhook)
        last = receiver.received[-1]
        assert [is_signed(last, secret) for secret in (first, rotated[0], newest)] == [False, False, True]


def test_an_old_secret_ends_after_a_day_and_by_no_clock_later(make_database: MakeDatabase) -> None:
    """Also if the clock was wrong when it was replaced."""
    database, webhook, first = books(make_database)
    newest = registry.rotate(database, webhook)
    until_ms = state(database, webhook).old_until
    assert until_ms is not None
    for now, secrets in (
        (until_ms - DAY_MS, (newest, first)),
        (until_ms - 1, (newest, first)),
        (until_ms, (newest,)),
        (until_ms - DAY_MS - 60_000, (newest, first)),  # a clock of another machine
        (until_ms - 2 * DAY_MS, (newest,)),  # a clock that was ahead when it was replaced
    ):
        (claim,) = queue.claimed(database, webhook, now, -3 * DAY_MS, 1)
        assert claim.secrets == secrets, now
    assert first not in repr(claim)


def test_two_operators_who_rotate_at_once_get_two_valid_secrets(make_database: MakeDatabase) -> None:
    """One of them is the newest, the other the one before."""
    database, webhook, first = books(make_database)
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda _: registry.rotate(database, webhook), range(2)))
    until_ms = state(database, webhook).old_until
    assert until_ms is not None
    (claim,) = queue.claimed(database, webhook, until_ms - 1, 1_000, 1)
    assert {*claim.secrets} == {*made}
    assert first not in claim.secrets


async def test_each_attempt_has_its_answer_and_time(make_database: MakeDatabase) -> None:
    """A kilobyte of an answer that does not accept is kept, on one line."""

    def lies(handler: BaseHTTPRequestHandler) -> bool:
        if len(receiver.attempts) > 2:
            return accept(handler)
        text = b"<script>alert(1)</script>\0\n" + b"x" * 100_000
        handler.send_response(503)
        handler.send_header("content-length", str(len(text)))
        handler.end_headers()
        with suppress(OSError):  # the rest is not read
            handler.wfile.write(text)
        return False

    with receiving(lies) as receiver:
        database = make_database()
        database.migrate()
        webhook, _ = registry.add(database, receiver.url)
        delivery = registry.send_test(database, webhook)
        await drained(database, webhook)
    found = delivery_named(database, delivery)
    assert (found.line.state, found.line.title, found.line.attempts) == ("delivered", "webhook.test", 3)
    assert json.loads(found.body)["type"] == "webhook.test"
    assert [(attempt.number, attempt.status, attempt.error) for attempt in found.attempts] == [
        (3, 204, None), (2, 503, "answered 503"), (1, 503, "answered 503"),
    ]  # fmt: skip
    answer = found.attempts[-1].answer
    assert answer is not None
    assert answer.startswith("<script>alert(1)</script>")
    assert len(answer) == 1_024
    assert answer.isprintable()
    assert all(0 <= attempt.took_ms < WAIT_S * 1_000 for attempt in found.attempts)


def fail_for(database: Database, webhook: str, start: int, hours: int) -> list[str]:
    """Let attempts fail, one an hour; return the states of the webhook after each."""
    states = []
    for hour in range(hours):
        now = start + hour * HOUR_MS
        for claim in queue.claimed(database, webhook, now, 1_000, 1):
            queue.mark(database, claim, Attempt(500, "answered 500"), now, HOUR_MS)
        states.append(state(database, webhook).state)
    return states


def test_a_receiver_that_fails_for_three_days_is_switched_off_until_it_is_enabled(
    make_database: MakeDatabase,
) -> None:
    """Nothing is lost: what is noted meanwhile waits."""
    database, webhook, _ = books(make_database)
    start = rows(database, "deliveries")[0]["next_at"]
    states = fail_for(database, webhook, start, 80)
    assert states == ["failing"] * 72 + ["off"] * 8
    assert state(database, webhook).disabled_at == start + 72 * HOUR_MS
    later = start + 100 * HOUR_MS
    assert queue.due_webhooks(database, later) == queue.claimed(database, webhook, later, 1_000, 9) == []
    waiting = left(database, webhook)
    registry.send_test(database, webhook)
    registry.enable(database, webhook)
    assert (state(database, webhook).state, left(database, webhook)) == ("on", waiting + 1)
    now = rows(database, "deliveries")[0]["next_at"]
    assert queue.due_webhooks(database, later) == [webhook], now
    assert len(queue.claimed(database, webhook, later, 1_000, 99)) > 3


def test_one_accepted_delivery_ends_the_failure(make_database: MakeDatabase) -> None:
    """So does a clock that turns out to have been ahead."""
    database, webhook, _ = books(make_database)
    start = rows(database, "deliveries")[0]["next_at"]
    assert fail_for(database, webhook, start, 71)[-1] == "failing"
    now = start + 71 * HOUR_MS
    (claim,) = queue.claimed(database, webhook, now, 1_000, 1)
    assert queue.mark(database, claim, Attempt(200), now, 1).state == "delivered"
    assert state(database, webhook).state == "on"
    assert fail_for(database, webhook, now + 365 * DAY_MS, 1) == ["failing"]
    assert fail_for(database, webhook, now + HOUR_MS, 5)[-1] == "failing"
    assert state(database, webhook).failing_since == now + HOUR_MS


def test_one_change_is_sent_again_and_a_test_is_not_replayed(make_database: MakeDatabase) -> None:
    """The id of the delivery stays as it was."""
    database, webhook, _ = books(make_database)
    now = rows(database, "deliveries")[0]["next_at"]
    while claims := queue.claimed(database, webhook, now, 1_000, 9):
        for claim in claims:
            queue.mark(database, claim, Attempt(204), now, 1)
    delivery = registry.send_test(database, webhook)
    assert registry.replay(database, webhook, Chosen(change=2)) == 1
    assert {row["change"] for row in rows(database, "deliveries") if row["state"] == "pending"} == {
        2,
        int(delivery.partition(".")[2]),
    }
    assert registry.replay(database, webhook, Chosen(change=10**9)) == 0
    other, _ = registry.add(database, NOWHERE)
    everything = registry.replay(database, other, Chosen(start=0, end=2**45))
    assert everything == len(rows(database, "changes")) - 1


def test_deliveries_have_pages_back_to_the_first(make_database: MakeDatabase) -> None:
    """Each is on one page, the newest first."""
    database, webhook, _ = books(make_database)
    numbers, before = [], None
    with database.reading() as connection:
        while page := delivery_lines(connection, webhook, "pending", before, 3):
            numbers += [line.change for line in page]
            before = page[-1].change
        assert delivery_lines(connection, webhook, "expired") == []
    assert numbers == sorted((row["id"] for row in rows(database, "changes")), reverse=True)


@pytest.mark.parametrize("text", ["", "wh_1", "wh_1.", "wh_1.x", "wh_1.-1", "wh_1." + "9" * 19, "wh_1.²"])
def test_a_malformed_id_names_no_delivery(text: str) -> None:
    """It is read without a fault."""
    assert delivery_number(text) is None


def test_an_unknown_webhook_is_refused(make_database: MakeDatabase) -> None:
    """By each of the operations."""
    database, _, _ = books(make_database)
    operations: list[Callable[[Database, str], Any]] = [
        registry.rotate, registry.enable, registry.disable, registry.send_test, registry.require,
        registry.remove,
    ]  # fmt: skip
    for operate in operations:
        with pytest.raises(LedgerError, match="no webhook 'wh_x'"):
            operate(database, "wh_x")


def test_the_commands(tmp_path: Path) -> None:
    """Each prints what it did, as text and as JSON."""
    url = sqlite_url(tmp_path / "books.sqlite")
    Database(url).migrate()

    def ask(*words: str) -> tuple[int, str, str]:
        return run("ledger", "webhook", *words, "--database", url)

    webhook = json.loads(ask("add", NOWHERE, "--json")[1])["id"]
    delivery = ask("test", webhook)[1].strip()
    assert delivery == f"{webhook}.1"
    code, table, _ = ask("deliveries", webhook, "--state", "pending")
    assert (code, delivery in table, "webhook.test" in table) == (0, True, True)
    code, text, err = ask("delivery", delivery)
    assert (code, "webhook.test" in text, err) == (0, True, "no attempts\n")
    document = json.loads(ask("delivery", delivery, "--json")[1])
    assert (document["url"], document["attempts"], json.loads(document["body"])["type"]) == (
        NOWHERE,
        [],
        "webhook.test",
    )
    code, secret, err = ask("rotate", webhook)
    assert (code, secret.startswith("whsec_"), "it is not printed again" in err) == (0, True, True)
    assert json.loads(ask("disable", webhook, "--json")[1]) == {"id": webhook, "enabled": False}
    (listed,) = json.loads(ask("list", "--json")[1])
    assert (listed["state"], listed["oldSecretUntil"] is None, listed["disabled"] is None) == (
        "off",
        False,
        False,
    )
    assert secret.strip() not in str(listed)
    assert ask("enable", webhook)[0] == 0
    assert json.loads(ask("rotate", webhook, "--at-once", "--json")[1])["secret"].startswith("whsec_")
    (listed,) = json.loads(ask("list", "--json")[1])
    assert (listed["state"], listed["oldSecretUntil"]) == ("on", None)
    assert ask("replay", webhook, "--change", "1")[1] == "1 deliveries to send\n"
    for words in (("delivery", "wh_1.1"), ("deliveries", "wh_1"), ("test", "wh_1")):
        code, _, err = ask(*words)
        assert (code, "no " in err) == (1, True), words
