"""A service that waits learns at once that the books have begun, or that the ledger writes again."""

from __future__ import annotations

import logging
from functools import partial
from itertools import pairwise

import pytest
import trio

from cfnode.ledger import updates as updates_module
from cfnode.ledger.database import Database
from cfnode.ledger.errors import WrongNodeChain
from cfnode.ledger.follower import Source
from cfnode.ledger.updates import Updates, updates
from cfnode.swap_service.live_network import link as link_module
from cfnode.swap_service.live_network.link import NodeLink
from cfnode.swap_service.live_network.source import LiveSource
from tests.ledger.conftest import MakeDatabase
from tests.ledger.day import Day
from tests.support.ledger.books import followed
from tests.support.ports import free_port
from tests.support.waiting import LIMIT_S, until

NEVER_S = 10**6
"""A pause that no test outlives: only news ends it."""


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a task that pauses wait for news alone."""
    for name in ("RECONNECT_PAUSE_S", "MAX_RECONNECT_PAUSE_S"):
        monkeypatch.setattr(link_module, name, NEVER_S)
    for name in ("LISTEN_RETRY_S", "MAX_LISTEN_RETRY_S"):
        monkeypatch.setattr(updates_module, name, NEVER_S)


@pytest.mark.usefixtures("no_pauses")
@pytest.mark.parametrize("has_tables", [True, False], ids=["tables", "no tables"])
async def test_a_service_connects_when_the_books_begin(
    day: Day, make_database: MakeDatabase, has_tables: bool
) -> None:
    """Connect node and broker at the news of the first block, with tables or without any before."""
    database = make_database()
    if has_tables:
        database.migrate()
    source = LiveSource(database, (day.url, None), (day.url, None))
    assert source.broker_link is not None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(source.run)
        for link in (source.link, source.broker_link):
            await until(lambda link=link: "yet" not in (link.fault or "yet"))
            assert link.fault is not None
        await begun(database, day)
        for link in (source.link, source.broker_link):
            await until(lambda link=link: link.fault is None, lambda link=link: link.fault)
            assert await link.call("system_chain") == day.chain.rpc("system_chain")
        nursery.cancel_scope.cancel()


async def begun(database: Database, day: Day) -> None:
    """Begin the books, as another process."""
    other = Database(database._engine.url.render_as_string(hide_password=False))
    try:
        await followed(other, Source(day.url, first=1))
    finally:
        other.close()


@pytest.mark.usefixtures("no_pauses")
async def test_updates_begin_with_the_first_block_of_new_books(day: Day, make_database: MakeDatabase) -> None:
    """Receive the blocks of books that had no tables when the stream began."""
    database = make_database()
    async with updates(database) as stream:
        await begun(database, day)
        with trio.fail_after(LIMIT_S):
            async for block in stream:
                if block == day.head:
                    break


@pytest.mark.usefixtures("no_pauses")
async def test_a_node_that_was_away_is_asked_again_when_the_ledger_writes(day: Day) -> None:
    """Connect to a node again at the news of a block rather than at the end of a pause."""
    host, port = day.url.removeprefix("http://").split(":")
    address = free_port()

    async def forward(client: trio.SocketStream) -> None:
        async with client, await trio.open_tcp_stream(host, int(port)) as node, trio.open_nursery() as both:
            both.start_soon(pumped, client, node)
            await pumped(node, client)
            both.cancel_scope.cancel()

    async def pumped(source: trio.SocketStream, target: trio.SocketStream) -> None:
        async for data in source:
            await target.send_all(data)

    async def right(_: object) -> None:
        await trio.lowlevel.checkpoint()

    news, link = Updates(), NodeLink(f"http://127.0.0.1:{address}", None, right)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(link.run, news)
        await until(lambda: "no connection to" in (link.fault or "") and "yet" not in (link.fault or ""))
        await nursery.start(partial(trio.serve_tcp, forward, address, host="127.0.0.1"))
        news.set(7)
        await until(lambda: link.fault is None)
        assert await link.call("system_chain") == day.chain.rpc("system_chain")
        nursery.cancel_scope.cancel()


@pytest.mark.usefixtures("no_pauses")
async def test_fast_news_costs_a_node_few_connections_and_the_log_one_line(
    day: Day, caplog: pytest.LogCaptureFixture
) -> None:
    """Connect at most once in the least pause however fast blocks arrive, and warn once."""
    times = list[float]()

    async def wrong(_: object) -> None:
        times.append(trio.current_time())
        raise WrongNodeChain("another chain")

    news, link = Updates(), NodeLink(day.url, None, wrong)
    caplog.set_level(logging.DEBUG, "cfnode.service")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(link.run, news)
        block = 0
        while len(times) < 5:
            news.set(block := block + 1)
            await trio.sleep(link_module.MIN_RECONNECT_PAUSE_S / 20)
        nursery.cancel_scope.cancel()
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps) >= link_module.MIN_RECONNECT_PAUSE_S
    levels = [
        record.levelname for record in caplog.records if "another chain; trying again" in record.message
    ]
    assert levels[0] == "WARNING"
    assert set(levels[1:]) == {"DEBUG"}
