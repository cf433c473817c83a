"""What is going on now is what the reports say of the same swaps, channels and payouts."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from sqlalchemy import insert

from cfnode.ledger import open_channels as channels_module
from cfnode.ledger import recent_swaps as recent_swaps_module
from cfnode.ledger import schema
from cfnode.ledger.books import Books
from cfnode.ledger.condition import condition, spent_by_partner
from cfnode.ledger.database import Database
from cfnode.ledger.heights import heights
from cfnode.ledger.open_channels import channel_of, open_channels, open_count
from cfnode.ledger.recent_swaps import failed_payouts, recent_swaps
from cfnode.ledger.reports import Period, report
from cfnode.ledger.service_tables import partner_channels
from cfnode.swaps.checksums import checksum_text
from cfnode.swaps.fate import Fate
from cfnode.swaps.timing import blocks_ms
from tests.ledger.conftest import MakeDatabase, books_of_day
from tests.ledger.contents import rows
from tests.ledger.day import EVM_ADDRESS, Day


async def test_swaps_have_the_states_of_the_report(day: Day, make_database: MakeDatabase) -> None:
    """Give the states, chunks and outputs of the report, ordered by the newest move."""
    database = await books_of_day(day, make_database)
    expected = {
        row["request"]: (row["state"], row["chunks"], row["output"])
        for row in report(database, "swaps", Period())
        if row["kind"].startswith("Regular")
    }
    with database.reading() as connection:
        swaps = recent_swaps(connection)
    assert {swap.request: (swap.state, swap.executed, swap.output) for swap in swaps} == expected
    assert [swap.request for swap in swaps] == sorted(expected, key=_moved(database), reverse=True)
    assert {"paid", "refunded", "failed"} <= {swap.state for swap in swaps}
    assert any(swap.chunks == 3 and swap.executed == 3 for swap in swaps)


def _moved(database: Database) -> Callable[[int], tuple[int, int]]:
    """Return the newest block in which a swap moved, and its number; outcomes of its payouts count too."""
    newest: dict[int, int] = {}
    for name in ("requests", "swaps", "completions", "payouts"):
        for row in rows(database, name):
            newest[row["request"]] = max(row["block"], newest.get(row["request"], 0))
    egresses = {(row["chain"], row["egress"]): row["request"] for row in rows(database, "payouts")}
    carried: dict[tuple[str, int], list[int]] = {}
    for row in rows(database, "broadcasts"):
        carried.setdefault((row["chain"], row["broadcast"]), []).append(egresses[row["chain"], row["egress"]])
    for row in rows(database, "outcomes"):
        for request in carried.get((row["chain"], row["broadcast"]), []):
            newest[request] = max(row["block"], newest.get(request, 0))
    return lambda request: (newest[request], request)


async def test_each_block_moves_its_swaps_to_the_top(day: Day, make_database: MakeDatabase) -> None:
    """Give the three swaps that moved last before each block the state that they had then."""
    database = await books_of_day(day, make_database)
    states_seen = set()
    for number in range(day.head, 30, -4):
        Books(database).go_back(number)
        with database.reading() as connection:
            swaps = recent_swaps(connection, limit=3)
        states = {row["request"]: row["state"] for row in report(database, "swaps", Period())}
        assert all(swap.state == states[swap.request] for swap in swaps)
        states_seen |= {swap.state for swap in swaps}
    assert {"swapping", "sent", "paid"} <= states_seen


async def test_old_swaps_are_not_read(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop after a few rows: the newest swap is first, and old ones are not read."""
    database = await books_of_day(day, make_database)
    monkeypatch.setattr(recent_swaps_module, "NEWEST_ROWS", 2)
    with database.reading() as connection:
        requests = [recent_swap.request for recent_swap in recent_swaps(connection)]
    newest = max(row["request"] for row in rows(database, "requests") if row["kind"].startswith("Regular"))
    assert requests[0] == newest
    assert len(requests) < 5


async def test_channels_are_open_until_their_block(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """List channels until their expiry height, in pages and in parts alike; a deposit does not end them."""
    database = await books_of_day(day, make_database)
    with database.reading() as connection:
        channels, known = open_channels(connection), heights(connection)
        assert open_count(connection) == len(channels) == len(rows(database, "channels"))
        for channel in channels:
            assert (
                channel.left_ms == blocks_ms(channel.chain, channel.expiry_block - known[channel.chain]) > 0
            )
            assert channel_of(connection, channel.chain, channel.channel) == channel
        assert sum(channel.deposits for channel in channels) == 7
        pages = open_channels(connection, limit=3)
        pages += open_channels(connection, limit=50, before=(pages[-1].block, pages[-1].event))
        assert pages == channels
    with monkeypatch.context() as many, database.reading() as connection:
        many.setattr(channels_module, "MIN_SCANNED_CHANNELS", 2)
        many.setattr(channels_module, "PART_CHANNELS", 4)
        assert open_channels(connection) == channels
        before = (channels[2].block, channels[2].event)
        assert open_channels(connection, limit=3, before=before) == channels[3:6]
    with database.writing() as connection:
        connection.execute(schema.channels.update().values(expiry_block=known["Bitcoin"]))
        assert [open_channel.chain for open_channel in open_channels(connection)].count("Bitcoin") == 0
        assert channel_of(connection, "Bitcoin", 1) is None


async def test_failed_payouts_have_the_call_that_recovers_them(day: Day, make_database: MakeDatabase) -> None:
    """Name the failed payout's receiver, broker and the broadcast of its call."""
    database = await books_of_day(day, make_database)
    (expected,) = (row for row in report(database, "payouts", Period()) if row["state"] == "failed")
    with database.reading() as connection:
        (payout,) = failed_payouts(connection)
        assert failed_payouts(connection, before=(payout.block, payout.event)) == []
    assert (payout.chain, payout.asset, payout.call) == ("Ethereum", "Eth", expected["recovery"])
    assert (payout.request, payout.account) == (expected["request"], expected["account"])
    assert (payout.destination, payout.fate) == (checksum_text(EVM_ADDRESS), Fate.CALL_ON_OFFER)


async def test_the_condition_says_what_the_books_lack(day: Day, make_database: MakeDatabase) -> None:
    """State first and newest block, gaps, unread events and the last comparison with its differences."""
    empty = make_database()
    empty.migrate()
    with empty.reading() as connection:
        assert condition(connection) is None
    database = await books_of_day(day, make_database)
    with database.reading() as connection:
        books_condition = condition(connection)
    assert books_condition is not None
    assert (
        books_condition.first,
        books_condition.block,
        books_condition.gaps,
        books_condition.unread,
        books_condition.accounts,
    ) == (1, day.head, (), 0, ())
    assert books_condition.checked is not None
    assert (
        books_condition.checked.block,
        books_condition.checked.count,
        books_condition.checked.differences,
    ) == (day.head, 0, ())
    assert abs(books_condition.checked.at - time.time() * 1000) < 3_600_000
    _spoil(database, day.head)
    with database.reading() as connection:
        spoilt = condition(connection)
    assert spoilt is not None
    assert [str(gap) for gap in spoilt.gaps] == ["blocks 5 to 7"]
    assert spoilt.checked is not None
    (difference,) = spoilt.checked.differences
    assert (difference.books, difference.chain) == (-3, 4)


def _spoil(database: Database, block: int) -> None:
    difference = {"block": block, "place": 0, "account": "a", "asset": "Eth", "figure": "free_balance",
                  "books": 3, "chain": 4, "negative": True}  # fmt: skip
    with database.writing() as connection:
        connection.execute(insert(schema.gaps), {"first": 5, "last": 7, "found_at": 0})
        connection.execute(insert(schema.checks), difference)


def test_what_partners_spent_is_added_up_for_each(make_database: MakeDatabase) -> None:
    """Add up costs of opened and reserved channels by partner, for one month."""
    database = make_database()
    database.migrate()
    shared = {"chain": None, "channel": None, "at": 0}
    with database.writing() as connection:
        for number, (partner, month, state, cost) in enumerate(
            [("a", "2026-11", "opened", 2**100), ("a", "2026-11", "reserved", 1),
             ("a", "2026-11", "released", 7), ("a", "2026-10", "opened", 7), ("b", "2026-11", "opened", 5)]
        ):  # fmt: skip
            row = {"id": str(number), "partner": partner, "month": month, "state": state, "cost": cost}
            connection.execute(insert(partner_channels), row | shared)
        assert spent_by_partner(connection, "2026-11") == {"a": (2**100 + 1, 2), "b": (5, 1)}
