"""Turns to have the broker sign: no two processes at once, none waits for ever, each call gets its turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from cfnode.ledger import signing_lock
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.errors import DatabaseError
from cfnode.swap_service.live_network import turns
from cfnode.swap_service.live_network.turns import ProcessTurns, SignerBusy
from tests.ledger.postgres import BOTH, MISSING, is_installed, running_postgres

CALLS = 30


@pytest.fixture(params=BOTH)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield the URL of a database, in SQLite and in PostgreSQL."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path / "books.sqlite")
        return
    if not is_installed():
        pytest.skip(MISSING)
    with running_postgres() as server:
        yield server.new_database("turns")


async def test_calls_of_two_processes_are_never_under_way_at_once(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let two processes sign in turns: never both at once, several calls a turn, all 60 in the end."""
    monkeypatch.setattr(turns, "SIGNING_TURN_S", 0.1)
    monkeypatch.setattr(turns, "LOCK_CHECK_INTERVAL_S", 0.02)
    monkeypatch.setattr(signing_lock, "LOCK_ATTEMPT_S", 0.3)
    running, most, order = [0, 0], [0, 0], list[int]()

    async def call(process: int, own: ProcessTurns, wait_s: float) -> None:
        await trio.sleep(wait_s)  # calls arrive one after the other
        async with own.joined():
            running[process] += 1
            order.append(process)
            most[process] = max(most[process], running[process])
            assert not running[1 - process], "the other process signs"
            await trio.sleep(0.05)  # a call takes a while; the other process gets its turn meanwhile
            running[process] -= 1

    both = [ProcessTurns(Database(url)) for _ in range(2)]
    with trio.fail_after(120):
        async with trio.open_nursery() as servers:
            for service in both:
                servers.start_soon(service.run)
            async with trio.open_nursery() as calls:
                for number in range(CALLS):
                    for process, own in enumerate(both):
                        calls.start_soon(call, process, own, number * 0.02)
            servers.cancel_scope.cancel()
    assert [order.count(number) for number in (0, 1)] == [CALLS, CALLS]
    assert min(most) > 1, "a turn is for many calls"


async def test_a_call_does_not_wait_for_ever(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up waiting for the other process's turn and send nothing; succeed once that process is gone."""
    monkeypatch.setattr(turns, "WAIT_FOR_TURN_S", 0.5)
    monkeypatch.setattr(signing_lock, "LOCK_ATTEMPT_S", 0.1)
    other = signing_lock.signer_lock(Database(url))
    assert other.acquire()
    own = ProcessTurns(Database(url))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(own.run)
        with pytest.raises(SignerBusy, match="nothing was sent, try again"):
            async with own.joined():
                raise AssertionError
        other.close()
        monkeypatch.setattr(turns, "WAIT_FOR_TURN_S", 60)
        async with own.joined():
            pass
        nursery.cancel_scope.cancel()


async def test_without_a_database_the_reason_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the database's own error where there is no database to lock, rather than "busy"."""
    monkeypatch.setattr(turns, "WAIT_FOR_TURN_S", 0.5)
    own = ProcessTurns(Database("postgresql://books@127.0.0.1:9/books"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(own.run)
        with pytest.raises(DatabaseError, match="connection"):
            async with own.joined():
                raise AssertionError
        nursery.cancel_scope.cancel()
