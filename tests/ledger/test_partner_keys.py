"""What an operator does with partners: a second key while one is replaced, terms, removal, requests a day."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import insert, text, update

from cfnode.ledger.database import Database, _alembic, sqlite_url
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.partners import registry
from cfnode.ledger.partners.access import Refusal, Reservation, authorize, reserve, settle, spent
from cfnode.ledger.partners.registry import OLD_KEY_MS, Partner
from cfnode.ledger.partners.usage import DayUse, UsageCounter, usage_of
from cfnode.ledger.service_tables import day_totals, partner_requests, partners
from cfnode.swaps.identity import ChannelId
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import rows
from tests.support.cli.commands import run


def made(make_database: MakeDatabase) -> Database:
    """Return empty books."""
    database = make_database()
    database.migrate()
    return database


def test_two_keys_are_valid_for_a_day(make_database: MakeDatabase) -> None:
    """Both count against one rate; then the old one is unknown, also by a clock that is set back."""
    database = made(make_database)
    old = registry.add(database, Partner("wallet", 15, rate=2))
    new = registry.rotate(database, "wallet")
    until = registry.require(database, "wallet").old_until
    assert until is not None
    moment = (until - OLD_KEY_MS) * 1_000
    assert [isinstance(authorize(database, key, moment), Partner) for key in (old, new)] == [True, True]
    refusal = authorize(database, old, moment)
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.partner) == ("rate", "wallet")
    assert authorize(database, old, until * 1_000) == Refusal("unknown")
    assert authorize(database, old, moment - 2 * OLD_KEY_MS * 1_000) == Refusal("unknown")
    assert isinstance(authorize(database, new, until * 1_000), Partner)
    forged = old[:17] + new[17:]
    assert authorize(database, forged, moment + 120_000_000) == Refusal("unknown")
    for key in (old, new):
        assert key.split("_", 2)[2] not in str(rows(database, "partners"))


def test_a_key_that_others_know_ends_at_once(make_database: MakeDatabase) -> None:
    """And a revoked one is not replaced."""
    database = made(make_database)
    old = registry.add(database, Partner("wallet", 15))
    new = registry.rotate(database, "wallet", keeps_old=False)
    assert authorize(database, old) == Refusal("unknown")
    registry.revoke(database, "wallet")
    assert authorize(database, new) == Refusal("revoked")
    with pytest.raises(LedgerError, match="is revoked: remove the partner"):
        registry.rotate(database, "wallet")


def test_two_operators_change_one_partner_at_once(make_database: MakeDatabase) -> None:
    """Each changes the terms that it names, and no term of the other."""
    database = made(make_database)
    registry.add(database, Partner("wallet", 15, rate=60))
    changes: list[dict[str, Any]] = [{"commission_bps": 30}, {"rate": 5}, {"budget": 7}]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda terms: registry.change(database, "wallet", **terms), changes))
    partner = registry.require(database, "wallet")
    assert (partner.commission_bps, partner.rate, partner.budget) == (30, 5, 7)
    with pytest.raises(ValueError, match="the rate must be"):
        registry.change(database, "wallet", rate=0)
    with pytest.raises(LedgerError, match="no partner"):
        registry.change(database, "wall", rate=1)
    assert registry.require(database, "wallet") == partner


def test_a_name_is_free_again_and_nothing_of_the_old_partner_is_the_new_ones(
    make_database: MakeDatabase,
) -> None:
    """Neither channels, budget, requests nor totals; a request in flight opens nothing for the new one."""
    database = made(make_database)
    key = registry.add(database, Partner("wallet", 15, budget=100))
    first = authorize(database, key)
    assert isinstance(first, Partner)
    reservation = reserve(database, first, 70)
    assert isinstance(reservation, Reservation)
    settle(database, reservation, ChannelId("Ethereum", 7, 1), 70)
    counter = UsageCounter()
    counter.note("wallet", "ok", 86_400.0)
    counter.write(database)
    with database.writing() as connection:
        total = {"day": 1, "measure": "partner", "name": "wallet", "asset": "", "count": 1}
        connection.execute(insert(day_totals), total | {"amount": "1", "value": "1"})
        connection.execute(
            update(partners).where(partners.c.name == "wallet").values(created_at=first.created_at - 1)
        )
    first = registry.require(database, "wallet")
    kept = registry.remove(database, "wallet")
    assert kept == f"wallet~{first.key_id}"
    assert authorize(database, key) == Refusal("revoked")
    new = authorize(database, registry.add(database, Partner("wallet", 5, budget=100)))
    assert isinstance(new, Partner)
    month = rows(database, "partner_channels")[0]["month"]
    assert (spent(database, "wallet", month), spent(database, kept, month)) == (0, 70)
    assert rows(database, "day_totals")[0]["name"] == kept
    with database.reading() as connection:
        assert usage_of(connection, "wallet", 7, 1) == []
        assert usage_of(connection, kept, 7, 1) == [DayUse(1, 1, {})]
    assert reserve(database, first, 1) == Refusal("revoked")
    assert isinstance(reserve(database, new, 100), Reservation)
    assert [partner.name for partner in registry.listed(database)] == ["wallet", kept]
    with pytest.raises(LedgerError, match="is removed already"):
        registry.remove(database, kept)
    assert len(registry.remove(database, "wallet")) <= 64


def test_a_partner_whose_request_is_being_sent_stays(make_database: MakeDatabase) -> None:
    """Its channel could not be recorded under another name."""
    database = made(make_database)
    registry.add(database, Partner("w" * 64, 15))
    request = {"partner": "w" * 64, "key": "k", "digest": "", "state": "sending", "owner": "x", "beats": 0}
    with database.writing() as connection:
        connection.execute(insert(partner_requests), request | {"reservation": "r", "at": 1})
    with pytest.raises(LedgerError, match="try again in a minute"):
        registry.remove(database, "w" * 64)
    with database.writing() as connection:
        connection.execute(update(partner_requests).values(state="opened"))
    kept = registry.remove(database, "w" * 64)
    assert len(kept) == 64
    assert rows(database, "partner_requests")[0]["partner"] == kept


def test_requests_are_counted_by_day_and_code(make_database: MakeDatabase) -> None:
    """Several services add to one count; what is older than 90 days is deleted."""
    database, day = made(make_database), 86_400.0
    first, second = UsageCounter(), UsageCounter()
    for counter, code, at in (
        (first, "ok", 200 * day), (first, "ok", 200 * day + 1), (second, "ok", 200 * day + 2),
        (second, "rate_limited", 200 * day), (first, "ok", 199 * day), (first, "ok", 109 * day),
    ):  # fmt: skip
        counter.note("wallet", code, at)
    for counter in (first, second, first):
        counter.write(database)
    with database.reading() as connection:
        assert usage_of(connection, "wallet", 7, 200) == [
            DayUse(200, 4, {"rate_limited": 1}),
            DayUse(199, 1, {}),
        ]
        assert usage_of(connection, "wallet", 1, 200)[0].day == 200
        assert usage_of(connection, "other", 7, 200) == []
    first.note("wallet", "ok", 201 * day)
    first.write(database)
    assert min(row["day"] for row in rows(database, "partner_days")) > 110


def test_counts_wait_for_a_database_that_is_away(tmp_path: Path) -> None:
    """They are added when it is there again."""
    counter = UsageCounter()
    counter.note("wallet", "ok", 86_400.0)
    database = Database(sqlite_url(tmp_path / "books.sqlite"))
    with pytest.raises(LedgerError):
        counter.write(database)
    database.migrate()
    counter.write(database)
    assert [row["count"] for row in rows(database, "partner_days")] == [1]


def test_older_books_are_upgraded(make_database: MakeDatabase) -> None:
    """Their partners keep their keys."""
    database, config = make_database(), _alembic()
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0015_webhook_events")
        connection.execute(
            text(
                "INSERT INTO partners (name, key_id, key_hash, commission_bps, rate, full_at, created_at) "
                "VALUES ('wallet', 'abc', 'def', 5, 60, 0, 1)"
            )
        )
    database.migrate()
    partner = registry.require(database, "wallet")
    assert (partner.key_id, partner.old_until, partner.commission_bps) == ("abc", None, 5)


def test_the_commands(tmp_path: Path) -> None:
    """Each prints what it did, as text and as JSON."""
    url = sqlite_url(tmp_path / "books.sqlite")
    Database(url).migrate()

    def ask(*words: str) -> tuple[int, str, str]:
        return run("ledger", "partner", *words, "--database", url)

    assert ask("add", "wallet", "--budget", "5", "--asset", "Eth")[0] == 0
    changed = json.loads(ask("change", "wallet", "--rate", "7", "--no-budget", "--all-assets", "--json")[1])
    assert (changed["rate"], changed["budget"], changed["assets"]) == (7, None, None)
    code, table, _ = ask("change", "wallet", "--commission", "20")
    assert (code, "wallet" in table, "20" in table) == (0, True, True)
    for words, fault in (
        ((), "name at least one term to change"),
        (("--budget", "1", "--no-budget"), "--no-budget excludes a new value"),
        (("--affiliate-commission", "5"), "give an affiliate and its commission"),
    ):
        code, _, err = ask("change", "wallet", *words)
        assert (code, fault in err) == (2, True), err
    code, key, err = ask("rotate", "wallet")
    assert (code, key.startswith("cfp_"), "it is not printed again" in err) == (0, True, True)
    (listed,) = json.loads(ask("list", "--json")[1])
    assert listed["oldKeyUntil"] is not None
    assert json.loads(ask("rotate", "wallet", "--at-once", "--json")[1])["key"].startswith("cfp_")
    assert ask("usage", "wallet")[2] == "no requests\n"
    counter = UsageCounter()
    counter.note("wallet", "ok")
    counter.note("wallet", "rate_limited")
    counter.write(Database(url))
    (use,) = json.loads(ask("usage", "wallet", "--json")[1])
    assert (use["requests"], use["errors"]) == (2, {"rate_limited": 1})
    assert "rate_limited 1" in ask("usage", "wallet")[1]
    kept = ask("remove", "wallet")[1].strip()
    assert kept.startswith("wallet~")
    assert ask("add", "wallet")[0] == 0
