"""What goes away comes back, and what is wrong is said: nodes, databases, migrations, clocks."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trio
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import event, text, update

from cfnode.ledger import follower, schema
from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, _alembic, sqlite_url
from cfnode.ledger.errors import WrongNodeChain
from cfnode.ledger.follower import Follower, Source
from cfnode.ledger.service_tables import deliveries
from cfnode.ledger.webhooks import queue
from cfnode.testing import DevChain, running_node
from tests.conftest import ROOT
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import dump, rows
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS, Day
from tests.ledger.postgres import MISSING, by_length, is_installed, running_postgres
from tests.lengths import repeats
from tests.support.ledger.books import followed
from tests.support.ledger.webhooks import NOWHERE, noted
from tests.support.waiting import until

LIMIT_S = 60
YEAR_MS = 365 * 86_400_000


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let faults be tried again after some milliseconds."""
    monkeypatch.setattr(follower, "RECONNECT_S", 0.02)
    monkeypatch.setattr(follower, "MAX_RECONNECT_S", 0.02)
    yield


# Nodes


@asynccontextmanager
async def breaking(url: str, lives: list[int]) -> AsyncIterator[str]:
    """Yield a way to a node that breaks each connection after some bytes, while `lives` has a number."""
    target = urlsplit(url)
    assert target.hostname
    assert target.port

    async def copy(source: trio.SocketStream, sink: trio.SocketStream, most: int | None) -> None:
        async for data in source:
            if most is not None and (most := most - len(data)) < 0:
                return
            await sink.send_all(data)

    async def serve(client: trio.SocketStream) -> None:
        most = lives.pop(0) if lives else None
        node = await trio.open_tcp_stream(target.hostname or "", target.port or 0)
        async with client, node, trio.open_nursery() as nursery:

            async def ends(*way: Any) -> None:
                with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                    await copy(*way)
                nursery.cancel_scope.cancel()

            nursery.start_soon(ends, client, node, None)
            nursery.start_soon(ends, node, client, most)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, serve, 0)
        yield f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


async def test_a_connection_that_breaks_anywhere_is_made_again(
    day: Day, tmp_path: Path, impatient: None, caplog: pytest.LogCaptureFixture
) -> None:
    """Connect again after each broken connection, say so, and lose no block."""
    fresh, books = (Database(sqlite_url(tmp_path / f"{name}.sqlite")) for name in ("fresh", "books"))
    await followed(fresh, Source(day.url, first=1))
    left = [2_000, 500_000, 2_500_000]
    async with breaking(day.url, left) as url:
        with trio.fail_after(LIMIT_S):
            await followed(books, Source(url, first=1))
    assert left == []
    assert "; trying again in 0.02 s" in caplog.text
    assert f"the connection to {url} ended: the server closed the connection" in caplog.text
    assert dump(books) == dump(fresh)


@pytest.mark.world
async def test_a_node_behind_the_books_is_waited_for_and_another_chain_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Wait for a node that is behind, and write nothing; stop once it has another block there."""
    books = Database(sqlite_url(tmp_path / "books.sqlite"))
    with running_node(tmp_path / "node") as node, DevChain(node.url) as chain:
        chain.new_block(4)
        chain.finalize()
    shutil.copytree(tmp_path / "node", tmp_path / "copy")
    with running_node(tmp_path / "node") as node, DevChain(node.url) as chain:
        chain.new_block(4)
        chain.finalize()
        await followed(books, Source(node.url, first=1))
        head, before = rows(books, "blocks")[-1], dump(books)
    with running_node(tmp_path / "copy") as node, DevChain(node.url) as chain:
        warning = f"{node.url} is behind the books, which have block {head['number']}"
        faults: list[str] = []

        async def follow() -> None:
            try:
                await Follower(Source(node.url), Books(books)).run()
            except WrongNodeChain as error:
                faults.append(str(error))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(follow)
            await until(lambda: warning in caplog.text)
            assert dump(books) == before
            chain.broker.register()  # a block that the books do not have
            chain.new_block(8)
            chain.finalize()
            await until(lambda: bool(faults))
    assert faults[0].startswith(f"block {head['number']} of the node is 0x")
    assert dump(books) == before


@pytest.mark.world
async def test_blocks_that_are_not_final_are_not_in_the_books(tmp_path: Path) -> None:
    """Write only the branch that became final, block by block, as the node has it in the end."""
    books = Database(sqlite_url(tmp_path / "books.sqlite"))
    with running_node(tmp_path / "node") as node, DevChain(node.url) as chain:
        chain.broker.register()
        channel = chain.broker.open_channel("Eth", "Btc", BTC_ADDRESS, refund_address=EVM_ADDRESS)
        chain.finalize()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Follower(Source(node.url, first=1), Books(books)).run)
            base = chain.rpc("chain_getFinalizedHead")
            await until(lambda: tip_of(books) == base)
            chain.rpc("dev_holdFinality", True)
            chain.deposit(channel["address"], "Eth", 10**18)
            chain.new_block(3)
            other = base
            for _ in range(12):
                other = chain.rpc("dev_newBlock", other)
            chain.rpc("dev_finalize", other)
            await until(lambda: tip_of(books) == other)
            nursery.cancel_scope.cancel()
        numbers = [row["number"] for row in rows(books, "blocks")]
        assert numbers == list(range(len(numbers)))
        for row in rows(books, "blocks"):
            assert chain.rpc("chain_getBlockHash", row["number"]) == row["hash"]
        await followed(books, Source(node.url))
        later = Database(sqlite_url(tmp_path / "later.sqlite"))
        assert dump(books) == dump(await followed(later, Source(node.url, first=1)))
    assert len(rows(books, "channels")) == 1


def tip_of(books: Database) -> str | None:
    """Return the hash of the newest block; None before there are tables."""
    try:
        tip = Books(books).tip()
    except Exception:
        return None
    return None if tip is None else tip.hash


# Databases


@pytest.mark.world
async def test_a_database_that_is_away_is_tried_again(
    day: Day, impatient: None, caplog: pytest.LogCaptureFixture
) -> None:
    """Wait for PostgreSQL that is away, and log its address without the password."""
    if not is_installed():
        pytest.skip(MISSING)
    with running_postgres() as server:
        url = server.new_database("away").replace("//postgres@", "//postgres:a-secret@")
        server.crash()
        books = Database(url)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(followed, books, Source(day.url, first=1))
            await until(lambda: caplog.text.count("; trying again in") > 2)
            await trio.to_thread.run_sync(server.start)
        assert rows(books, "blocks")[-1]["number"] == day.head
        books.close()
    assert "postgresql+psycopg://postgres:***@/away" in caplog.text
    assert "a-secret" not in caplog.text


async def test_a_full_disk_in_the_middle_loses_nothing(
    day: Day, tmp_path: Path, impatient: None, caplog: pytest.LogCaptureFixture
) -> None:
    """Stop at a full disk and go on when there is room, to the tables of an unbroken run."""
    fresh = await followed(Database(sqlite_url(tmp_path / "fresh.sqlite")), Source(day.url, first=1))
    books = Database(sqlite_url(tmp_path / "books.sqlite"))
    books.migrate()
    with closing(sqlite3.connect(tmp_path / "books.sqlite")) as connection:
        connection.execute("VACUUM")  # migrations leave free pages
    with books.reading() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    room = [pages + 20]

    def limit(connection: Any) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {room[0]}")

    event.listen(books._engine, "begin", limit)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(followed, books, Source(day.url, first=1))
        await until(lambda: "database or disk is full; trying again in" in caplog.text)
        partly = rows(books, "blocks")[-1]["number"]
        assert partly < day.head
        room[0] = 2**30
    assert dump(books) == dump(fresh)


@pytest.mark.world
def test_a_migration_that_is_killed_anywhere_is_done_again(make_database: MakeDatabase) -> None:
    """Kill the migration of boosts between statements; the next one still moves the channel over."""
    database, config = make_database(), _alembic()
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0003")
        connection.execute(
            text("INSERT INTO events VALUES (5, 1, 'BitcoinIngressEgress', 'A', '{\"channel_id\": 7}')")
        )
        connection.execute(
            text(
                "INSERT INTO boosts (block, event, place, state, chain, prewitnessed, amount, fee) "
                "VALUES (5, 1, 0, 'refused', 'Bitcoin', 1, 1, 0)"
            )
        )
    url = database._engine.url.render_as_string(hide_password=False)
    line = [sys.executable, "-m", "tests.ledger.killed", "migrate", url, str(repeats(1, 12))]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) >= repeats(30, 2)
    assert [row["channel"] for row in rows(database, "boosts")] == [7]
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []


# Clocks


@pytest.mark.parametrize("wrong", [0, time.time_ns() + YEAR_MS * 10**6], ids=["in 1970", "a year ahead"])
async def test_the_books_do_not_depend_on_this_machines_clock(
    day: Day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: int
) -> None:
    """Take times from blocks alone: a clock in 1970 or a year ahead makes equal books."""
    fresh, books = (Database(sqlite_url(tmp_path / f"{name}.sqlite")) for name in ("fresh", "books"))
    await followed(fresh, Source(day.url, first=1))
    monkeypatch.setattr(time, "time_ns", lambda: wrong)
    monkeypatch.setattr(time, "time", lambda: wrong / 1e9)
    await followed(books, Source(day.url, first=1))
    assert dump(books) == dump(fresh)


@by_length
@pytest.mark.parametrize("behind", [-YEAR_MS, YEAR_MS])
async def test_deliveries_of_a_wrong_clock_are_sent_when_it_is_right(
    day: Day, make_database: MakeDatabase, behind: int
) -> None:
    """Deliver what was scheduled by a clock a year off once the clock is right."""
    database = make_database()
    (webhook,) = await noted(database, day, NOWHERE)
    now = time.time_ns() // 1_000_000
    with database.writing() as connection:
        connection.execute(update(deliveries).values(next_at=now - behind))
    assert queue.due_webhooks(database, now) == [webhook]
    (claim,) = queue.claimed(database, webhook, now - behind, 1_000, 1)
    (again,) = queue.claimed(database, webhook, now + 2_000, 1_000, 1)
    assert again.change == claim.change
    failed = queue.Attempt(500, "answered 500")
    assert queue.mark(database, again, failed, now + 3_000, 5_000).state == "pending"
