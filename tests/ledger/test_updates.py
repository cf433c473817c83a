"""Live updates: each process hears of a block that another one wrote, on both databases."""

from __future__ import annotations

import psycopg
import pytest
import trio

from cfnode.ledger import updates as module
from cfnode.ledger.database import Database
from cfnode.ledger.errors import NodeError
from cfnode.ledger.follower import Source
from cfnode.ledger.updates import Updates, updates
from tests.ledger.conftest import MakeDatabase
from tests.ledger.day import Day
from tests.ledger.postgres import Server
from tests.support.ledger.books import followed

LIMIT_S = 60.0
"""Far above what is waited for, so that only a hang fails."""


async def until(stream: Updates, block: int, numbers: list[int]) -> None:
    """Read blocks until the given one has come."""
    with trio.fail_after(LIMIT_S):
        async for number in stream:
            numbers.append(number)
            if number == block:
                return
    raise AssertionError


async def test_several_readers_get_the_newest_block(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Give two readers the newest block at last, in growing order, and a late one that block alone."""
    monkeypatch.setattr(module, "NEWEST_BLOCK_POLL_S", 0.02)
    database, lists = make_database(), list[list[int]]([[], []])
    database.migrate()
    async with updates(database) as stream, trio.open_nursery() as nursery:
        for numbers in lists:
            nursery.start_soon(until, stream, day.head, numbers)
        await followed(database, Source(day.url, first=1))
    for numbers in lists:
        assert numbers == sorted(set(numbers))
    late: list[int] = []
    async with updates(database) as stream:
        await until(stream, day.head, late)
        assert stream.newest == day.head
    assert late == [day.head]


async def test_an_error_of_the_reader_stays_itself(make_database: MakeDatabase) -> None:
    """Raise the reader's own error from a stream instead of a group."""
    database = make_database()
    database.migrate()
    with pytest.raises(NodeError, match="gone"):
        async with updates(database) as stream:
            assert stream.newest is None
            raise NodeError("gone")


async def test_it_listens_again_when_the_server_ended_its_connection(
    day: Day, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Listen again after the server ended the connection, and miss no block."""
    monkeypatch.setattr(module, "LISTEN_RETRY_S", 0.05)
    url = postgres.new_database("listening")
    database = Database(url)
    database.migrate()
    async with updates(database) as stream:
        with psycopg.connect(url, autocommit=True) as connection:
            query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
            with trio.fail_after(LIMIT_S):
                while not connection.execute(query).fetchall():  # noqa: ASYNC110  # a thread connects
                    await trio.sleep(0.02)
        await followed(database, Source(day.url, first=1))
        await until(stream, day.head, [])
    database.close()
