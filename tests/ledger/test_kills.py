"""Follower and database are killed at random moments while the chain goes on: no row is lost or there twice.

`CFNODE_TEST_KILLS` is how many kills, 200 with `--all`; `CFNODE_TEST_SEED` repeats a run.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trio

from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.follower import Source
from cfnode.testing import DevChain, running_node
from tests.conftest import ROOT
from tests.ledger.contents import dump, rows
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS
from tests.ledger.postgres import MISSING, Server, is_installed, running_postgres
from tests.ledger.test_day import followed
from tests.lengths import repeats

KILLS = int(os.environ.get("CFNODE_TEST_KILLS", repeats(200, 8)))
SEED = int(os.environ.get("CFNODE_TEST_SEED", random.randrange(10**6)))
MAX_LIFE_S = 0.6
"""A follower lives for at most this long; it needs about half of it to connect."""
ETHER = 10**18


class Followers:
    """One follower at a time."""

    def __init__(self, helper: subprocess.Popen[str]) -> None:
        self._helper = helper
        self._pid: int | None = None

    def start(self) -> None:
        """A new one, unless one runs."""
        if self._pid is None:
            assert self._helper.stdin is not None
            assert self._helper.stdout is not None
            self._helper.stdin.write("\n")
            self._helper.stdin.flush()
            self._pid = int(self._helper.stdout.readline())

    def kill(self) -> None:
        """kill -9."""
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._pid = None


@contextmanager
def followers(node: str, database: str) -> Iterator[Followers]:
    line = [sys.executable, "-m", "tests.ledger.forked", node, database]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(line, cwd=ROOT, text=True, **pipes) as helper:  # type: ignore[call-overload]
        found = Followers(helper)
        try:
            yield found
        finally:
            found.kill()
            helper.kill()


def business(chain: DevChain, dice: random.Random) -> None:
    """Some blocks, most with a part of a swap."""
    chain.new_block(dice.randint(1, 4))
    if dice.random() < 0.7:
        channel = chain.broker.open_channel(
            "Eth", "Btc", BTC_ADDRESS, refund_address=EVM_ADDRESS, commission_bps=dice.choice((0, 10, 30))
        )
        chain.deposit(channel["address"], "Eth", dice.randint(1, 20) * ETHER // 10)
        chain.new_block(dice.randint(1, 6))
    chain.finalize()


def survive(tmp_path: Path, url: str, crash: Callable[[], None] | None, fresh: Database) -> None:
    """Kill for a while, and compare the books with those of a fresh start."""
    dice = random.Random(SEED)
    print(f"CFNODE_TEST_SEED={SEED} CFNODE_TEST_KILLS={KILLS}")
    with running_node(tmp_path / "node", "--state-pruning=archive") as node, DevChain(node.url) as chain:
        chain.new_block()
        chain.broker.register()
        with followers(node.url, url) as running:
            for _ in range(KILLS):
                running.start()
                business(chain, dice)
                time.sleep(dice.uniform(0, MAX_LIFE_S))
                victims = dice.choice(("follower", "database", "both")) if crash else "follower"
                if victims != "database":
                    running.kill()
                if crash is not None and victims != "follower":
                    crash()
        books = Database(url)
        trio.run(followed, books, Source(node.url, first=1))
        trio.run(followed, fresh, Source(node.url, first=1))
        head = int(chain.rpc("chain_getHeader", chain.rpc("chain_getFinalizedHead"))["number"], 16)
    assert [row["number"] for row in rows(books, "blocks")] == list(range(head + 1))
    assert rows(books, "swaps")
    assert dump(books) == dump(fresh)


def test_followers_of_sqlite(tmp_path: Path) -> None:
    first, second = (sqlite_url(tmp_path / f"{name}.sqlite") for name in ("killed", "fresh"))
    survive(tmp_path, first, None, Database(second))


def test_followers_and_server_of_postgresql(tmp_path: Path) -> None:
    if not is_installed():
        pytest.skip(MISSING)
    with running_postgres() as server:
        killed, fresh = server.new_database("killed"), sqlite_url(tmp_path / "fresh.sqlite")
        survive(tmp_path, killed, lambda: _crash(server), Database(fresh))


def _crash(server: Server) -> None:
    server.crash()
    server.start()
