"""Kills of follower, service and database while the chain goes on.

At random moments, and as soon as the service has confirmed a channel: no row is lost or occurs twice, and the
answers of the service stay true.

`CFNODE_TEST_KILLS` is how many times, 200 with `--all`, and 60 of them with a database server that is killed
too, since its recovery takes seconds; `CFNODE_TEST_SEED` repeats a run.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.follower import Source
from cfnode.testing import DevChain, running_node
from tests.conftest import ROOT
from tests.ledger.contents import dump, rows
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS
from tests.ledger.postgres import MISSING, Server, is_installed, running_postgres
from tests.lengths import repeats
from tests.support.ledger.books import followed
from tests.support.waiting import LIMIT_S, wait_until

pytestmark = pytest.mark.world

KILLS = int(os.environ.get("CFNODE_TEST_KILLS", repeats(200, 4)))
SERVER_KILLS = min(KILLS, int(os.environ.get("CFNODE_TEST_KILLS", 60)))
"""How many times with a server of PostgreSQL."""
SEED = int(os.environ.get("CFNODE_TEST_SEED", random.randrange(10**6)))
MAX_LIFE_S = 0.6
"""Victims live for at most this long behind the business where they are killed at a random moment."""
ETHER, BITCOIN = 10**18, 10**8
KINDS = ("follower", "service")
TERMS = {"retryDurationBlocks": 10, "refundAddress": BTC_ADDRESS, "minPriceX128": "0"}
CHANNEL = {"srcChain": "Bitcoin", "srcAsset": "BTC", "destChain": "Ethereum", "destAsset": "ETH",
           "destAddress": EVM_ADDRESS, "fillOrKillParams": TERMS}  # fmt: skip
Answered = dict[tuple[str, int, int], int]
"""Expected amounts by the channels that a service has confirmed: chain, number, block."""


class Processes:
    """One follower and one service at a time."""

    def __init__(self, helper: subprocess.Popen[str]) -> None:
        self._helper = helper
        self._pids: dict[str, int] = {}
        self.service = ""

    def start(self, kind: str) -> None:
        """Start a process, unless one runs."""
        if kind in self._pids:
            return
        assert self._helper.stdin is not None
        assert self._helper.stdout is not None
        self._helper.stdin.write(f"{kind}\n")
        self._helper.stdin.flush()
        pid, *port = self._helper.stdout.readline().split()
        self._pids[kind] = int(pid)
        if port:
            self.service = f"http://127.0.0.1:{port[0]}"

    def kill(self, kind: str) -> None:
        """Kill -9."""
        if kind in self._pids:
            with suppress(ProcessLookupError):
                os.kill(self._pids.pop(kind), signal.SIGKILL)


@contextmanager
def processes(node: str, database: str) -> Iterator[Processes]:
    """Yield a follower and a service at a time, which a helper forks, and kill them at the end."""
    line = [sys.executable, "-m", "tests.ledger.forked", node, database]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(line, cwd=ROOT, text=True, **pipes) as helper:  # type: ignore[call-overload]
        started = Processes(helper)
        try:
            yield started
        finally:
            for kind in KINDS:
                started.kill(kind)
            helper.kill()


def business(chain: DevChain, dice: random.Random, swaps: bool) -> None:
    """Make some blocks, with a part of a swap if it `swaps`."""
    chain.new_block(dice.randint(1, 4))
    if swaps:
        channel = chain.broker.open_channel(
            "Eth", "Btc", BTC_ADDRESS, refund_address=EVM_ADDRESS, commission_bps=dice.choice((0, 10, 30))
        )
        chain.deposit(channel["address"], "Eth", dice.randint(1, 20) * ETHER // 10)
        chain.new_block(dice.randint(1, 6))
    chain.finalize()


def ask(service: str, amount: int, answered: Answered) -> bool:
    """Open a channel and read its status at a service, which may be killed meanwhile.

    Returns whether the service confirmed the channel.
    """
    try:
        opened = httpx.post(
            f"{service}/api/openSwapDepositChannel", json=CHANNEL | {"amount": str(amount)}, timeout=LIMIT_S
        )
        if not is_right(opened, 201):
            return False
        block, chain, number = opened.json()["id"].split("-")
        answered[chain, int(number), int(block)] = amount
        is_right(httpx.get(f"{service}/v2/swaps/{opened.json()['id']}", timeout=LIMIT_S), 200, 404)
    except httpx.HTTPError:
        return False
    return True


def is_right(answer: httpx.Response, *codes: int) -> bool:
    """Return whether a service has answered; 503 if its node or database is away, and nothing else."""
    assert answer.status_code in (*codes, 503), answer.text
    return answer.status_code in codes


def play(chain: DevChain, running: Processes, crash: Callable[[], None] | None, kills: int) -> Answered:
    """Do business, with kills in the middle of it; return the channels that a service has confirmed."""
    dice, answered = random.Random(SEED), Answered()
    with ThreadPoolExecutor(1) as clients:
        for kill in range(kills):
            confirmed = kill % 2 == 0  # every other time the victims live until a channel is confirmed
            for kind in KINDS:
                running.start(kind)
            request = partial(ask, running.service, dice.randint(1, 20) * BITCOIN, answered)
            client = clients.submit(partial(wait_until, request) if confirmed else request)
            business(chain, dice, swaps=confirmed or dice.random() < 0.5)
            if confirmed:
                client.result()
            else:
                time.sleep(dice.uniform(0, MAX_LIFE_S))  # the moment itself is what is tested
            possible = (*KINDS, *(("database",) if crash else ()))
            for victim in dice.sample(possible, dice.randint(1, len(possible))):
                if victim == "database":
                    assert crash is not None
                    crash()
                else:
                    running.kill(victim)
            client.result()
    return answered


def survive(tmp_path: Path, url: str, crash: Callable[[], None] | None, fresh: Database) -> None:
    """Kill for a while, and compare the books with those of a fresh start."""
    kills = KILLS if crash is None else SERVER_KILLS
    print(f"CFNODE_TEST_SEED={SEED} CFNODE_TEST_KILLS={kills}")
    with running_node(tmp_path / "node", "--state-pruning=archive") as node, DevChain(node.url) as chain:
        chain.new_block()
        chain.broker.register()
        Database(url).migrate()
        with processes(node.url, url) as running:
            answered = play(chain, running, crash, kills)
        books = Database(url)
        trio.run(followed, books, Source(node.url, first=1))
        trio.run(followed, fresh, Source(node.url, first=1))
        head = int(chain.rpc("chain_getHeader", chain.rpc("chain_getFinalizedHead"))["number"], 16)
    assert [row["number"] for row in rows(books, "blocks")] == list(range(head + 1))
    assert rows(books, "swaps")
    expected = {(row["chain"], row["channel"], row["block"]): row["amount"]
                for row in rows(books, "expectations")}  # fmt: skip
    assert answered
    assert answered.items() <= expected.items()
    opened = {(row["chain"], row["channel"], row["block"]) for row in rows(books, "channels")}
    assert set(expected) <= opened
    assert facts(books) == facts(fresh)


def facts(books: Database) -> dict[str, list[dict[str, Any]]]:
    """Return all tables, without what only the service writes."""
    return {name: table_rows for name, table_rows in dump(books).items() if name != "expectations"}


def test_followers_and_services_of_sqlite(tmp_path: Path) -> None:
    """Kill followers and services with books in SQLite; no row is lost, no answer becomes false."""
    first, second = (sqlite_url(tmp_path / f"{name}.sqlite") for name in ("killed", "fresh"))
    survive(tmp_path, first, None, Database(second))


def test_followers_services_and_server_of_postgresql(tmp_path: Path) -> None:
    """Kill PostgreSQL as well as followers and services; no row is lost, no answer becomes false."""
    if not is_installed():
        pytest.skip(MISSING)
    with running_postgres() as server:
        killed, fresh = server.new_database("killed"), sqlite_url(tmp_path / "fresh.sqlite")
        survive(tmp_path, killed, lambda: _crash(server), Database(fresh))


def _crash(server: Server) -> None:
    server.crash()
    server.start()
