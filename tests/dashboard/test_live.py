"""A new block reaches each browser that watches, on both databases; streams end with the service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
from sqlalchemy import insert

from cfnode.dashboard import Dashboard, pulse
from cfnode.ledger import schema
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.day_totals import counted_block
from cfnode.ledger.updates import announce
from cfnode.swap_service.live_network.server import ListenAddress, serve
from cfnode.swap_service.live_network.source import LiveSource
from tests.dashboard.visiting import TOKEN, OfficialNode, tokens
from tests.ledger.postgres import BOTH, MISSING, is_installed, running_postgres
from tests.lengths import repeats

PATIENCE_S = 60.0


@pytest.fixture(params=BOTH[: repeats(2, 1)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """Yield a database with its tables, in SQLite and in PostgreSQL."""
    if request.param == "sqlite":
        made = Database(sqlite_url(tmp_path / "books.sqlite"))
        made.migrate()
        yield made
        made.close()
        return
    if not is_installed():
        pytest.skip(MISSING)
    with running_postgres() as server:
        made = Database(server.new_database("live"))
        made.migrate()
        yield made
        made.close()


def write_block(database: Database, number: int) -> None:
    """Write a block with one fee, as a follower does."""
    block = {"number": number, "hash": f"0x{number}", "parent": "", "time": 1_764_000_000_000 + number,
             "spec_version": 1, "events": 1}  # fmt: skip
    fee = {"block": number, "event": 0, "place": 0, "kind": "opening", "asset": "Flip", "amount": 10**18}
    with database.writing() as connection:
        connection.execute(insert(schema.blocks), block)
        connection.execute(insert(schema.fees), fee)
        announce(connection, number)


@asynccontextmanager
async def served(database: Database) -> AsyncIterator[tuple[Dashboard, httpx.AsyncClient, trio.CancelScope]]:
    """Yield a service with the page, and a client that has logged in."""
    page = Dashboard(database, OfficialNode(), tokens)
    source = LiveSource(database, ("http://127.0.0.1:9", None))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(page.run)
        port = await nursery.start(serve, source, ListenAddress("127.0.0.1", 0), page)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S) as client:
            await client.post("/web/login", data={"token": TOKEN})
            yield page, client, nursery.cancel_scope
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def watching(client: httpx.AsyncClient) -> AsyncIterator[Any]:
    """Yield the numbers of blocks that a browser gets."""
    async with client.stream("GET", "/web/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["x-accel-buffering"] == "no"
        lines = answer.aiter_lines()

        async def numbers() -> AsyncIterator[int]:
            async for line in lines:
                if line.startswith("data: "):
                    yield int(line.removeprefix("data: "))

        yield numbers()


async def test_each_browser_gets_each_block_and_the_page_has_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Send each block to both browsers, after which figures and front page include it."""
    monkeypatch.setattr(pulse, "MIN_EVENT_GAP_S", 0.0)
    write_block(database, 1)
    with trio.fail_after(PATIENCE_S):
        async with served(database) as (page, client, _), watching(client) as one, watching(client) as two:
            for number in (2, 3, 4):
                await trio.to_thread.run_sync(write_block, database, number)
                for stream in (one, two):
                    async for block in stream:
                        if block == number:
                            break
                text = (await client.get("/web/figures")).text
                assert f"{number} FLIP" in text
                assert f"Block {number}" in (await client.get("/web/")).text
            assert page._context.pulse._streams == 2
        with database.reading() as connection:
            assert counted_block(connection) == 4


async def test_a_browser_that_goes_away_frees_its_place(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse one browser too many with 503, and admit it once another has gone."""
    monkeypatch.setattr(pulse, "MAX_BROWSER_STREAMS", 1)
    write_block(database, 1)
    with trio.fail_after(PATIENCE_S):
        async with served(database) as (page, client, _):
            async with watching(client) as stream:
                async for _ in stream:
                    break
                refused = await client.get("/web/events")
                assert (refused.status_code, "Too many browsers" in refused.text) == (503, True)
            while page._context.pulse._streams:  # noqa: ASYNC110  # the server notices when the client has gone
                await trio.sleep(0.05)
            async with watching(client) as stream:
                async for _ in stream:
                    break


async def test_a_stream_ends_by_itself_before_the_server_ends_the_connection(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End a stream after its duration with the newest block sent: the browser then opens the next."""
    monkeypatch.setattr(pulse, "STREAM_DURATION_S", 0.2)
    write_block(database, 1)
    with trio.fail_after(PATIENCE_S):
        async with served(database) as (page, client, _):
            while page._context.pulse.block == 0:  # noqa: ASYNC110  # the page looks for the newest block
                await trio.sleep(0.05)
            async with watching(client) as stream:
                assert [block async for block in stream] == [1]


async def test_streams_end_with_the_service(database: Database) -> None:
    """End the open streams when the service is cancelled, instead of waiting for their browsers."""
    write_block(database, 1)
    with trio.fail_after(PATIENCE_S):
        async with served(database) as (_, client, scope), watching(client) as stream:
            began = False
            async for _ in stream:
                began = True
                scope.cancel()
            assert began


async def test_a_stream_needs_a_session(database: Database) -> None:
    """Redirect a stream without a session, and keep host check and other paths of the port in force."""
    with trio.fail_after(PATIENCE_S):
        async with served(database) as (_, client, _):
            client.cookies.clear()
            assert (await client.get("/web/events")).status_code == 303
            assert (await client.get("/web/", headers={"host": "evil.example"})).status_code == 403
            assert (await client.get("/v2/elsewhere")).status_code == 404
            assert (await client.get("/healthcheck")).text == "OK"
