"""FLIP on the State Chain and the boost pool: the books have what events state, and compare it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete, update

from cfnode.core import ss58
from cfnode.core.addresses import NETWORKS
from cfnode.ledger import schema
from cfnode.ledger.balances import Comparison, Difference, compare
from cfnode.ledger.books import Books
from cfnode.ledger.chain import ChainReader
from cfnode.ledger.client import connected
from cfnode.ledger.database import Database
from cfnode.ledger.decoding import DecodedBlock, DecodedEvent
from cfnode.ledger.follower import Source
from cfnode.ledger.rows import Known, rows_of
from cfnode.ledger.rows.deposits import BOOST_ACCOUNT
from tests.ledger.conftest import MakeDatabase, books_of_day
from tests.ledger.contents import rows
from tests.ledger.day import Day
from tests.support.ledger.books import followed

ONE, TWO = b"\1" * 32, b"\2" * 32


async def compared(day: Day, database: Database) -> Comparison:
    """Compare the books with the chain."""
    async with connected(day.url) as client:
        outcome = await compare(ChainReader(client), Books(database))
    assert outcome is not None
    return outcome


async def test_a_changed_figure_is_a_difference_with_both_figures(
    day: Day, make_database: MakeDatabase
) -> None:
    """Report a changed FLIP fee and a lost boost with the figures of both sides."""
    books = await books_of_day(day, make_database)
    held = rows(books, "holdings")
    assert {row["kind"] for row in held} >= {"fee", "funded", "boost"}
    fee = next(row for row in held if (row["kind"], row["account"]) == ("fee", day.broker))
    boost = next(row for row in held if row["kind"] == "boost" and row["credit"])
    table = schema.holdings
    with books.writing() as connection:
        same = (table.c.block == fee["block"], table.c.event == fee["event"], table.c.place == fee["place"])
        connection.execute(update(table).where(*same).values(amount=fee["amount"] + 1))
        connection.execute(delete(table).where(table.c.block == boost["block"], table.c.kind == "boost"))
    flip = int(day.chain.rpc("cf_account_info", day.broker)["flip_balance"], 16)
    lender = ss58.encode(BOOST_ACCOUNT)
    pool = int(day.chain.rpc("cf_free_balances", lender)["Bitcoin"]["BTC"], 16)
    outcome = await compared(day, books)
    assert set(outcome.differences) == {
        Difference(day.broker, "FLIP", "flip_balance", flip - 1, flip),
        Difference(lender, "Btc", "free_balance", pool - boost["amount"], pool),
    }
    noted = {(row["figure"], row["books"], row["chain"]) for row in rows(books, "checks")}
    assert ("flip_balance", flip - 1, flip) in noted


async def test_accounts_that_have_redeemed_are_left_out(day: Day, make_database: MakeDatabase) -> None:
    """Compare no FLIP of an account with a redemption, whose outcome no event states."""
    books = await books_of_day(day, make_database)
    before = await compared(day, books)
    row = {"block": day.head, "event": 9_999, "place": 0, "account": day.broker, "asset": "FLIP",
           "kind": "redemption", "credit": False, "amount": 5}  # fmt: skip
    with books.writing() as connection:
        connection.execute(schema.holdings.insert(), row)
    after = await compared(day, books)
    assert (after.differences, after.compared) == ((), before.compared - 1)


async def test_books_of_an_earlier_version_begin_with_the_present_balances(
    day: Day, make_database: MakeDatabase
) -> None:
    """Begin older books with the FLIP balances of their newest block, from which they then count."""
    books = await books_of_day(day, make_database)
    Books(books).go_back(day.head - 30)
    with books.writing() as connection:
        for table in (schema.holdings, schema.openings):
            connection.execute(delete(table).where(table.c.asset == "FLIP"))
        connection.execute(delete(schema.ledger).where(schema.ledger.c.name == "flip_from"))
    await followed(books, Source(day.url))
    assert Books(books).value("flip_from") == str(day.head - 31)
    assert {row["block"] for row in rows(books, "openings") if row["asset"] == "FLIP"} == {day.head - 31}
    assert day.broker in {row["account"] for row in rows(books, "openings")}


def held_after(pallet: str, name: str, accounts: frozenset[bytes] | None = None, **fields: Any) -> list[Any]:
    """Return account, kind and amount of the rows of an event; a debit is negative."""
    block = DecodedBlock(9, "0x", "0x", 0, 0, (DecodedEvent(0, pallet, name, fields),))
    tables = rows_of(block, Known(NETWORKS["Mainnet"], accounts))
    assert not tables.get("unread")
    return [
        (ss58.decode(row["account"])[1], row["kind"], row["amount"] if row["credit"] else -row["amount"])
        for row in tables.get("holdings", ())
    ]


def test_each_event_that_moves_flip() -> None:
    """Book each event about FLIP as a credit or a debit, for chosen accounts where it names no other."""
    assert held_after("Funding", "Funded", account_id=ONE, funds_added=7, total_balance=9, source="x") == [
        (ONE, "funded", 7)
    ]
    assert held_after("Funding", "RedemptionRequested", account_id=ONE, amount=5) == [(ONE, "redemption", -5)]
    assert held_after("Funding", "RedemptionAmountZero", account_id=ONE) == [(ONE, "redemption", 0)]
    moved: dict[str, Any] = {"source_account_id": ONE, "recipient_account_id": TWO, "amount": 3}
    assert held_after("Funding", "Rebalance", **moved) == [(ONE, "rebalanced", -3), (TWO, "rebalanced", 3)]
    assert held_after("Flip", "SlashingPerformed", who=ONE, amount=2) == [(ONE, "slashed", -2)]
    assert held_after("Flip", "AccountReaped", who=ONE, dust_burned=4) == [(ONE, "reaped", -4)]
    assert held_after("Flip", "FlipMinted", to=ONE, amount=6) == []
    assert held_after("Flip", "FlipMinted", frozenset([ONE]), to=ONE, amount=6) == [(ONE, "minted", 6)]
    shares = [(ONE, 1), (TWO, 2)]
    both = frozenset([ONE, TWO])
    assert held_after("Flip", "FlipDistributed", frozenset([ONE]), amounts=shares) == [(ONE, "reward", 1)]
    assert held_after("Flip", "FlipDistributed", both, amounts=shares) == [
        (ONE, "reward", 1),
        (TWO, "reward", 2),
    ]
    assert held_after("TransactionPayment", "TransactionFeePaid", who=ONE, actual_fee=8, tip=0) == [
        (ONE, "fee", -8)
    ]
