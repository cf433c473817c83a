"""A channel that the service opened is answered for until the books have its block, and not longer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from cfnode.ledger.books import ALL_ACCOUNTS, Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.partners import access, registry
from cfnode.ledger.partners.access import Reservation
from cfnode.ledger.partners.channels import has_channel
from cfnode.ledger.partners.registry import Partner
from cfnode.ledger.service_tables import partner_channels
from cfnode.ledger.statements import LedgerStatement
from cfnode.ledger.swap_events import ServiceChannel, SwapEvents, expect
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.statuses import status
from cfnode.swaps.identity import ChannelId
from tests.ledger.contents import rows
from tests.support.ledger.blocks import GENESIS, NOVEMBER, block
from tests.support.ledger.reused import ETHER, NUMBER, OTHERS, OURS, deposit, executed, opening, request


@pytest.fixture
def books(tmp_path: Path) -> Books:
    """Return books of SQLite that begin with an empty block 0."""
    database = Database(sqlite_url(tmp_path / "books.sqlite"))
    database.migrate()
    new_books = Books(database)
    new_books.begin(GENESIS, "Development", ALL_ACCOUNTS, block(0, []), {})
    return new_books


def channel_status(books: Books, channel: ChannelId) -> dict[str, Any] | None:
    """Return the status of a channel by the books, or None where it is refused as unknown."""
    with books.database.reading() as connection:
        try:
            return status(SwapEvents(connection), str(channel))
        except RequestRefusal as refusal:
            assert refusal.status == 404
            return None


def announced(books: Books, number: int) -> ChannelId:
    """Return the service's channel, opened in a block that the books do not have."""
    channel = ChannelId("Ethereum", NUMBER, number)
    expect(books.database, ServiceChannel(channel, ETHER, 1_000, opening(0, OURS).fields))
    return channel


def test_a_channel_is_waiting_until_its_block_comes(books: Books) -> None:
    """Answer WAITING for the service's new channel before the books have its block, and keep its amount."""
    channel = announced(books, 1)
    early = channel_status(books, channel)
    assert early is not None
    assert (early["state"], early["depositChannel"]["expectedDepositAmount"]) == ("WAITING", str(ETHER))
    books.write([block(1, [opening(0, OURS)])], {})
    later = channel_status(books, channel)
    assert later is not None
    assert later["depositChannel"]["expectedDepositAmount"] == str(ETHER)


def test_a_fork_that_has_replaced_its_block_ends_it(books: Books) -> None:
    """The channel is opened by the block after, with another id."""
    channel = announced(books, 1)
    books.write([block(1, [])], {})
    assert channel_status(books, channel) is None
    books.write([block(2, [opening(0, OURS)])], {})
    assert channel_status(books, channel) is None
    assert channel_status(books, ChannelId("Ethereum", NUMBER, 2)) is not None


def test_a_fork_may_have_given_the_number_to_another_account(books: Books) -> None:
    """Give a number to the account of the branch that won, with that broker's 10 basis points."""
    channel = announced(books, 1)
    books.write([block(1, [opening(0, OTHERS)])], {})
    other = channel_status(books, channel)
    assert other is not None
    assert [broker["commissionBps"] for broker in other["brokers"]] == [10]


def partners(books: Books, channel: ChannelId) -> list[dict[str, Any]]:
    """Return the rows of partners' channels, after one was opened for a partner in a block of a fork."""
    registry.add(books.database, partner := Partner("shop", 10))
    reserved = access.reserve(books.database, partner, 0)
    assert isinstance(reserved, Reservation)
    access.settle(books.database, reserved, channel, 0)
    answer = {"answer": json.dumps({"id": str(channel), "issued_block": channel.block, "x": 1})}
    with books.database.writing() as connection:
        connection.execute(update(partner_channels).values(**answer))
    return rows(books.database, "partner_channels")


def test_a_partners_channel_keeps_its_partner_when_a_fork_replaces_its_block(books: Books) -> None:
    """Its swap, its statement and the repeated answer are the partner's under the new id."""
    channel, moved = announced(books, 1), ChannelId("Ethereum", NUMBER, 2)
    (row,) = partners(books, channel)
    assert row["opened"] == 1
    books.write([block(1, []), block(2, [opening(0, OURS)])], {})
    books.write([block(3, [request(0, 1, OURS, ETHER), deposit(1, ETHER, 1), *executed(2, 1, OURS)])], {})
    (row,) = rows(books.database, "partner_channels")
    assert (row["opened"], json.loads(row["answer"])) == (
        2,
        {"id": "2-Ethereum-7", "issued_block": 2, "x": 1},
    )
    assert has_channel(books.database, "shop", moved)
    later = channel_status(books, moved)
    assert later is not None
    assert later["depositChannel"]["expectedDepositAmount"] == str(ETHER)
    lines = LedgerStatement(books.database, NOVEMBER, partner="shop").lines()
    assert [line.amount for line in lines if line.line == "commission"] == [100]


@pytest.mark.parametrize("case", ["other terms", "both in the books", "far"])
def test_only_the_channel_of_the_answer_becomes_the_partners(books: Books, case: str) -> None:
    """A fork may order the openings anew, and a development chain gives numbers out soon."""
    channel = announced(books, 1)
    partners(books, channel)
    fields = opening(0, OURS).fields | ({"boost_fee": 30} if case == "other terms" else {})
    other = DecodedEvent(0, "Swapping", "SwapDepositAddressReady", fields)
    first = [opening(0, OURS)] if case == "both in the books" else []
    later = 102 if case == "far" else 2
    books.write([block(1, first), *(block(number, []) for number in range(2, later))], {})
    books.write([block(later, [other])], {})
    (row,) = rows(books.database, "partner_channels")
    assert row["opened"] == 1
    assert not has_channel(books.database, "shop", ChannelId("Ethereum", NUMBER, later))
