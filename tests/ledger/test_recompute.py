"""The tables follow from the events in the books, and a row that does not is found."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from sqlalchemy import delete, update

from cfnode.core import ss58
from cfnode.ledger import schema
from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.follower import Source
from cfnode.ledger.recompute import TableDifference, recomputed
from tests.ledger.conftest import MakeDatabase, books_of_day
from tests.ledger.contents import rows
from tests.ledger.day import Day
from tests.support.cli.commands import run
from tests.support.ledger.blocks import GENESIS, block
from tests.support.ledger.books import followed
from tests.support.ledger.reused import ETHER, OTHERS, OURS, executed, request
from tests.support.ledger.versions import read_as_an_older_version


@pytest.mark.parametrize(
    ("first", "only_broker"),
    [
        (1, False),
        (40, True),
        pytest.param(1, True, marks=pytest.mark.world),
        pytest.param(40, False, marks=pytest.mark.world),
    ],
)
async def test_the_tables_follow_from_the_events(
    day: Day, make_database: MakeDatabase, first: int, only_broker: bool
) -> None:
    """Derive each table again from the stored events, for all accounts or one, from any first block."""
    accounts = (day.broker,) if only_broker else ()
    books = await followed(make_database(), Source(day.url, first=first, accounts=accounts))
    assert recomputed(books) == []


def test_commissions_of_chosen_accounts_are_left_out_without_a_word(
    make_database: MakeDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """The credits of the other accounts, which add up to a broker's fee, are not in the books."""
    database = make_database()
    database.migrate()
    affiliate, broker = OURS, OTHERS
    asked = request(0, 1, broker, ETHER)
    asked.fields["broker_fees"].append({"account": affiliate, "bps": 5})
    credit = {"asset": "Usdc", "new_balance": 0}
    chunk = executed(2, 1, broker)[1]
    events = [
        asked,
        DecodedEvent(1, "AssetBalances", "AccountCredited",
                     credit | {"account_id": broker, "amount_credited": 60}),
        DecodedEvent(2, "AssetBalances", "AccountCredited",
                     credit | {"account_id": affiliate, "amount_credited": 40}),
        chunk,
    ]  # fmt: skip
    Books(database).begin(GENESIS, "Development", ss58.encode(affiliate), block(0, []), {})
    Books(database).write([block(1, events)], {})
    assert [row["amount"] for row in rows(database, "commissions")] == [60, 40]
    assert recomputed(database) == []
    assert caplog.records == []


async def test_unread_events_stay_unread(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leave an event unread that was unread when the books were written."""
    read_as_an_older_version(monkeypatch, "SwapScheduled")
    books = await followed(make_database(), Source(day.url, first=1))
    assert rows(books, "unread")
    assert recomputed(books) == []


async def test_a_changed_a_missing_and_an_added_row_are_found(day: Day, make_database: MakeDatabase) -> None:
    """Name the tables with a changed, a missing and an added row, and the block of each."""
    books = await books_of_day(day, make_database)
    commission, failure = rows(books, "commissions")[0], rows(books, "failures")[0]
    fees, shares = schema.fees, schema.commissions
    with books.writing() as connection:
        same = (shares.c.block == commission["block"], shares.c.event == commission["event"])
        connection.execute(update(shares).where(*same).values(amount=commission["amount"] + 1))
        connection.execute(delete(schema.failures))
        connection.execute(fees.insert(), {**rows(books, "fees")[-1], "block": day.head, "event": 9_999})
    assert set(recomputed(books)) == {
        TableDifference("commissions", 1, commission["block"]),
        TableDifference("failures", 1, failure["block"]),
        TableDifference("fees", 1, day.head),
    }


@pytest.mark.world
def test_the_command(day: Day, tmp_path: Path) -> None:
    """Exit with 1 and name the table that differs from its events."""
    url = sqlite_url(tmp_path / "books.sqlite")
    database = Database(url)
    trio.run(followed, database, Source(day.url, first=1))
    line = ("ledger", "check", "--node", day.url, "--database", url, "--recompute")
    code, text, _ = run(*line)
    assert (code, text.endswith("books, events and chain agree\n")) == (0, True), text
    with database.writing() as connection:
        connection.execute(delete(schema.payouts))
    code, text, err = run(*line)
    count = len(rows(database, "events"))
    assert count
    assert code == 1
    assert "differs from its events: " in text
    assert " rows of payouts, the first of block " in text
    assert "1 tables differ from their events" in err
