"""Numbers of channels that the chain gave out again, in blocks made by hand: whose facts they are."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import insert, select, text

from cfnode.core import ss58
from cfnode.ledger import schema
from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, _alembic, sqlite_url
from cfnode.ledger.day_totals import add_totals, totals_of
from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.open_channels import partners_of
from cfnode.ledger.partners import access, registry
from cfnode.ledger.partners.access import Reservation
from cfnode.ledger.partners.registry import Partner
from cfnode.ledger.recompute import recomputed
from cfnode.ledger.reports import Period, report
from cfnode.ledger.statements import LedgerStatement
from cfnode.ledger.webhooks.registry import add
from cfnode.swaps.identity import ChannelId
from cfnode.swaps.timing import lifetime_blocks
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import dump, rows
from tests.support.ledger.blocks import GENESIS, NOVEMBER, block
from tests.support.ledger.reused import (
    BLOCKS,
    ETHER,
    EXPIRY,
    NUMBER,
    OTHERS,
    OURS,
    deposit,
    failed_deposit,
    opening,
    request,
)


def written(database: Database, accounts: tuple[bytes, ...] = (), *, anew: bool = False) -> Database:
    """Return books of the blocks; `anew`: as if the process had begun again before each."""
    database.migrate()
    kept = ",".join(ss58.encode(account) for account in accounts) or "all"
    Books(database).begin(GENESIS, "Development", kept, block(0, []), {})
    books = Books(database)
    for number, events in enumerate(BLOCKS, start=1):
        if anew:
            books = Books(database)
        books.write([block(number, events)], {})
    assert rows(database, "unread") == []
    return database


def of(database: Database, table: str, *names: str) -> list[tuple[Any, ...]]:
    """Return some columns of a table."""
    return [tuple(row[name] for name in names) for row in rows(database, table)]


@pytest.mark.parametrize("anew", [False, True])
def test_each_fact_has_the_opening_before_it(make_database: MakeDatabase, anew: bool) -> None:
    """Give deposits, swaps and fees to the newest opening before them, also after restarts."""
    books = written(make_database(), anew=anew)
    ours, others = ss58.encode(OURS), ss58.encode(OTHERS)
    assert of(books, "deposits", "amount", "opened", "account") == [
        (ETHER, 1, ours), (2 * ETHER, 3, others), (3 * ETHER, 5, others), (4 * ETHER, 7, ours)
    ]  # fmt: skip
    assert of(books, "requests", "request", "opened") == [(1, 1), (2, 3), (4, 7)]
    ingress = [row for row in rows(books, "fees") if row["kind"] == "ingress"]
    assert [(row["opened"], row["account"]) for row in ingress] == [
        (1, ours),
        (3, others),
        (5, others),
        (7, ours),
    ]
    assert recomputed(books) == []


@pytest.mark.parametrize("anew", [False, True])
def test_an_address_on_two_chains_is_each_chains_own_channel(make_database: MakeDatabase, anew: bool) -> None:
    """EVM chains give out equal addresses: a failed deposit names nothing else."""
    database = make_database()
    database.migrate()
    Books(database).begin(GENESIS, "Development", "all", block(0, []), {})
    books, arbitrum = Books(database), {"source_asset": "ArbEth", "channel_id": NUMBER + 1}
    there = replace(opening(0, OTHERS), fields=opening(0, OTHERS).fields | arbitrum)
    for number, events in enumerate([[opening(0, OURS)], [there], [failed_deposit(0)]], start=1):
        books = Books(database) if anew else books
        books.write([block(number, events)], {})
    assert rows(database, "unread") == []
    assert of(database, "deposits", "chain", "channel", "opened", "account") == [
        ("Ethereum", NUMBER, 1, ss58.encode(OURS))
    ]


def partnered(database: Database, channels: dict[str, int]) -> None:
    """Add partners with the channels that were opened at these blocks."""
    for name, opened in channels.items():
        registry.add(database, partner := Partner(name, 10))
        reserved = access.reserve(database, partner, 0)
        assert isinstance(reserved, Reservation)
        access.settle(database, reserved, ChannelId("Ethereum", NUMBER, opened), 0)


def test_each_partner_is_paid_for_its_own_channel(make_database: MakeDatabase) -> None:
    """Count swap, commission and total for the partner whose channel it was then."""
    books = written(make_database())
    partnered(books, {"first": 1, "last": 7})
    for name, swap in (("first", 1), ("last", 4)):
        lines = list(LedgerStatement(books, NOVEMBER, partner=name).lines())
        assert {line.request for line in lines if line.request is not None} == {swap}
        assert sum(line.amount or 0 for line in lines if line.line == "commission") == 100
    while add_totals(books):
        pass
    with books.reading() as connection:
        totals = totals_of(connection, 0, 2**31 - 1)
        partners = partners_of(connection, [ChannelId("Ethereum", NUMBER, block) for block in (1, 3, 5, 7)])
    assert {total.name: total.amount for total in totals if total.measure == "earned_with"} == {
        "first": 100,
        "last": 100,
    }
    assert [(total.name, total.count) for total in totals if total.measure == "broker"] == [
        (ss58.encode(OTHERS), 1)
    ]
    assert {channel.block: name for channel, name in partners.items()} == {1: "first", 7: "last"}


@pytest.mark.parametrize("anew", [False, True])
def test_books_of_chosen_accounts_leave_the_others_deposits_out(
    make_database: MakeDatabase, anew: bool
) -> None:
    """Keep our deposits and swaps, and other accounts' openings of the number to tell them apart."""
    books = written(make_database(), (OURS,), anew=anew)
    assert of(books, "deposits", "amount", "opened") == [(ETHER, 1), (4 * ETHER, 7)]
    assert of(books, "requests", "request", "opened") == [(1, 1), (4, 7)]
    assert of(books, "channels", "kind", "block") == [("swap", 1), ("other", 3), ("other", 5), ("swap", 7)]
    assert recomputed(books) == []


def test_deposits_of_a_later_channel_that_the_books_lack_are_not_the_older_ones(
    make_database: MakeDatabase,
) -> None:
    """Books of chosen accounts were upgraded while another account's channel with the number was open.

    The version before did not keep its opening. What it gets is distinguished by the foreign chain's height.
    """
    database = make_database()
    database.migrate()
    Books(database).begin(GENESIS, "Development", ss58.encode(OURS), block(0, []), {})
    after = EXPIRY + lifetime_blocks("Ethereum") + 1
    sent_back = ("Refund", {"reason": "CcmUnsupportedForTargetChain", "amount": 5, "egress_id": None})
    blocks = [
        [opening(0, OURS)],
        [request(0, 1, OURS, ETHER), deposit(1, ETHER, 1)],
        [at(request(0, 2, OTHERS, 2 * ETHER), after), at(deposit(1, 2 * ETHER, 2), after)],
        [at(deposit(0, 3 * ETHER, None), after)],
        [at(deposit(0, 4 * ETHER, None, sent_back), after)],
        [at(deposit(0, 5 * ETHER, None, sent_back), after - 1)],
    ]
    books = Books(database)
    for number, events in enumerate(blocks, start=1):
        books.write([block(number, events)], {})
    assert rows(database, "unread") == []
    assert of(database, "deposits", "amount", "opened") == [(ETHER, 1), (5 * ETHER, 1)]
    assert of(database, "requests", "request", "opened") == [(1, 1)]
    assert recomputed(database) == []


def at(event: DecodedEvent, height: int) -> DecodedEvent:
    """Return the event of a deposit, or of its swap, in another block of the foreign chain."""
    if event.name == "SwapRequested":
        kind, origin = event.fields["origin"]
        return replace(
            event, fields=event.fields | {"origin": (kind, origin | {"deposit_block_height": height})}
        )
    return replace(event, fields=event.fields | {"block_height": height})


def test_an_opening_in_a_gap_leaves_its_deposits_without_a_channel(make_database: MakeDatabase) -> None:
    """Leave a deposit without a channel where its height is past the known channel's life."""
    database = make_database()
    database.migrate()
    Books(database).begin(GENESIS, "Development", "all", block(0, []), {})
    after = EXPIRY + lifetime_blocks("Ethereum") + 1
    Books(database).write([block(1, [opening(0, OURS)])], {})
    Books(database).write(
        [block(2, [at(request(0, 1, OTHERS, ETHER), after), at(deposit(1, ETHER, 1), after)])], {}
    )
    assert of(database, "deposits", "opened", "account") == [(None, ss58.encode(OTHERS))]
    assert of(database, "requests", "opened") == [(None,)]
    assert recomputed(database) == []


def test_old_books_are_upgraded_from_their_own_events(make_database: MakeDatabase) -> None:
    """They took any channel of a number: the oldest, after a restart."""
    new, old = written(make_database()), make_database()
    partnered(new, {"first": 1, "last": 7})
    _written_by_an_older_version(new, old)
    old.migrate()
    facts = [
        name for name in dump(new) if name not in ("partners", "partner_channels", "day_totals", "ledger")
    ]
    for name in facts:
        assert rows(old, name) == rows(new, name), name
    assert recomputed(old) == []
    assert sorted(row["opened"] for row in rows(old, "partner_channels")) == [1, 7]
    assert rows(old, "day_totals") == []


@pytest.mark.parametrize(("kept", "accounts"), [("all", ()), ("chosen", (OURS,))])
def test_books_that_an_earlier_version_has_written_are_upgraded(
    tmp_path: Path, kept: str, accounts: tuple[bytes, ...]
) -> None:
    """The rows are those that the version wrote which knew a channel by its number alone.

    Books of chosen accounts lacked the openings of other accounts, and no event of theirs has these.
    """
    (tmp_path / "old").touch()
    old, new = (Database(sqlite_url(tmp_path / name)) for name in ("old", "new"))
    with old.writing() as connection:
        config = _alembic()
        config.attributes["connection"] = connection
        command.upgrade(config, "0008_day_totals")
        for statement in (
            files("tests.support.ledger").joinpath(f"old_books_{kept}.sql").read_text().split(";\n")
        ):
            connection.exec_driver_sql(statement)
    old.migrate()
    written(new, accounts)
    others = {(row["block"], row["event"]) for row in rows(new, "channels") if row["kind"] == "other"}
    for name in schema.metadata.tables:
        facts = [row for row in rows(new, name) if (row.get("block"), row.get("event")) not in others]
        assert rows(old, name) == facts, name
    assert recomputed(old) == []


@pytest.mark.parametrize("anew", [False, True])
def test_a_rejected_transaction_that_paid_twice_is_sent_back_for_the_newest_deposit(
    make_database: MakeDatabase, anew: bool
) -> None:
    """The event names the transaction alone; books that have begun again say what the others do."""
    database = make_database()
    database.migrate()
    Books(database).begin(GENESIS, "Development", "all", block(0, []), {})
    sent_back = {"broadcast_id": 5, "tx_id": bytes([9]) * 32}
    blocks = [
        [opening(0, OURS)], [failed_deposit(0)], [opening(0, OTHERS)], [failed_deposit(0)],
        [DecodedEvent(0, "EthereumIngressEgress", "TransactionRejectedByBroker", sent_back)],
    ]  # fmt: skip
    books = Books(database)
    for number, events in enumerate(blocks, start=1):
        if anew:
            books = Books(database)
        books.write([block(number, events)], {})
    assert of(database, "payouts", "kind", "account") == [("rejection", ss58.encode(OTHERS))]
    assert recomputed(database) == []


def _written_by_an_older_version(new: Database, old: Database) -> None:
    """Write new books with the tables of the version before, with the accounts of the first channel."""
    config, ours = _alembic(), ss58.encode(OURS)
    with old.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0008_day_totals")
    with new.reading() as reading, old.writing() as connection:
        for name, table in schema.metadata.tables.items():
            added = {"opened"} if name != "expectations" else {"time", "opening"}
            for row in reading.execute(select(table)).mappings():
                kept = {key: value for key, value in row.items() if key not in added}
                if name == "deposits" or (name == "fees" and row["kind"] == "ingress"):
                    kept["account"] = ours
                if name == "partner_channels" and row["opened"] == 7:
                    kept["answer"] = '{"id": "7-Ethereum-7"}'
                if name == "partner_channels":
                    kept["at"] = NOVEMBER.start
                connection.execute(insert(table).values(**kept))
        total = {
            "day": 1,
            "measure": "fee",
            "name": "",
            "asset": "Eth",
            "count": 1,
            "amount": "1",
            "value": "1",
        }
        connection.execute(insert(schema.metadata.tables["day_totals"]), total)
        connection.execute(text("INSERT INTO ledger (name, value) VALUES ('totals', '8')"))


def test_lines_of_statements_and_fees_name_the_channel_of_their_own_opening(
    make_database: MakeDatabase,
) -> None:
    """A number alone would say that all are one channel's."""
    books = written(make_database())
    lines = list(LedgerStatement(books, NOVEMBER).lines())
    swaps = {line.request: line.channel_id for line in lines if line.line == "swap"}
    assert swaps == {1: "1-Ethereum-7", 2: "3-Ethereum-7", 4: "7-Ethereum-7"}
    ingress = ["1-Ethereum-7", "3-Ethereum-7", "5-Ethereum-7", "7-Ethereum-7"]
    assert [line.channel_id for line in lines if line.kind == "ingress"] == ingress
    fees = [record for record in report(books, "fees", Period()) if record["kind"] == "ingress"]
    assert [record["channel_id"] for record in fees] == ingress


def test_a_webhook_names_the_channel_and_the_documents_state(make_database: MakeDatabase) -> None:
    """Name in a webhook's body the channel by block, chain and number, and the document's state."""
    database = make_database()
    database.migrate()
    add(database, "http://127.0.0.1:9/", None)
    books = written(database)
    noted = rows(books, "changes")
    bodies = [json.loads(row["body"]) for row in noted if row["type"] == "swap.state"]
    assert [(body["request"], body["state"], body["status"]) for body in bodies] == [
        (number, "swapping", "SWAPPING") for number in (1, 2, 4)
    ]
    assert [body["swap"]["channel_id"] for body in bodies] == ["1-Ethereum-7", "3-Ethereum-7", "7-Ethereum-7"]
