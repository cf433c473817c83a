"""A channel that the service opened is answered for until the books have its block, and not longer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfnode.ledger.books import ALL_ACCOUNTS, Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.swap_events import ServiceChannel, SwapEvents, expect
from cfnode.swap_service.parameters import RequestRefusal
from cfnode.swap_service.statuses import status
from cfnode.swaps.identity import ChannelId
from tests.support.ledger.blocks import GENESIS, block
from tests.support.ledger.reused import ETHER, NUMBER, OTHERS, OURS, opening


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
