"""Books of chosen accounts have no withdrawals of others, and not their FLIP, also after an upgrade."""

from __future__ import annotations

from typing import Any

import pytest
from alembic import command
from sqlalchemy import insert, select

from cfnode.core import ss58
from cfnode.ledger import schema
from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, _alembic
from cfnode.ledger.decoding import DecodedEvent, fields_text
from cfnode.ledger.recompute import recomputed
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import dump, rows
from tests.support.ledger.blocks import GENESIS, block

OURS, OTHERS = (bytes([number]) * 32 for number in (1, 2))
PLACE = ("Eth", b"\xab" * 20)
ETHER, DOLLAR = 10**18, 10**6


def debit(index: int, account: bytes, asset: str, amount: int) -> DecodedEvent:
    """Return the debit of an account."""
    fields = {"account_id": account, "asset": asset, "amount_debited": amount, "new_balance": 0}
    return DecodedEvent(index, "AssetBalances", "AccountDebited", fields)


def withdrawal(index: int, egress: int, asset: str, amount: int, fee: int) -> DecodedEvent:
    """Return a withdrawal, which states no account."""
    fields = {"egress_id": ("Ethereum", egress), "asset": asset, "amount": amount, "fee": fee,
              "destination_address": PLACE}  # fmt: skip
    return DecodedEvent(index, "LiquidityProvider", "WithdrawalEgressScheduled", fields)


def batch(index: int, broadcast: int, *egresses: int) -> DecodedEvent:
    """Return the batch that carries some egresses."""
    fields = {"broadcast_id": broadcast, "egress_ids": [("Ethereum", egress) for egress in egresses]}
    return DecodedEvent(index, "EthereumIngressEgress", "BatchBroadcastRequested", fields)


def success(index: int, broadcast: int) -> DecodedEvent:
    """Return the success of a broadcast."""
    fields = {"broadcast_id": broadcast, "transaction_ref": bytes([broadcast]) * 32}
    return DecodedEvent(index, "EthereumBroadcaster", "BroadcastSuccess", fields)


REBALANCE = {"source_account_id": OURS, "recipient_account_id": OTHERS, "amount": 7}
REWARDS = {"amounts": [(OTHERS, 4), (OURS, 5)]}
BLOCKS: list[list[DecodedEvent]] = [
    [
        debit(0, OURS, "Usdc", 100 * DOLLAR),
        debit(1, OTHERS, "Eth", 5 * ETHER),
        withdrawal(2, 1, "Eth", 5 * ETHER - 3, 3),
    ],
    [
        debit(0, OTHERS, "Eth", 2 * ETHER),
        debit(1, OURS, "Eth", 2 * ETHER),
        withdrawal(2, 2, "Eth", 2 * ETHER - 3, 3),
    ],
    [batch(0, 1, 1, 2), batch(1, 2, 1)],
    [success(0, 1), success(1, 2)],
    [DecodedEvent(0, "Funding", "Rebalance", REBALANCE), DecodedEvent(1, "Flip", "FlipDistributed", REWARDS)],
]
"""A debit of ours before another account's withdrawal, and a withdrawal of ours with a batch in common."""


def written(database: Database) -> Database:
    """Write the blocks into books of our account alone."""
    database.migrate()
    books = Books(database)
    books.begin(GENESIS, "Development", ss58.encode(OURS), block(0, []), {})
    books.write([block(number, events) for number, events in enumerate(BLOCKS, start=1)], {})
    assert rows(database, "unread") == []
    return database


def of(database: Database, table: str, *names: str) -> list[tuple[Any, ...]]:
    """Return some columns of a table."""
    return [tuple(row[name] for name in names) for row in rows(database, table)]


def test_a_withdrawal_is_of_the_account_that_was_debited_for_it(make_database: MakeDatabase) -> None:
    """Give a withdrawal to the account whose debit precedes it with the very amount, and drop the others."""
    books = written(make_database())
    assert of(books, "payouts", "egress", "account", "amount") == [(2, ss58.encode(OURS), 2 * ETHER - 3)]
    assert of(books, "broadcasts", "block", "place", "broadcast", "egress") == [(3, 0, 1, 2)]
    assert of(books, "outcomes", "broadcast") == [(1,)]
    assert recomputed(books) == []


def test_flip_of_others_is_not_in_the_books(make_database: MakeDatabase) -> None:
    """Keep our side of a transfer and of a distribution of FLIP, and not the other account's."""
    books = written(make_database())
    ours = ss58.encode(OURS)
    assert of(books, "holdings", "account", "kind", "credit", "amount") == [
        (ours, "rebalanced", False, 7),
        (ours, "reward", True, 5),
    ]


@pytest.mark.parametrize("kept", ["chosen", "all"])
def test_old_books_are_rid_of_others_facts(make_database: MakeDatabase, kept: str) -> None:
    """Remove other accounts' rows from older books of chosen accounts, and nothing from books of all."""
    new, old = written(make_database()), make_database()
    _written_by_an_older_version(new, old, kept)
    before = _contents(old)
    old.migrate()
    if kept == "all":
        assert _contents(old) == before
        return
    for name in dump(new):
        assert rows(old, name) == rows(new, name), name
    assert recomputed(old) == []


def _contents(database: Database) -> list[Any]:
    return [of(database, "holdings", "account", "amount"), of(database, "payouts", "egress")]


def _written_by_an_older_version(new: Database, old: Database, kept: str) -> None:
    """Fill `old` with the rows of `new`, and with those that only the version before wrote."""
    config, ours, others = _alembic(), ss58.encode(OURS), ss58.encode(OTHERS)
    with old.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0008_day_totals")
    with new.reading() as reading, old.writing() as connection:

        def add(table_name: str, **row: Any) -> None:
            connection.execute(insert(schema.metadata.tables[table_name]).values(**row))

        def event(number: int, index: int) -> None:
            decoded_event = BLOCKS[number - 1][index]
            add("events", block=number, event=index, pallet=decoded_event.pallet, name=decoded_event.name,
                fields=fields_text(decoded_event.fields))  # fmt: skip

        for name, table in schema.metadata.tables.items():
            for row in reading.execute(select(table)).mappings():
                values = {key: value for key, value in row.items() if key != "opened"}
                if (name, values.get("name")) == ("ledger", "accounts") and kept == "all":
                    values["value"] = "all"
                if name == "broadcasts":
                    values["place"] = 1
                if name != "holdings":
                    add(name, **values)
        for place, (account, credit) in enumerate([(ours, False), (others, True)]):
            add("holdings", block=5, event=0, place=place, account=account, asset="FLIP", kind="rebalanced",
                credit=credit, amount=7)  # fmt: skip
        for place, (account, amount) in enumerate([(others, 4), (ours, 5)]):
            add("holdings", block=5, event=1, place=place, account=account, asset="FLIP", kind="reward",
                credit=True, amount=amount)  # fmt: skip
        add("payouts", block=1, event=2, kind="liquidity", state="scheduled", chain="Ethereum", egress=1,
            account=ours, asset="Eth", amount=5 * ETHER - 3, destination="0x" + "ab" * 20)  # fmt: skip
        add("fees", block=1, event=2, place=0, kind="egress", account=ours, asset="Eth", amount=3)
        add("broadcasts", block=3, event=0, place=0, chain="Ethereum", broadcast=1, egress=1)
        add("broadcasts", block=3, event=1, place=0, chain="Ethereum", broadcast=2, egress=1)
        add("outcomes", block=4, event=1, chain="Ethereum", broadcast=2, state="success",
            transaction="0x" + "02" * 32)  # fmt: skip
        for number, index in ((1, 2), (3, 1), (4, 1)):
            event(number, index)
