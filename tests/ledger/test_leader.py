"""Two followers of one PostgreSQL: one writes, the other takes over when the first is killed or vanishes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
import trio

from cfnode.ledger.database import Database
from cfnode.ledger.engines import KEEPALIVE, TCP_TIMEOUT_MS
from cfnode.ledger.errors import DatabaseError
from cfnode.ledger.follower import Source
from cfnode.ledger.leader import LOCK_POLL_S, Leadership, only_follower
from cfnode.testing import DevChain, running_node
from tests.conftest import ROOT
from tests.e2e.wires import Machine, NotPermitted, Switch, machines
from tests.ledger.contents import dump, rows
from tests.ledger.day import Day
from tests.ledger.postgres import MISSING, Server, is_installed, running_postgres
from tests.support.ledger.books import followed
from tests.support.ledger.processes import LIMIT_S, TAKEOVER_S, LedgerProcess, following, wait_for_block

pytestmark = pytest.mark.world


def test_what_it_waits_for_fits_into_the_time_of_a_takeover() -> None:
    """Let lock, TCP and poll take less than the takeover that the guide promises."""
    vanished = KEEPALIVE["idle"] + KEEPALIVE["interval"] * KEEPALIVE["count"]
    assert max(vanished, TCP_TIMEOUT_MS / 1000) + LOCK_POLL_S < TAKEOVER_S - 2


def test_the_second_process_takes_over_when_the_first_is_killed(postgres: Server, tmp_path: Path) -> None:
    """Take over after a kill without a gap in the blocks; a third follower then needs no waiting."""
    url = postgres.new_database("two_processes")
    with running_node(tmp_path / "node", "--state-pruning=archive") as node, DevChain(node.url) as chain:
        chain.new_block(3)
        chain.finalize()
        with (
            following(tmp_path, node.url, url, "--first-block=1") as first,
            ExitStack() as others,
        ):
            first.wait_for("The books begin with block 1")
            second = others.enter_context(following(tmp_path, node.url, url))
            second.wait_for("Another process writes to .*: waiting until it ends")
            wait_for_block(url, 3)
            first.kill()
            second.wait_for("The other follower of .* has ended: this process follows now")
            chain.new_block(4)
            chain.finalize()
            wait_for_block(url, 7)
            second.process.send_signal(signal.SIGTERM)
            assert second.process.wait(LIMIT_S) == 0
            third = others.enter_context(following(tmp_path, node.url, url, "--once"))
            assert third.process.wait(LIMIT_S) == 0
            assert "Another process" not in third.log_path.read_text()
    numbers = [row["number"] for row in rows(Database(url), "blocks")]
    assert numbers == list(range(numbers[-1] + 1))
    assert numbers[-1] >= 7


def test_a_waiting_process_names_a_fault_at_once(postgres: Server, day: Day, tmp_path: Path) -> None:
    """Name a node of another chain though another process holds the lock."""
    url = postgres.new_database("other_chain")
    trio.run(followed, Database(url), Source(day.url, first=1))
    lock = Database(url).follower_lock()
    assert lock.acquire()
    with running_node(tmp_path / "node", "--dev-epoch-blocks=50") as node:
        ledger = LedgerProcess(tmp_path, node.url, url)
        assert ledger.process.wait(LIMIT_S) != 0
    assert "the node's chain has the genesis" in ledger.log_path.read_text()
    lock.close()


async def test_a_follower_without_its_lock_stops_to_write(postgres: Server) -> None:
    """Stop a follower that lost its lock with its connection, since another may write now."""
    url = postgres.new_database("lost_lock")
    async with only_follower(Database(url), probe=trio.lowlevel.checkpoint) as leadership:
        await leadership.check()
        with psycopg.connect(url, autocommit=True) as connection:
            query = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            assert connection.execute(query).fetchall() == [(True,)]
        with pytest.raises(DatabaseError, match="connection that held the follower's lock was lost"):
            await leadership.check()
        async with only_follower(Database(url), probe=trio.lowlevel.checkpoint) as other:
            await other.check()
    await Leadership(None).check()


async def test_books_are_the_same_whether_or_not_others_wait(postgres: Server, day: Day) -> None:
    """Write equal books alone and with two others waiting."""
    alone, shared = (Database(postgres.new_database(name)) for name in ("alone", "shared"))
    await followed(alone, Source(day.url, first=1))
    shared.migrate()
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(followed, shared, Source(day.url, first=1))
    assert dump(shared) == dump(alone)


HOLD = """
import sys, time
from cfnode.ledger.database import Database
assert Database(sys.argv[1]).follower_lock().acquire()
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def two_machines() -> Iterator[list[Machine]]:
    """Yield two machines with a network of their own, or skip where that is not permitted."""
    try:
        with machines(2) as made:
            yield made
    except NotPermitted as error:
        pytest.skip(str(error))


def test_a_host_that_vanishes_loses_the_lock(two_machines: list[Machine]) -> None:
    """Release the lock of a host that is cut off, though its process still runs there."""
    if not is_installed():
        pytest.skip(MISSING)
    here, other = two_machines
    switch = Switch(two_machines, delay=0.0, loss=0.0)
    with switch.running(), here.here(), running_postgres(f"listen_addresses={here.address}") as server:
        server.allow("10.77.0.0/24")
        url = f"postgresql://postgres@{here.address}/postgres"
        with other.here():
            holder = subprocess.Popen([sys.executable, "-c", HOLD, url], stdout=subprocess.PIPE, cwd=ROOT)
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            lock = Database(server.url.format("postgres")).follower_lock()
            assert not lock.acquire()
            switch.cut_off(other)
            assert not lock.acquire()
            deadline = time.monotonic() + LIMIT_S
            while not lock.acquire():
                assert time.monotonic() < deadline
                time.sleep(0.2)
            assert holder.poll() is None  # it does not know
            lock.close()
        finally:
            holder.kill()
            holder.wait()
