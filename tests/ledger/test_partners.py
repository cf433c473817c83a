"""Partners: keys of which only a hash is kept; rates and budgets that several processes share."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.partners import registry
from cfnode.ledger.partners.access import (
    Refusal,
    Reservation,
    authorize,
    release,
    reserve,
    settle,
    spent,
)
from cfnode.ledger.partners.registry import Partner
from cfnode.ledger.recompute import recomputed
from cfnode.ledger.statements import CalendarPeriod, LedgerStatement
from cfnode.swaps.identity import ChannelId
from tests.documentation import block
from tests.ledger.conftest import MakeDatabase, books_of_day
from tests.ledger.contents import rows
from tests.ledger.day import Day
from tests.support.cli.commands import run
from tests.support.ledger.months import in_november

GUIDE = "docs/guide/partners.md"
NOW_US = 1_800_000_000_000_000
MINUTE_US = 60_000_000


def made(make_database: MakeDatabase) -> Database:
    """Return a database with its tables."""
    database = make_database()
    database.migrate()
    return database


def test_a_key_is_known_by_its_hash_only(make_database: MakeDatabase) -> None:
    """Store the hash of a key alone; refuse changed, foreign and revoked keys by reason."""
    database = made(make_database)
    terms = Partner("wallet", 15, None, frozenset({"Eth", "Btc"}), 60, 10**18)
    key = registry.add(database, terms)
    assert key not in str(rows(database, "partners"))
    assert key.split("_", 2)[2] not in str(rows(database, "partners"))
    partner = authorize(database, key)
    assert isinstance(partner, Partner)
    assert (partner.name, partner.commission_bps, partner.budget) == ("wallet", 15, 10**18)
    assert (partner.allows("Eth", "Btc"), partner.allows("Eth", "Sol")) == (True, False)
    other = registry.add(database, Partner("other", 0))
    swapped = other[:16] + key[16:]
    for wrong in ("", "cfp_", key + "x", key[:-1], key[:-2] + "xx", swapped, "x" * 10**6, "cfp_é"):
        assert authorize(database, wrong) == Refusal("unknown"), wrong[:80]
    registry.revoke(database, "wallet")
    assert authorize(database, key) == Refusal("revoked")
    assert authorize(database, swapped) == Refusal("unknown")
    assert isinstance(authorize(database, other), Partner)
    assert isinstance(reserve(database, partner, 1), Refusal)  # revoked in flight
    with pytest.raises(LedgerError, match="exists already"):
        registry.add(database, terms)


def test_a_rate_is_shared_by_processes(make_database: MakeDatabase) -> None:
    """Grant ten calls of a burst, whichever thread asks, and one more every six seconds."""
    database = made(make_database)
    key = registry.add(database, Partner("wallet", 0, rate=10))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: authorize(database, key, NOW_US), range(14)))
    refused = [answer for answer in answers if isinstance(answer, Refusal)]
    assert refused == [Refusal("rate", 6.0)] * 4
    assert isinstance(authorize(database, key, NOW_US + 5_999_999), Refusal)
    assert isinstance(authorize(database, key, NOW_US + 6_000_000), Partner)
    assert isinstance(authorize(database, key, NOW_US + 6_000_001), Refusal)
    later = [authorize(database, key, NOW_US + 10 * MINUTE_US) for _ in range(11)]
    assert [isinstance(outcome, Partner) for outcome in later] == [True] * 10 + [False]


def test_a_clock_that_was_a_year_ahead_blocks_no_partner(make_database: MakeDatabase) -> None:
    """Grant a partner its rate after this machine's clock went back by a year."""
    database = made(make_database)
    key = registry.add(database, Partner("wallet", 0, rate=10))
    ahead = NOW_US + 365 * 1440 * MINUTE_US
    assert [isinstance(authorize(database, key, ahead), Partner) for _ in range(11)] == [True] * 10 + [False]
    later = [authorize(database, key, NOW_US) for _ in range(11)]
    assert [isinstance(outcome, Partner) for outcome in later] == [True] * 10 + [False]


def test_a_budget_is_shared_by_processes(make_database: MakeDatabase) -> None:
    """Reserve up to the budget from several threads, give back what was not spent, and renew it monthly."""
    database = made(make_database)
    partner = Partner("wallet", 0, budget=2**90)
    registry.add(database, partner)
    cost, now, december = 2**90 // 4, 1_795_000_000.0, 1_797_000_000.0
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: reserve(database, partner, cost, now), range(8)))
    granted = [answer for answer in answers if isinstance(answer, Reservation)]
    assert len(granted) == 4
    assert answers.count(Refusal("budget")) == 4
    settle(database, granted[0], ChannelId("Ethereum", 7, 1), cost - 5)
    release(database, granted[1])
    assert spent(database, "wallet", "2026-11") == 3 * cost - 5
    assert isinstance(reserve(database, partner, cost + 6, now), Refusal)
    assert isinstance(reserve(database, partner, cost + 5, now), Reservation)
    assert isinstance(reserve(database, partner, 1, now), Refusal)
    assert isinstance(reserve(database, partner, 4 * cost, december), Reservation)
    for ended in granted[:2]:
        with pytest.raises(LedgerError, match="has ended already"):
            release(database, ended)


async def test_a_statement_of_a_partner_has_its_channels(day: Day, make_database: MakeDatabase) -> None:
    """List in a partner's statement the lines of its channel, with the affiliate's commission."""
    database = await books_of_day(day, make_database)
    partner = Partner("wallet", 0)
    registry.add(database, partner)
    in_november(database, day.head + 1)
    channel = next(row for row in rows(database, "channels") if row["commission_bps"] == 10)
    reserved = reserve(database, partner, 0)
    assert isinstance(reserved, Reservation)
    opened = ChannelId(channel["chain"], channel["channel"], channel["block"])
    settle(database, reserved, opened, channel["opening_fee"])
    month = CalendarPeriod.parse("2026-11")
    everything = list(LedgerStatement(database, month).lines())
    (request,) = (
        row["request"]
        for row in rows(database, "requests")
        if (row["chain"], row["channel"]) == (channel["chain"], channel["channel"])
    )
    own = list(LedgerStatement(database, month, partner="wallet").lines())
    place = (channel["chain"], channel["channel"])
    assert own == [
        line for line in everything if line.request == request or (line.chain, line.channel) == place
    ]
    assert {line.line for line in own} == {"swap", "fee", "payout", "commission"}
    assert len({line.account for line in own if line.line == "commission"}) == 2
    assert recomputed(database) == []


def test_the_guide(tmp_path: Path) -> None:
    """Run the guide's commands for a partner as printed, and refuse wrong names and assets."""
    url = sqlite_url(tmp_path / "books.sqlite")
    Database(url).migrate()
    (added,) = block(GUIDE, "cfnode ledger partner add").splitlines()
    code, out, err = run(*added.split()[1:], "--database", url)
    assert (code, err) == (0, "Keep the key: it is not printed again.\n")
    key = out.split()[-1]
    assert isinstance(authorize(Database(url), key), Partner)
    listing, statement, revoking = block(GUIDE, "cfnode ledger partner list").splitlines()
    code, out, _ = run(*listing.split()[1:], "--database", url, "--json")
    (partner,) = json.loads(out)
    assert (partner["name"], partner["commissionBps"], partner["assets"]) == (
        "wallet",
        15,
        ["Btc", "Eth", "Usdc"],
    )
    assert (partner["rate"], partner["spent"], partner["revoked"]) == (120, "0", None)
    assert (partner["budget"], partner["budgetAsset"]) == ("50" + 18 * "0", "Flip")
    assert key not in out
    code, _, err = run(*statement.split()[1:], "--database", url)
    assert (code, "the books are empty" in err) == (1, True)
    change, rotation, usage, removal = block(GUIDE, "cfnode ledger partner change").splitlines()
    assert run(*change.split()[1:], "--database", url)[0] == 0
    terms = registry.require(Database(url), "wallet")
    assert (terms.commission_bps, terms.rate, terms.budget) == (20, 300, None)
    rotated = run(*rotation.split()[1:], "--database", url)[1].strip()
    assert isinstance(authorize(Database(url), rotated), Partner)
    assert run(*usage.split()[1:], "--database", url)[0] == 0
    assert run(*revoking.split()[1:], "--database", url)[0] == 0
    assert authorize(Database(url), key) == Refusal("revoked")
    _, table, _ = run("ledger", "partner", "list", "--database", url)
    assert "wallet" in table
    for line, words in (
        (("revoke", "nope"), "no partner 'nope': `cfnode ledger partner list`"),
        (("add", "wallet"), "exists already"),
        (("add", "a b"), "the name must have 1 to 64 letters"),
        (("add", "x", "--asset", "Foo"), "Unknown asset 'Foo'"),
    ):
        code, _, err = run("ledger", "partner", *line, "--database", url)
        assert (code in (1, 2), words in err) == (True, True), err
    kept = run(*removal.split()[1:], "--database", url)[1].strip()
    assert kept == registry.listed(Database(url))[0].name == f"wallet~{rotated.split('_')[1]}"
