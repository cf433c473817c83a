"""Events whose fields this version cannot read: the books go on, say so, and a later version reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from cfnode.ledger.books import Books
from cfnode.ledger.chain import ChainReader
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.follower import Follower, Source
from cfnode.ledger.unread import unread_kinds
from tests.ledger.conftest import MakeDatabase, books_of_day
from tests.ledger.contents import dump, rows
from tests.ledger.day import Day
from tests.support.cli.commands import run
from tests.support.ledger.books import followed
from tests.support.ledger.versions import read_as_an_older_version


async def test_the_follower_goes_on_and_a_later_version_reads_them(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Go on behind unread events, log the first, and read them from their block on in a later version."""
    fresh, books = dump(await books_of_day(day, make_database)), make_database()
    with monkeypatch.context() as older:
        read_as_an_older_version(older, "SwapExecuted")
        await followed(books, Source(day.url, first=1))
    tables = dump(books)
    executed = [event for event in fresh["events"] if event["name"] == "SwapExecuted"]
    assert [{**row, "reason": ""} for row in tables["unread"]] == [{**row, "reason": ""} for row in executed]
    assert [event for event in fresh["events"] if event not in executed] == tables["events"]
    assert tables["completions"] == fresh["completions"]
    assert tables["movements"] == fresh["movements"]
    assert tables["commissions"] == []
    first = (
        f"event {executed[0]['event']} of block {executed[0]['block']}, Swapping.SwapExecuted, has an unknown"
    )
    assert [record.levelname for record in caplog.records if first in record.getMessage()] == ["ERROR"]
    caplog.set_level("INFO", "cfnode.ledger")
    (kind,) = unread_kinds(books)
    assert (kind.kind, kind.count, kind.block) == (
        "Swapping.SwapExecuted",
        len(executed),
        executed[0]["block"],
    )
    await followed(books, Source(day.url))
    assert dump(books) == fresh
    assert f"Going back to block {kind.block}" in caplog.text


@pytest.mark.parametrize(
    "kind",
    [
        "BroadcastSuccess",
        "SwapExecuted",
        pytest.param("AccountDebited", marks=pytest.mark.world),
        pytest.param("SwapDepositAddressReady", marks=pytest.mark.world),
    ],
)
async def test_without_the_state_the_events_alone_are_read_again(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Read unread events again from their stored bytes where the node has forgotten the state."""
    fresh, books = dump(await books_of_day(day, make_database)), make_database()
    with monkeypatch.context() as older:
        read_as_an_older_version(older, kind)
        await Follower(Source(day.url, first=1), Books(books)).run(once=True)
    assert {row["name"] for row in rows(books, "unread")} == {kind}

    async def forgotten(*_: object) -> bool:
        return False

    monkeypatch.setattr(ChainReader, "has_state", forgotten)
    await followed(books, Source(day.url))
    again = dump(books)
    assert again["unread"] == []
    for name in ("events", "channels", "outcomes", "movements", "boosts", "swaps", "commissions"):
        assert again[name] == fresh[name], name


def test_commands_say_what_is_unread(day: Day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Print kind, number and reason of unread events in `check`, `show` and below other reports."""
    url = sqlite_url(tmp_path / "books.sqlite")
    read_as_an_older_version(monkeypatch, "SwapRequestCompleted")
    database = Database(url)
    trio.run(followed, database, Source(day.url, first=1))
    count = len(rows(database, "unread"))
    code, text, err = run("ledger", "check", "--node", day.url, "--database", url)
    assert code == 1
    assert f"unread: {count} events Swapping.SwapRequestCompleted since block " in text
    assert "'a field of another runtime' (a newer version of cfnode may read them)" in text
    assert f"{count} events are unread" in err
    _, text, _ = run("ledger", "check", "--node", day.url, "--database", url, "--json")
    (kind,) = json.loads(text)["unread"]
    assert (kind["kind"], kind["count"]) == ("Swapping.SwapRequestCompleted", count)
    _, text, err = run("ledger", "show", "unread", "--database", url, "--json")
    listed = json.loads(text)
    assert [row["kind"] for row in listed] == ["Swapping.SwapRequestCompleted"] * count
    assert "swap_request_id" in json.loads(listed[0]["fields"])
    assert err == ""
    _, _, err = run("ledger", "show", "fees", "--database", url)
    assert err == f"{count} events are not in the reports. List them:\ncfnode ledger show unread\n"
