"""The ledger follows a chain in the genesis runtime: its books equal the chain, and name each swap's end."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from cfnode.core import ss58
from cfnode.core.keys import Keypair
from cfnode.ledger.database import sqlite_url
from tests.lengths import repeats
from tests.support.cli.commands import run
from tests.support.devchain.engine import BROADCASTERS, BROKER, RECEIVERS, Play, engine_spec, named, playing

PAIRS = [(source, target) for source in BROADCASTERS for target in BROADCASTERS if source != target]
COMMISSION_BPS = 25
PROVIDER = Keypair.from_suri("//Bob")
ARCHIVE = "--state-pruning=archive"


@pytest.fixture(scope="module")
def spec(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a chain in the official genesis runtime."""
    official: Path = request.getfixturevalue("berghain_spec")
    path = tmp_path_factory.mktemp("books") / "mine.json"
    engine_spec(official, path)
    return path


def follow(play: Play, books: str) -> None:
    """Follow the chain to its end; the last comparison must find no difference."""
    for _ in range(3):
        play.block()
    arguments = ("--node", play.node.url, "--database", books)
    code, _, err = run("ledger", "run", *arguments, "--first-block", "1", "--once")
    assert (code, "differ" in err, "cannot be read" in err) == (0, False, False), err


def report(books: str, what: str, *flags: str) -> list[dict[str, Any]]:
    """Return the rows of a report."""
    code, out, err = run("ledger", "show", what, "--database", books, "--json-lines", *flags)
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def swap(play: Play, number: int) -> dict[str, Any]:
    """Play a swap; return the fields of its execution."""
    source, target = PAIRS[number % len(PAIRS)]
    address = play.channel(source, target, COMMISSION_BPS)
    (executed,) = named(play.deposit(address, source), "SwapExecuted")
    return dict(executed)


def test_books_of_many_swaps_and_a_kill_equal_the_chain(spec: Path, tmp_path: Path) -> None:
    """Follow swaps of all pairs, a withdrawal, an aborted and a refused payout, with a kill in between."""
    books, swaps = sqlite_url(tmp_path / "books.sqlite"), repeats(200, 12)
    with playing(spec, tmp_path, ARCHIVE) as play:
        play.begin(*BROADCASTERS)
        executed = [swap(play, number) for number in range(swaps // 2)]
        follow(play, books)
        swap(play, 0)
        play.node.stop(signal.SIGKILL)
    with playing(spec, tmp_path, ARCHIVE, log_name="again.log") as play:
        executed += [swap(play, number) for number in range(swaps // 2, swaps)]
        fields = {"asset": "Btc", "destination_address": RECEIVERS["Btc"]}
        play.submit(BROKER, ("Swapping", ("withdraw", fields)))
        (withdrawn,) = named(play.block(), "WithdrawalRequested")
        play.call("dev_abortBroadcast", "Bitcoin")
        swap(play, PAIRS.index(("Eth", "Btc")))
        play.call("dev_failReceiver", "0x" + RECEIVERS["Eth"][1].hex(), "Eth")
        swap(play, PAIRS.index(("Btc", "Eth")))
        for _ in range(30):
            play.block()
        follow(play, books)
        code, out, err = run("ledger", "check", "--node", play.node.url, "--database", books, "--recompute")
    assert (code, out.splitlines()[-1]) == (0, "books, events and chain agree"), (out, err)
    states = [row["state"] for row in report(books, "swaps")]
    assert (len(states), states.count("paid")) in ((swaps + 2, swaps), (swaps + 3, swaps + 1))
    assert {"aborted", "expired"} < set(states)
    rows = {row["request"]: row for row in report(books, "commissions")}
    assert len(rows) == len(states)
    payouts = report(books, "payouts")
    (withdrawal,) = [row for row in payouts if row["kind"] == "withdrawal"]
    assert (withdrawal["account"], withdrawal["state"]) == (ss58.encode(BROKER.public), "paid")
    assert int(withdrawal["amount"]) == number_of(withdrawn["egress_amount"])
    paid = {row["request"]: int(row["amount"]) for row in payouts if row["kind"] == "swap"}
    for fields in executed:
        assert paid[fields["swap_id"]] == number_of(fields["egress_amount"])


def number_of(value: int | str) -> int:
    """Return an amount of an event: JSON has large ones in hex."""
    return int(value, 16) if isinstance(value, str) else value
