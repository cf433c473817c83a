"""No row is lost and no row occurs twice: kills, forgotten blocks, other chains and writers."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.errors import BrokenBooks, LedgerError, WrongNodeChain
from cfnode.ledger.follower import Follower, Source
from cfnode.testing import DevChain, running_node
from tests import process
from tests.conftest import ROOT
from tests.ledger.conftest import MakeDatabase, books_of_day
from tests.ledger.contents import dump, rows
from tests.ledger.day import Day, play
from tests.ledger.postgres import by_length
from tests.lengths import repeats
from tests.support.ledger.books import followed


@pytest.mark.world
@by_length
async def test_killed_before_any_statement_the_books_are_those_of_a_fresh_start(
    day: Day, make_database: MakeDatabase
) -> None:
    """Kill the follower before each of its statements; the books become those of an unbroken run."""
    fresh = await books_of_day(day, make_database)
    killed = make_database()
    url = killed._engine.url.render_as_string(hide_password=False)
    command = [sys.executable, "-m", "tests.ledger.killed", day.url, url, str(repeats(17, 60))]
    done = await trio.run_process(command, capture_stdout=True, cwd=ROOT)
    assert int(done.stdout) >= repeats(10, 2)
    assert dump(killed) == dump(fresh)


@pytest.mark.world
async def test_two_followers_of_one_database_do_no_harm(day: Day, make_database: MakeDatabase) -> None:
    """Let three followers write to one database, and end with the rows of one."""
    fresh, shared = await books_of_day(day, make_database), make_database()
    shared.migrate()
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(followed, shared, Source(day.url, first=1))
    assert dump(shared) == dump(fresh)


@by_length
async def test_books_go_on_where_they_ended(day: Day, make_database: MakeDatabase) -> None:
    """Go on from the newest block after the books forgot some, and end with equal tables."""
    fresh, books = await books_of_day(day, make_database), make_database()
    await followed(books, Source(day.url, first=1))
    for number in (50, 3, day.head):
        Books(books).go_back(number)
        assert rows(books, "blocks")[-1]["number"] == number - 1
        await followed(books, Source(day.url))
        assert dump(books) == dump(fresh)


async def test_books_that_begin_later_agree_with_the_chain_too(day: Day, make_database: MakeDatabase) -> None:
    """Begin in the middle of the chain with the balances there, and agree with it at the end."""
    books = make_database()
    outcome = await Follower(Source(day.url, first=day.head - 40), Books(books)).run(once=True)
    assert outcome is not None
    assert outcome.differences == ()
    assert rows(books, "openings") != []
    assert [row["number"] for row in rows(books, "blocks")] == list(range(day.head - 41, day.head + 1))


@pytest.mark.world
@by_length
async def test_another_chain_and_other_accounts_are_refused(
    day: Day, make_database: MakeDatabase, tmp_path: Path
) -> None:
    """Refuse other accounts, another genesis, and a purged chain of the same genesis, with both hashes."""
    books = await books_of_day(day, make_database)
    with pytest.raises(BrokenBooks, match=f"of the accounts all, not {day.broker}"):
        await Follower(Source(day.url, accounts=(day.broker,)), Books(books)).run(once=True)
    with running_node(tmp_path / "other", "--dev-epoch-blocks=50") as node:
        with pytest.raises(WrongNodeChain) as caught:
            await Follower(Source(node.url), Books(books)).run(once=True)
        ours, theirs = (DevChain(url).rpc("chain_getBlockHash", 0) for url in (day.url, node.url))
        assert ours in str(caught.value)
        assert theirs in str(caught.value)
    with (
        running_node(tmp_path / "purged", "--dev-start-time=1600000000000") as node,
        DevChain(node.url) as chain,
    ):
        chain.new_block(day.head + 1)
        chain.finalize()
        with pytest.raises(
            WrongNodeChain, match=f"block {day.head} of the node is 0x.* purged development chain"
        ):
            await Follower(Source(node.url), Books(books)).run(once=True)


@pytest.mark.world
@by_length
async def test_forgotten_blocks_are_a_gap_that_an_archive_fills(
    tmp_path: Path, make_database: MakeDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """Note pruned blocks as a gap, and fill it from an archive to the tables of an unbroken run."""
    books = make_database()
    (tmp_path / "b").mkdir()
    with ExitStack() as stack:
        archive = stack.enter_context(running_node(tmp_path / "a", "--state-pruning=archive", "--in-peers=8"))
        chain = stack.enter_context(DevChain(archive.url))
        (address,) = (
            address for address in chain.rpc("system_localListenAddresses") if "/127.0.0.1/" in address
        )
        flags = ("--chain=dev", "--sync=full", "--state-pruning=16", f"--bootnodes={address}")
        pruned = stack.enter_context(process.running_node(tmp_path / "b", *flags))
        await Follower(Source(pruned.url, first=1), Books(books)).run(once=True)
        begun = rows(books, "blocks")[-1]["number"]
        day = play(archive.url, chain)
        await trio.to_thread.run_sync(_wait_for, pruned, day.head)
        outcome = await Follower(Source(pruned.url), Books(books)).run(once=True)
        assert outcome is not None
        assert outcome.differences == ()
        (gap,) = Books(books).gaps()
        assert gap.first == begun + 1
        assert day.head - 17 <= gap.last < day.head
        assert f"no longer has the state of {gap}: the books lack these blocks. --archive URL" in caplog.text
        with pytest.raises(LedgerError, match="no longer has the state of block 0: name an archive node"):
            await Follower(Source(pruned.url, first=1), Books(make_database())).run(once=True)
        complete = dump(await followed(make_database(), Source(archive.url, first=1)))
        await followed(books, Source(pruned.url, archive=archive.url))
        assert dump(books) == complete
        from_archive = make_database()
        await followed(from_archive, Source(pruned.url, archive=archive.url, first=1))
        assert dump(from_archive) == complete


def _wait_for(node: process.NodeProcess, head: int) -> None:
    """Wait until a node has finalized a block, and pruned the states before it."""
    done = subprocess.run(
        process.command("wait", "--node", node.url, "--finalized", str(head), "--timeout", "60"), check=False
    )
    assert done.returncode == 0, node.log


async def test_a_node_that_does_not_answer_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, patient_clock: MockClock
) -> None:
    """Try again after pauses that double up to a minute, and log the node without its password."""
    books = Books(Database(sqlite_url(tmp_path / "books.sqlite")))
    with trio.move_on_after(200):
        await Follower(Source("http://user:secret@127.0.0.1:1"), books).run()
    pauses = [record.args[1] for record in caplog.records if isinstance(record.args, tuple)]
    assert pauses[:8] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert "no connection to http://127.0.0.1:1" in caplog.text
    assert "secret" not in caplog.text
