"""Reports and open channels are what a reader of all rows finds, and read their own rows by indexes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from cfnode.ledger import block_times, pages, reports
from cfnode.ledger import open_channels as channels_module
from cfnode.ledger.block_times import block_range, blocks_between
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.open_channels import channel_of, open_channels, open_count
from cfnode.ledger.reports import REPORTS, Period, report
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import rows
from tests.lengths import repeats
from tests.support.ledger.random_books import (
    ACCOUNTS,
    CHAINS,
    HEIGHT,
    NUMBERS,
    RandomBooks,
    fill,
    random_books,
    times,
)

Record = dict[str, Any]
EXAMPLES = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=repeats(300, 15),
)
TIME = st.none() | times()
_MADE: dict[int, Database] = {}


def filled(make_database: MakeDatabase, books: RandomBooks) -> Database:
    """Return one database for all examples of a test, with these rows only."""
    database = _MADE.get(id(make_database))
    if database is None:
        database = _MADE[id(make_database)] = make_database()
        database.migrate()
    fill(database, books)
    return database


def in_period(books: RandomBooks, period: Period) -> dict[int, int]:
    """Return the times of the blocks of a period, by number, by a look at each block."""
    return {
        number: time
        for number, time in books.blocks
        if (period.start is None or time >= period.start) and (period.end is None or time < period.end)
    }


def read_by_scan(
    database: Database, books: RandomBooks, name: str, period: Period, account: str | None
) -> list[Record]:
    """Return the records of a report out of all rows of all tables."""
    table, describe = REPORTS[name]
    known = in_period(books, period)
    chosen = [
        row | {"time": known[row["block"]]}
        for row in rows(database, table.name)
        if row["block"] in known and (account is None or row.get("account", account) == account)
    ]

    def related(_: Any, table: Any, column: str, values: list[Any], chains: Any = ()) -> dict[Any, Any]:
        by_value: dict[Any, list[Record]] = {value: [] for value in (*values, None)}
        for row in rows(database, table.name):
            if row[column] is not None and row[column] in by_value and (not chains or row["chain"] in chains):
                by_value[row[column]].append(row)
        return by_value

    with pytest.MonkeyPatch.context() as patch, database.reading() as connection:
        patch.setattr(reports, "related", related)
        return list(describe(connection, chosen))


@EXAMPLES
@given(books=random_books(), start=TIME, end=TIME, account=st.sampled_from((None, *ACCOUNTS, "cFc")))
def test_a_report_of_a_period_is_what_a_scan_of_all_rows_finds(
    make_database: MakeDatabase, books: RandomBooks, start: int | None, end: int | None, account: str | None
) -> None:
    """Return the records, member for member, that a scan of all rows finds, in pages of two rows."""
    database, period = filled(make_database, books), Period(start, end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "FACT_PAGE_ROWS", 2)
        for name in REPORTS:
            records = list(report(database, name, period, account))
            expected = read_by_scan(database, books, name, period, account)
            assert repr(records) == repr(expected), name  # with the members in their order


@EXAMPLES
@given(books=random_books(), start=TIME, end=TIME, probes=st.integers(1, 5))
def test_the_blocks_of_a_period_are_those_of_its_times(
    make_database: MakeDatabase, books: RandomBooks, start: int | None, end: int | None, probes: int
) -> None:
    """Find the blocks of a period by a few probes, though numbers are missing and times are equal."""
    with pytest.MonkeyPatch.context() as patch, filled(make_database, books).reading() as connection:
        patch.setattr(block_times, "PROBED_BLOCKS", probes)
        first, after = blocks_between(connection, start, end)
        span = block_range(connection)
    numbers = [number for number, _ in books.blocks]
    assert span == ((numbers[0], numbers[-1]) if numbers else None)
    assert [number for number in numbers if first <= number < after] == list(
        in_period(books, Period(start, end))
    )


@pytest.mark.parametrize("probes", [1, 2, 5])
def test_each_time_leads_to_its_own_block(
    make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch, probes: int
) -> None:
    """Find each of twenty blocks by its time, and by the time between it and the one before."""
    monkeypatch.setattr(block_times, "PROBED_BLOCKS", probes)
    blocks = tuple((number, 10 * number) for number in range(1, 21))
    with filled(make_database, RandomBooks(blocks, {})).reading() as connection:
        for number, time in blocks:
            assert blocks_between(connection, time, time + 1) == (number, number + 1)
            assert blocks_between(connection, time - 9, time) == (number, number)


@EXAMPLES
@given(
    books=random_books(),
    most=st.integers(1, 8),
    before=st.none() | st.tuples(st.integers(0, 40), st.integers(0, 40)),
    few=st.sampled_from((1, 2, 5, 100)),
    part=st.sampled_from((1, 3, 100)),
)
def test_open_channels_are_those_that_a_scan_of_all_rows_finds(
    make_database: MakeDatabase,
    books: RandomBooks,
    most: int,
    before: tuple[int, int] | None,
    few: int,
    part: int,
) -> None:
    """List open channels, newest first, with their deposits, as a scan of all rows finds them."""
    database, known = filled(make_database, books), dict(books.blocks)
    expected = [
        (row["block"], row["event"], known[row["block"]], row["chain"], row["channel"])
        for row in reversed(rows(database, "channels"))
        if row["address"] is not None and (row["expiry_block"] or 0) > HEIGHT
    ]
    paid = [row for row in rows(database, "deposits") if row["state"] in ("finalised", "boosted")]
    with pytest.MonkeyPatch.context() as patch, database.reading() as connection:
        limits = {"MIN_SCANNED_CHANNELS": few, "PART_CHANNELS": part, "MAX_CHANNEL_PARTS": 100}
        for name, value in limits.items():
            patch.setattr(channels_module, name, value)
        channels = open_channels(connection, most, before)
        wanted = [key for key in expected if before is None or key[:2] < before]
        assert [_key(channel) for channel in channels] == wanted[:most]
        for open_channel in channels:
            place = (open_channel.chain, open_channel.channel, open_channel.block)
            own = [row for row in paid if (row["chain"], row["channel"], row["opened"]) == place]
            assert open_channel.deposits == len(own)
        for chain in CHAINS:
            for number in NUMBERS:
                newest = next((key for key in expected if key[3:] == (chain, number)), None)
                channel = channel_of(connection, chain, number)
                assert (None if channel is None else _key(channel)) == newest
    with database.reading() as connection:
        assert open_count(connection) == sum(
            (row["expiry_block"] or 0) > HEIGHT for row in rows(database, "channels")
        )


@pytest.mark.parametrize("account", [None, "cFa"])
def test_no_page_of_a_report_sorts_rows_or_begins_at_the_first_one(
    tmp_path: Path, account: str | None
) -> None:
    """Begin each page of a report within an index, without a sort and without the rows before."""
    database = Database(sqlite_url(tmp_path / "books.sqlite"))
    database.migrate()
    fill(database, RandomBooks(tuple((number, 6 * number) for number in range(100)), {}))
    for name, (table, _) in REPORTS.items():
        with planned(database) as plans:
            assert list(report(database, name, Period(60, 300), account)) == []
        (plan,) = (plan for plan in plans if f" {table.name} " in plan)
        by_account = account is not None and "account" in table.c
        index = f"{table.name}_by_account_block_event" if by_account else f"sqlite_autoindex_{table.name}_1"
        assert plan.startswith(f"SEARCH {table.name} USING INDEX {index}"), plan
        assert "TEMP B-TREE" not in plan


def test_a_page_of_channels_reads_only_these(tmp_path: Path) -> None:
    """Read one page of channels by an index instead of scanning the table."""
    database = Database(sqlite_url(tmp_path / "books.sqlite"))
    database.migrate()
    channel = {"kind": "swap", "chain": "Bitcoin", "channel": 1, "account": "cFa", "address": "a",
               "expiry_block": HEIGHT + 1, "has_message": False}  # fmt: skip
    rows = [channel | {"block": number, "event": 0} for number in range(100)]
    fill(database, RandomBooks(tuple((number, 6 * number) for number in range(100)), {"channels": rows}))
    with planned(database) as plans, database.reading() as connection:
        assert len(open_channels(connection, 10)) == 10
        assert channel_of(connection, "Bitcoin", 1) is not None
    assert [plan for plan in plans if "SCAN channels" in plan] == []
    assert plans[-3].startswith(
        "SEARCH channels USING INDEX channels_by_chain_channel_block_event (chain=? AND channel=?)"
    )
    assert "TEMP B-TREE" not in plans[-3]


@contextmanager
def planned(database: Database) -> Iterator[list[str]]:
    """Yield SQLite's plans of the queries that are made meanwhile."""
    plans: list[str] = []

    def plan(connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if statement.startswith("SELECT"):
            driver = connection.connection.dbapi_connection
            lines = driver.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()
            plans.append("\n".join(line[-1] for line in lines))

    event.listen(database._engine, "before_cursor_execute", plan)
    yield plans
    event.remove(database._engine, "before_cursor_execute", plan)


def _key(channel: channels_module.OpenChannel) -> tuple[int, int, int, str, int]:
    return channel.block, channel.event, channel.time, channel.chain, channel.channel
