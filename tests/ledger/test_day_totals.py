"""The totals of days are the sums of all facts, whatever was counted when, and after the books went back."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from sqlalchemy import insert

from cfnode.ledger import day_totals, schema
from cfnode.ledger.block_times import DAY_MS
from cfnode.ledger.books import Books
from cfnode.ledger.database import Database
from cfnode.ledger.day_totals import DayTotal, add_totals, counted_block, totals_of
from cfnode.ledger.follower import Source
from cfnode.ledger.service_tables import partner_channels
from tests.ledger.conftest import MakeDatabase, books_of_day
from tests.ledger.contents import rows
from tests.ledger.day import Day
from tests.support.ledger.blocks import block_rows
from tests.support.ledger.books import followed

Sums = dict[tuple[int, str, str, str], tuple[int, int, int]]


def counted(database: Database) -> Sums:
    """Return all totals, by day, measure, name and asset."""
    while add_totals(database):
        pass
    with database.reading() as connection:
        totals = totals_of(connection, 0, 2**31 - 1)
    return {total.key: (total.count, total.amount, total.value) for total in totals}


def added_up(database: Database, partner: str | None = None, channel: int = 0) -> Sums:
    """Return the totals, added up from the rows of facts one by one."""
    times = {row["number"]: row["time"] // DAY_MS for row in rows(database, "blocks")}
    requests = {row["request"]: row for row in rows(database, "requests")}
    sums: dict[tuple[int, str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])

    def add(block: int, measure: str, name: str, asset: str, amount: int, value: int = 0) -> None:
        sums_of_key = sums[times[block], measure, name, asset]
        for place, number in enumerate((1, amount, value)):
            sums_of_key[place] += number

    def is_partners(request: dict[str, Any]) -> bool:
        return partner is not None and (request["chain"], request["channel"]) == ("Ethereum", channel)

    for row in rows(database, "swaps"):
        request = requests[row["request"]]
        if row["state"] == "executed" and request["kind"].startswith("Regular"):
            middle = row["input"] if row["source"] == "Usdc" else row["intermediate"]
            value = row["output"] if row["target"] == "Usdc" else middle
            add(row["block"], "volume", "", row["source"], row["input"], value)
            name, measure = (
                (partner or "", "partner") if is_partners(request) else (request["account"], "broker")
            )
            add(row["block"], measure, name, "", 0, value)
    for row in rows(database, "fees"):
        add(row["block"], "fee", row["kind"], row["asset"], row["amount"])
    for row in rows(database, "commissions"):
        add(row["block"], "earned", row["account"], row["asset"], row["amount"])
        if is_partners(requests[row["request"]]):
            add(row["block"], "earned_with", partner or "", row["asset"], row["amount"])
    return {key: (count, amount, value) for key, (count, amount, value) in sums.items()}


async def test_totals_are_the_sums_of_all_facts(day: Day, make_database: MakeDatabase) -> None:
    """Add up to the rows of all facts, for each day, measure, name and asset."""
    database = await books_of_day(day, make_database)
    totals = counted(database)
    assert totals == added_up(database)
    volumes = {key[3]: sums for key, sums in totals.items() if key[1] == "volume"}
    assert volumes.keys() == {"Eth", "Btc"}
    assert all(value > 0 for _, _, value in volumes.values())
    assert {key[2] for key in totals if key[1] == "earned"} == {day.broker, day.affiliate}
    assert not add_totals(database)


async def test_swaps_of_a_partners_channel_are_the_partners(day: Day, make_database: MakeDatabase) -> None:
    """Count a partner's swaps and earnings under its name instead of the broker's."""
    database = await books_of_day(day, make_database)
    opened = next(
        row for row in rows(database, "channels") if row["chain"] == "Ethereum" and row["channel"] == 1
    )
    row = {"id": "1", "partner": "shop", "month": "2026-01", "state": "opened", "cost": 0,
           "chain": "Ethereum", "channel": 1, "opened": opened["block"], "at": 0}  # fmt: skip
    with database.writing() as connection:
        connection.execute(insert(partner_channels), row)
    totals = counted(database)
    assert totals == added_up(database, "shop", channel=1)
    assert {key[1] for key in totals if key[2] == "shop"} == {"partner", "earned_with"}


@pytest.mark.parametrize(("blocks", "events"), [(1, 1), (7, 20)])
async def test_counting_in_small_steps_comes_to_the_same(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch, blocks: int, events: int
) -> None:
    """Reach the same totals though a step counts one block or a few events."""
    database = await books_of_day(day, make_database)
    monkeypatch.setattr(day_totals, "MAX_COUNTED_BLOCKS", blocks)
    monkeypatch.setattr(day_totals, "MAX_COUNTED_EVENTS", events)
    assert counted(database) == added_up(database)


async def test_books_that_go_back_take_their_totals_back(day: Day, make_database: MakeDatabase) -> None:
    """Subtract what the books forget, and reach the same totals after they have caught up."""
    database = await books_of_day(day, make_database)
    fresh = counted(database)
    for number in (day.head, 40, 2):
        Books(database).go_back(number)
        assert counted(database) == added_up(database)
        await followed(database, Source(day.url))
        assert counted(database) == fresh
        with database.reading() as connection:
            assert counted_block(connection) == day.head


def test_only_days_since_a_block_are_taken_back(make_database: MakeDatabase) -> None:
    """Forget whole days from a block on, and count only those anew; sums exceed 128 bits."""
    database = make_database()
    database.migrate()
    blocks = block_rows({number: number * DAY_MS // 2 for number in range(20)})
    fee = {"event": 0, "place": 0, "kind": "opening", "account": None, "asset": "Flip", "amount": 2**128 - 1}
    with database.writing() as connection:
        connection.execute(insert(schema.blocks), blocks)
        connection.execute(insert(schema.fees), [fee | {"block": block["number"]} for block in blocks])
    most = 2**128 - 1
    assert counted(database) == {(day, "fee", "opening", "Flip"): (2, 2 * most, 0) for day in range(10)}
    with database.writing() as connection:
        day_totals.forget_totals(connection, 9)
        assert [total.day for total in totals_of(connection, 0, 99)] == [0, 1, 2, 3]
        assert counted_block(connection) == 7
    assert len(counted(database)) == 10


def test_a_day_has_its_first_and_its_last_millisecond(make_database: MakeDatabase) -> None:
    """Count a block at 23:59:59.999 and one at midnight for different days, and forget them likewise."""
    database = make_database()
    database.migrate()
    times = {1: DAY_MS - 1, 2: DAY_MS, 3: 2 * DAY_MS - 1, 4: 2 * DAY_MS}
    fee = {"event": 0, "place": 0, "kind": "opening", "account": None, "asset": "Flip"}
    with database.writing() as connection:
        connection.execute(insert(schema.blocks), block_rows(times))
        connection.execute(insert(schema.fees), [fee | {"block": time, "amount": 10**time} for time in times])
    by_day = {key[0]: sums for key, sums in counted(database).items()}
    assert by_day == {0: (1, 10, 0), 1: (2, 1_100, 0), 2: (1, 10_000, 0)}
    with database.writing() as connection:
        day_totals.forget_totals(connection, 5)
        assert counted_block(connection) == 4, "no counted block changes"
        day_totals.forget_totals(connection, 4)
        assert [total.day for total in totals_of(connection, 0, 9)] == [0, 1]
        assert counted_block(connection) == 3
        day_totals.forget_totals(connection, 2)
        assert [total.day for total in totals_of(connection, 0, 9)] == [0]
        assert counted_block(connection) == 1


def test_a_total_is_named_by_day_measure_name_and_asset() -> None:
    """Identify a total by its day, measure, name and asset."""
    assert DayTotal(3, "fee", "broker", "Usdc", 1, 2).key == (3, "fee", "broker", "Usdc")
