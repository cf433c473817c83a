"""Receivers that are no HTTP servers, or bad ones: nothing hangs or is lost, and `list` has the reason."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest
import trio

from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.webhooks import registry
from cfnode.ledger.webhooks.deliverer import Deliverer, Pace
from cfnode.ledger.webhooks.registry import Chosen
from tests.ledger.contents import rows
from tests.ledger.day import Day
from tests.ledger.receivers import receiving
from tests.support.ledger.webhooks import by_swap, left, noted
from tests.support.waiting import until

pytestmark = pytest.mark.world

Behaviour = Callable[[trio.SocketStream], Awaitable[None]]
FAST = Pace(poll_s=0.02, limit_s=2.0, lease_s=5.0, first_pause_s=0.05, max_pause_s=0.1)
WAIT_S = 60


@asynccontextmanager
async def listening(behave: Behaviour) -> AsyncIterator[str]:
    """Yield a port whose connections get what `behave` sends, and end with it; the URL."""

    async def serve(stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async with stream:
                await behave(stream)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, serve, 0)
        yield f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/hook"
        nursery.cancel_scope.cancel()


async def accepts_unread(stream: trio.SocketStream) -> None:
    """Send status 200, whatever was or will be asked."""
    await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    async for _ in stream:
        pass


async def half_an_answer(stream: trio.SocketStream) -> None:
    """Send status 200, and less of a body than announced."""
    await stream.receive_some()
    await stream.send_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nwell")


async def closes(stream: trio.SocketStream) -> None:
    """Send nothing."""
    await stream.receive_some()


async def speaks_otherwise(stream: trio.SocketStream) -> None:
    """Send another protocol."""
    await stream.receive_some()
    await stream.send_all(b"220 mail.example ESMTP\r\n")


async def drips(stream: trio.SocketStream) -> None:
    """Send a head that never ends."""
    await stream.send_all(b"HTTP/1.1 200 OK\r\n")
    while True:
        await stream.send_all(b"x-more: of it\r\n")
        await trio.sleep(0.05)  # in drops


def errors(database: Database) -> dict[str, str | None]:
    """Return the newest error of each webhook, as `list` has it."""
    return {webhook.id: webhook.error for webhook in registry.listed(database)}


def are_named(errors_by_id: dict[str, str | None], ids: list[str]) -> bool:
    """Return whether the faults of those are named that close, speak another protocol, and drip."""
    *broken, dripping = (str(errors_by_id[identity]) for identity in ids)
    is_broken = all(error.startswith("no answer (Network error: ") for error in broken)
    return is_broken and dripping == "no answer within 2 s"


async def test_strange_receivers(day: Day, tmp_path: Path) -> None:
    """Deliver to the good receiver, name the fault of each bad one, and send all again by command."""
    database = Database(sqlite_url(tmp_path / "books.sqlite"))
    ways = (accepts_unread, half_an_answer, closes, speaks_otherwise, drips)
    async with AsyncExitStack() as stack:
        good = stack.enter_context(receiving())
        urls = [await stack.enter_async_context(listening(way)) for way in ways]
        ids = await noted(database, day, good.url, *urls)
        with trio.fail_after(WAIT_S):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(Deliverer(database, FAST).run)
                await until(lambda: not any(left(database, identity) for identity in ids[:3]))
                await until(lambda: are_named(errors(database), ids[3:]))
                nursery.cancel_scope.cancel()
    assert good.states() == by_swap(database)
    errors_by_id = errors(database)
    assert [errors_by_id[identity] for identity in ids[:3]] == [None, None, None]
    assert are_named(errors_by_id, ids[3:])
    for identity in ids[3:]:
        assert left(database, identity) == len(rows(database, "changes"))
    # A receiver that has answered 200 and kept nothing gets all again by command.
    assert registry.replay(database, ids[1], Chosen(start=0, end=2**45)) == len(rows(database, "changes"))
    assert left(database, ids[1]) == len(rows(database, "changes"))
