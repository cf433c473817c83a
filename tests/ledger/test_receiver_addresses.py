"""Books are read with the checksums of receivers, in whatever case an address was written."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from cfnode.ledger.books import ALL_ACCOUNTS, Books
from cfnode.ledger.channel_detail import channel_detail
from cfnode.ledger.database import Database
from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.recent_swaps import failed_payouts
from cfnode.ledger.recompute import recomputed
from cfnode.ledger.reports import Period, report
from cfnode.ledger.search import search_books
from cfnode.ledger.statements import LedgerStatement
from cfnode.ledger.swap_detail import swap_detail
from cfnode.swaps.checksums import checksum_text
from cfnode.swaps.identity import ChannelId
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import rows
from tests.support.ledger.blocks import GENESIS, NOVEMBER, block
from tests.support.ledger.reused import EVM, NUMBER, OURS, deposit, executed, opening, request

STORED = f"0x{EVM.hex()}"
RECEIVER = checksum_text(STORED)
PAID = {"swap_request_id": 1, "egress_id": ("Ethereum", 9), "asset": "Usdc", "amount": 49,
        "egress_fee": (1, "Usdc")}  # fmt: skip
FAILED = {"asset": "Usdc", "amount": 49, "destination_address": EVM, "broadcast_id": 4}
BLOCKS = [
    [opening(0, OURS)],
    [request(0, 1, OURS, 50), deposit(1, 50, 1), *executed(2, 1, OURS)],
    [DecodedEvent(0, "Swapping", "SwapEgressScheduled", PAID)],
    [DecodedEvent(0, "EthereumIngressEgress", "TransferFallbackRequested", FAILED)],
]


@pytest.fixture
def books(make_database: MakeDatabase) -> Database:
    """Return books of a swap whose payout its receiver rejected."""
    database = make_database()
    database.migrate()
    Books(database).begin(GENESIS, "Development", ALL_ACCOUNTS, block(0, []), {})
    for number, events in enumerate(BLOCKS, start=1):
        Books(database).write([block(number, events)], {})  # each reads the receivers of those before
    assert rows(database, "unread") == []
    return database


def test_all_that_people_read_has_the_checksum(books: Database) -> None:
    """Statements and the bodies of webhooks are made of the same lines and records."""
    assert RECEIVER != STORED
    for name in ("channels", "swaps", "payouts"):
        assert [record["destination"] for record in report(books, name, Period())] == [RECEIVER], name
    lines = LedgerStatement(books, NOVEMBER).lines()
    assert {line.destination for line in lines if line.line in ("swap", "payout")} == {RECEIVER}
    with books.reading() as connection:
        detail = swap_detail(connection, 1)
        channel = channel_detail(connection, ChannelId("Ethereum", NUMBER, 1))
        (failed,) = failed_payouts(connection)
    assert detail is not None
    assert channel is not None
    assert {detail.swap.destination, *(payout.destination for payout in detail.payouts)} == {RECEIVER}
    assert (channel.line.destination, channel.refund_address, failed.destination) == (RECEIVER,) * 3
    assert failed.request == 1, "the payout was found by its receiver"
    assert channel.line.address == STORED, "a deposit address, as the swap service has it"


def test_the_stored_text_is_the_chains_and_is_found_in_any_case(books: Database) -> None:
    """The books follow from their events as before."""
    with books.reading() as connection:
        for table in ("channels", "requests", "payouts", "failures"):
            stored = connection.execute(text(f"SELECT DISTINCT destination FROM {table}")).scalars()
            assert list(stored) == [STORED], table
        for written in (STORED, RECEIVER, f"0x{EVM.hex().upper()}", EVM.hex()):
            assert [swap.request for swap in search_books(connection, written).swaps] == [1], written
    assert recomputed(books) == []
