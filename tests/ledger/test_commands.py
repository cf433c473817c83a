"""`cfnode ledger` as a person uses it: the guide's commands, reports, refusals, exit codes."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete

from cfnode.ledger import schema
from cfnode.ledger.database import Database, sqlite_url
from tests import process
from tests.documentation import block
from tests.e2e.shell import Shell
from tests.ledger.contents import rows
from tests.ledger.day import Day
from tests.support.cli.commands import run
from tests.support.waiting import wait_until

GUIDE = "docs/guide/ledger.md"


@pytest.fixture
def books(day: Day, tmp_path: Path) -> str:
    """Return the URL of books of the day."""
    url = sqlite_url(tmp_path / "books.sqlite")
    code, _, err = run("ledger", "run", "--node", day.url, "--database", url, "--first-block", "1", "--once")
    assert (code, "The books begin with block 1" in err) == (0, True), err
    return url


@pytest.mark.world
def test_the_guide(tmp_path: Path) -> None:
    """Run the guide's commands as printed, up to a paid swap and "books and chain agree"."""
    flags = ("--dev", "--dev-broker=//Alice", "--dev-seal=instant")
    (tmp_path / "node").mkdir()
    with process.running_node(tmp_path / "node", *flags) as node:
        commands = block(GUIDE, "cfnode ledger run --database sqlite").splitlines()
        assert commands[0].startswith("cfnode run --dev --dev-broker //Alice --dev-seal instant ")
        shell = Shell(tmp_path, node.url)
        printed = shell.run("\n".join(commands[1:]))
        begin = block(GUIDE, "cfnode ledger run --node").rstrip()
        shell.run(f"{begin} --once\n{block(GUIDE, 'cfnode ledger show swaps --from')}")
        fill = (
            block(GUIDE, "cfnode ledger run --archive").rstrip().replace("https://archive.example", node.url)
        )
        account = begin.partition("--account")[2]
        shell.run(f"{fill} --account{account} --once")
    assert re.search(r" cF\w+…? +ETH +BTC +0\.99\d* +0\.0\d* +paid", printed), printed
    assert re.search(r"^\d+,20[-\d]+T[:\d]+Z,(cF\w+),\1,Usdc,\d{7},1,1$", printed, re.MULTILINE), printed
    assert printed.endswith("books and chain agree\n")


def test_reports_as_table_json_and_csv(books: str) -> None:
    """Print equal payouts as JSON and CSV, and whole accounts in the table."""
    _, table, _ = run("ledger", "show", "swaps", "--database", books)
    assert re.search(r" cF\w{47} +BTC +ETH +\d\.\d+ +\d+\.\d+ +failed", table), table
    assert "…" not in table
    code, lines, _ = run("ledger", "show", "payouts", "--database", books, "--json-lines")
    payouts: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines()]
    assert code == 0
    assert {payout["state"] for payout in payouts} >= {"paid", "failed"}
    assert all(payout["amount"].isdigit() for payout in payouts)
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", payouts[0]["time"])
    _, text, _ = run("ledger", "show", "payouts", "--database", books, "--csv")
    as_csv = list(csv.DictReader(io.StringIO(text)))
    as_text = [
        {name: "" if value is None else str(value) for name, value in payout.items()} for payout in payouts
    ]
    assert as_text == as_csv
    _, text, err = run("ledger", "show", "fees", "--database", books, "--from", "2090-01-01")
    assert (text, err) == ("", "no fees\n")


def test_swaps_are_printed_by_the_filters_of_the_page(books: str, day: Day) -> None:
    """Filter swaps by state, assets, account, owner and partner as the dashboard does."""

    def swaps(*filters: str) -> list[dict[str, Any]]:
        code, text, err = run("ledger", "show", "swaps", "--database", books, "--json", *filters)
        assert code == 0, err
        document: list[dict[str, Any]] = json.loads(text)
        return document

    known = swaps()
    assert swaps("--state", "PAID") == [swap for swap in known if swap["state"] == "paid"] != []
    own = [swap for swap in known if (swap["source"], swap["target"]) == ("Eth", "Btc")]
    assert swaps("--source", "eth", "--target", "Bitcoin/BTC", "--account", day.broker) == own != []
    ether = [swap for swap in known if swap["source"] == "Eth"]
    for flag, sign in (("--least", 1), ("--most", -1)):
        taken = [swap for swap in ether if sign * int(swap["input"]) >= sign * 10**18]
        assert swaps("--source", "eth", flag, "1") == taken != []
    customers, chains = swaps("--owner", "customer"), swaps("--owner", "chain")
    assert all(customer["kind"].startswith("Regular") for customer in customers)
    assert len(customers) + len(chains) == len(known)
    assert customers
    assert chains
    assert run("ledger", "partner", "add", "shop", "--database", books)[0] == 0
    assert swaps("--partner", "shop") == []


def test_a_difference_and_a_gap_end_the_check_with_1(books: str, day: Day) -> None:
    """Exit with 1 where a row or a block is missing, with both figures, and note each difference."""
    code, text, _ = run("ledger", "check", "--node", day.url, "--database", books)
    assert (code, text.endswith("books and chain agree\n")) == (0, True), text
    database = Database(books)
    row = rows(database, "movements")[0]
    with database.writing() as connection:
        connection.execute(delete(schema.movements).where(schema.movements.c.block == row["block"]))
        connection.execute(schema.gaps.insert(), {"first": 1, "last": 2, "found_at": 0})
    code, text, err = run("ledger", "check", "--node", day.url, "--database", books)
    assert (code, f"differs: free_balance of {row['account']} in Usdc: books " in text) == (1, True), text
    assert "figures differ, 1 gaps are open" in err
    code, text, _ = run("ledger", "check", "--node", day.url, "--database", books, "--json")
    document, _ = json.JSONDecoder().raw_decode(text)
    assert code == 1
    assert document["gaps"] == [{"first": 1, "last": 2}]
    assert int(document["differences"][0]["chain"]) - int(document["differences"][0]["books"]) != 0
    noted = rows(database, "checks")
    assert {difference["figure"] for difference in noted} >= {"free_balance", "earned_fees"}


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (("show", "swaps", "--database", "mysql://x/y"), 4, "unknown database 'mysql'"),
        (("show", "sweps"), 2, "Did you mean swaps"),
        (("show", "swaps", "--from", "yesterday"), 2, "not a day or time: write 2026-01-31"),
        (("show", "swaps", "--account", "cF123"), 2, "is not an account"),
        (("show", "swaps", "--csv", "--json"), 2, "exclude each other"),
        (("show", "swaps", "--least", "1"), 2, "--least counts coins of --source: give it, too"),
        (("show", "fees", "--most", "1"), 2, "--most applies only to the report swaps"),
        (("show", "swaps", "--state", "moon"), 2, "Choose from swapping, scheduled"),
        (("show", "swaps", "--source", "Moon"), 2, "Moon"),
        (("show", "fees", "--state", "paid"), 2, "--state applies only to the report swaps"),
        (("check", "--node", "http://127.0.0.1:1"), 4, "no books: `cfnode ledger run` begins them"),
        (("run", "--first-block", "0"), 2, "--first-block"),
        (("run", "--log", "x=y"), 2, "the level is one of"),
    ],
)
def test_refusals(
    line: tuple[str, ...], code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse unknown names, dates, accounts and flags that do not fit; create no file."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    exit_code, out, err = run("ledger", *line)
    assert (exit_code, bool(re.search(words, out + err))) == (code, True), err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "line",
    [
        *(
            ("ledger", "show", name)
            for name in ("swaps", "channels", "fees", "commissions", "payouts", "unread")
        ),
        ("ledger", "statement", "--month", "2026-11"),
        ("ledger", "statement", "--day", "2026-11-25", "--partner", "a", "--format", "csv"),
        ("ledger", "check", "--node", "http://127.0.0.1:1"),
        ("ledger", "check", "--node", "http://127.0.0.1:1", "--recompute"),
        ("ledger", "webhook", "add", "https://example.com/hook"),
        ("ledger", "webhook", "list"),
        ("ledger", "webhook", "remove", "wh_1"),
        ("ledger", "webhook", "replay", "wh_1"),
        ("ledger", "partner", "add", "a"),
        ("ledger", "partner", "list"),
        ("ledger", "partner", "revoke", "a"),
        ("service", "run", "--check", "--node", "http://127.0.0.1:1"),
        ("service", "run", "--web", "--node", "http://127.0.0.1:1", "--listen", "127.0.0.1:0"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("folder", ["", "new/folder"])
def test_books_that_have_not_begun_are_named_and_nothing_is_created(
    line: tuple[str, ...], folder: str, tmp_path: Path
) -> None:
    """Name the command that begins the books in every command that needs some; create nothing."""
    path = tmp_path / folder / "books.sqlite"
    code, out, err = run(*line, "--database", sqlite_url(path))
    assert (code, out) == (4, ""), err
    assert f"sqlite:///{path} has no books: `cfnode ledger run` begins them" in err
    assert list(tmp_path.iterdir()) == []


def test_a_check_without_the_node(books: str) -> None:
    """Exit with 5 and name the node that does not answer."""
    code, _, err = run("ledger", "check", "--node", "http://127.0.0.1:1", "--database", books)
    assert (code, "no connection to http://127.0.0.1:1" in err) == (5, True)


@pytest.mark.world
def test_a_follower_sees_new_blocks_and_stops_on_a_signal(tmp_path: Path) -> None:
    """Write each final block soon after it, and end with 0 after SIGTERM."""
    (tmp_path / "node").mkdir()
    with process.running_node(tmp_path / "node", "--dev", "--dev-seal=instant") as node:
        database = Database(sqlite_url(tmp_path / "books.sqlite"))
        command = process.command("ledger", "run", "--node", node.url, "--database", database.name)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as follower:
            assert follower.stderr is not None
            assert "The books begin with block" in follower.stderr.readline()
            for _ in range(5):
                node.call("dev_newBlock")
            node.call("dev_finalize")
            head = node.call("chain_getFinalizedHead")
            wait_until(lambda: rows(database, "blocks")[-1]["hash"] == head)
            follower.send_signal(signal.SIGTERM)
            assert follower.wait(timeout=30) == 0
