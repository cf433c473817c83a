"""Changes of channels and deposits: each once, in the order of its channel, with its swaps between them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from alembic import command
from sqlalchemy import event, insert, text

from cfnode.core import ss58
from cfnode.ledger import block_rows, schema
from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, _alembic
from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.webhooks import registry
from cfnode.ledger.webhooks.history import lines_of_channel
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import rows
from tests.support.ledger.blocks import GENESIS, block
from tests.support.ledger.reused import BLOCKS, ETHER, EXPIRY, NUMBER, OTHERS, OURS, failed_deposit, opening
from tests.support.ledger.webhooks import NOWHERE


def begun(make_database: MakeDatabase, *accounts: str) -> tuple[Database, list[str]]:
    """Return empty books with a webhook for all, and one for each account; and the ids of these."""
    database = make_database()
    database.migrate()
    Books(database).begin(GENESIS, "Development", "all", block(0, []), {})
    return database, [registry.add(database, NOWHERE, account)[0] for account in (None, *accounts)]


def witnessed(index: int, height: int) -> DecodedEvent:
    """Return the event by which the chain has witnessed a block of Ethereum."""
    state = {"new_chain_state": {"block_height": height}}
    return DecodedEvent(index, "EthereumChainTracking", "ChainStateUpdated", state)


def types(database: Database, subject: str) -> list[str]:
    """Return the types of a subject's changes in their order, and the states of its swaps."""
    return [
        f"{row['type']} {row['state']}" if row["type"] == "swap.state" else row["type"]
        for row in rows(database, "changes")
        if row["subject"] == subject
    ]


def write(database: Database, blocks: list[list[DecodedEvent]], first: int = 1) -> None:
    """Write blocks made by hand."""
    Books(database).write([block(number, events) for number, events in enumerate(blocks, first)], {})


def test_a_channel_its_deposit_and_its_swap_are_told_in_order(make_database: MakeDatabase) -> None:
    """Also where the chain gives the number of the channel out again."""
    ours = ss58.encode(OURS)
    database, (everything, own) = begun(make_database, ours)
    write(database, BLOCKS)
    for opened in (1, 3, 7):
        names = types(database, f"{opened}-Ethereum-{NUMBER}")
        assert names == ["channel.opened", "deposit.confirmed", "swap.state swapping"], opened
    assert types(database, f"5-Ethereum-{NUMBER}") == ["channel.opened", "deposit.confirmed"]
    changes = {row["id"]: row for row in rows(database, "changes")}
    to_own = [changes[row["change"]] for row in rows(database, "deliveries") if row["webhook"] == own]
    assert {change["subject"] for change in to_own} == {f"{block}-Ethereum-{NUMBER}" for block in (1, 7)}
    assert len(to_own) == 6
    for change in changes.values():
        body = json.loads(change["body"])
        assert (body["type"], body["channel_id"], body["block"]) == (
            change["type"],
            change["subject"],
            change["block"],
        )
    opened_body = json.loads(changes[1]["body"])["channel"]
    assert (opened_body["account"], opened_body["target"], opened_body["opening_fee"]) == (ours, "Usdc", "0")
    paid = next(row for row in changes.values() if row["type"] == "deposit.confirmed")
    assert json.loads(paid["body"])["deposit"]["amount"] == str(ETHER)
    assert json.loads(paid["body"])["request"] == paid["request"] == 1
    with database.reading() as connection:
        lines = lines_of_channel(connection, f"1-Ethereum-{NUMBER}")
    assert [line.title for line in lines if line.webhook == everything] == [
        *("channel.opened", "deposit.confirmed", "swap.swapping"),
    ]


def test_blocks_that_are_read_again_change_nothing(make_database: MakeDatabase) -> None:
    """A fact that was noted by an earlier reading of its block is left out."""
    database, _ = begun(make_database)
    write(database, [*BLOCKS, [witnessed(0, EXPIRY)], [witnessed(0, EXPIRY + 1)]])
    noted = rows(database, "changes")
    for first in (9, 4, 1):
        Books(database).go_back(first)
        later = [*BLOCKS, [witnessed(0, EXPIRY)], [witnessed(0, EXPIRY + 1)]][first - 1 :]
        write(database, later, first)
        assert rows(database, "changes") == noted, first


@pytest.mark.parametrize("size", [1, 3, 32])
def test_a_channel_expires_once_when_its_last_block_is_passed(
    size: int, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many blocks share a transaction, in which the channel may have been opened."""
    monkeypatch.setattr(block_rows, "MAX_TRANSACTION_BLOCKS", size)
    database, _ = begun(make_database)
    heights = [EXPIRY - 1, EXPIRY, EXPIRY + 1, EXPIRY + 2, 901]
    write(database, [[witnessed(0, 1)], [opening(0, OURS)], *([witnessed(0, height)] for height in heights)])
    write(database, [[opening(0, OTHERS)], [witnessed(0, 902)], [witnessed(0, 903)]], 8)
    expired = [row for row in rows(database, "changes") if row["type"] == "channel.expired"]
    assert [(row["subject"], row["block"]) for row in expired] == [(f"2-Ethereum-{NUMBER}", 5)]
    assert json.loads(expired[0]["body"])["channel"]["deposits"] == 0


def test_a_deposit_is_seen_where_no_lender_advances_it_and_rejected(make_database: MakeDatabase) -> None:
    """Receivers get what is no swap, too."""
    database, _ = begun(make_database)
    fields: dict[str, Any] = {
        "asset": "Eth", "amount_attempted": ETHER, "prewitnessed_deposit_id": 3, "channel_id": NUMBER,
        "origin_type": "DepositChannel",
    }  # fmt: skip
    refused = DecodedEvent(0, "EthereumIngressEgress", "InsufficientBoostLiquidity", fields)
    write(database, [[opening(0, OURS)], [refused], [failed_deposit(0)]])
    subject = f"1-Ethereum-{NUMBER}"
    assert types(database, subject) == ["channel.opened", "deposit.seen", "deposit.rejected"]
    seen, rejected = (json.loads(row["body"])["deposit"] for row in rows(database, "changes")[1:])
    assert (seen["amount"], seen["account"]) == (str(ETHER), ss58.encode(OURS))
    assert rejected["reason"] == "BelowMinimumDeposit"


def test_webhooks_of_older_books_keep_their_order(make_database: MakeDatabase) -> None:
    """Deliveries that wait, and those of the next changes of the same channel, have one subject."""
    database, config = make_database(), _alembic()
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0014_references")
        for number, channel in ((1, 7), (2, None)):
            place = {"block": 5, "event": number, "request": number, "kind": "Regular", "origin": "x"}
            opened = {"chain": "Ethereum", "channel": channel, "opened": channel and 1}
            values = place | opened | {"source": "Eth", "target": "Usdc", "amount": 1}
            connection.execute(insert(schema.requests), values)
            for table, columns, inserted in (
                ("changes", "id, block, request, state, body", "(:n, 5, :n, 'paid', '{}')"),
                (
                    "deliveries",
                    "webhook, change, request, state, attempts, next_at",
                    "('wh_1', :n, :n, 'pending', 0, 1)",
                ),
            ):
                query = text(f"INSERT INTO {table} ({columns}) VALUES {inserted}")
                connection.execute(query, {"n": number})
    database.migrate()
    changed, sent = rows(database, "changes"), rows(database, "deliveries")
    assert [row["subject"] for row in changed] == ["1-Ethereum-7", "swap-2"]
    assert {row["type"] for row in changed} == {"swap.state"}
    assert [row["subject"] for row in sent] == ["1-Ethereum-7", "swap-2"]


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("SELECT id FROM changes WHERE subject = '1' ORDER BY id", "changes_by_subject"),
        ("SELECT change FROM deliveries WHERE webhook = 'w' AND state = 'expired' AND change < 9 "
         "ORDER BY change DESC LIMIT 51", "deliveries_by_webhook_state"),
        ("SELECT change FROM deliveries WHERE webhook = 'w' AND subject = 's' AND state = 'pending'",
         "deliveries_by_webhook_subject"),
        ("SELECT change FROM deliveries WHERE webhook = 'w' AND state = 'pending' AND next_at <= 9",
         "deliveries_by_webhook_next_at"),
        ("DELETE FROM attempts WHERE webhook = 'w' AND at < 9", "attempts_by_webhook_at"),
        ("SELECT min(expiry_block) FROM channels WHERE chain = 'Ethereum' AND expiry_block >= 9",
         "channels_by_chain_expiry_block"),
    ],
)  # fmt: skip
def test_each_query_has_its_index(query: str, index: str, make_database: MakeDatabase) -> None:
    """None of them reads a table, however large it is."""
    database = make_database()
    database.migrate()
    with database.reading() as connection:
        if database.is_sqlite:
            plan = str(connection.execute(text(f"EXPLAIN QUERY PLAN {query}")).all())
            assert "TEMP B-TREE" not in plan
            assert index in plan
        else:  # which of several indexes it takes depends on the number of rows
            connection.execute(text("SET LOCAL enable_seqscan = off"))
            plan = str(connection.execute(text(f"EXPLAIN {query}")).all())
            assert "Seq Scan" not in plan
            assert f"{query.split('FROM ')[1].split()[0]}_" in plan


def test_the_deliveries_of_a_channel_are_found_by_keys(make_database: MakeDatabase) -> None:
    """No query of its page reads all deliveries, as a planner may choose."""
    database, _ = begun(make_database)
    if not database.is_sqlite:
        pytest.skip("the plan of PostgreSQL depends on the number of rows")
    write(database, BLOCKS)
    asked: list[tuple[str, Any]] = []
    with database.reading() as connection:
        event.listen(connection, "before_cursor_execute", lambda *about: asked.append(about[2:4]))
        assert lines_of_channel(connection, f"1-Ethereum-{NUMBER}")
        (query,) = [query for query in asked if "FROM deliveries" in query[0]]
        plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query[0]}", query[1])]
    assert not any(line.startswith("SCAN deliveries") for line in plan), plan
