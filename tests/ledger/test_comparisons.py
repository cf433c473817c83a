"""While it follows, the ledger compares the books with the chain; opening fees of channels are in both."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from sqlalchemy import select, update

from cfnode.ledger import follower, schema
from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.follower import Follower, Source
from cfnode.testing import DevChain, running_node
from tests.ledger.contents import rows
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS, Day
from tests.support.ledger.books import followed

FEE = 10**17
"""Smallest units of FLIP: a tenth of one."""


async def test_what_channels_cost_is_in_the_books_and_agrees_with_the_chain(tmp_path: Path) -> None:
    """Book the opening fee of a channel as the broker's, and none for a chain without one."""
    books = Database(sqlite_url(tmp_path / "books.sqlite"))
    with running_node(tmp_path / "node") as node, DevChain(node.url) as chain:
        chain.broker.register()
        updates = {"updates": [{"ChannelOpeningFeeEthereum": {"fee": FEE}}]}
        chain.rpc("dev_govern", "EthereumIngressEgress", "update_pallet_config", updates)
        for _ in range(2):
            chain.broker.open_channel("Eth", "Btc", BTC_ADDRESS, refund_address=EVM_ADDRESS)
        chain.broker.open_channel("Btc", "Eth", EVM_ADDRESS, refund_address=BTC_ADDRESS)  # costs nothing
        chain.finalize()
        await followed(books, Source(node.url, first=1))
        (broker,) = {row["account"] for row in rows(books, "channels")}
    assert [row["opening_fee"] for row in rows(books, "channels")] == [FEE, FEE, 0]
    fees = [row for row in rows(books, "fees") if row["kind"] == "opening"]
    assert [(row["account"], row["asset"], row["amount"], row["chain"]) for row in fees] == [
        (broker, "Flip", FEE, "Ethereum")
    ] * 2
    held = [row for row in rows(books, "holdings") if row["kind"] == "opening"]
    assert [(row["account"], row["credit"], row["amount"]) for row in held] == [(broker, False, FEE)] * 2


@pytest.mark.world
async def test_a_difference_is_logged_and_noted_while_following(
    day: Day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Log and note a changed amount at each comparison, with the figures of books and chain."""
    monkeypatch.setattr(follower, "CHECK_BLOCKS", 10)
    books, table = Database(sqlite_url(tmp_path / "books.sqlite")), schema.movements
    await followed(books, Source(day.url, first=1))
    Books(books).go_back(51)
    assert not [record for record in caplog.records if record.levelno > logging.INFO]
    with books.writing() as connection:
        first = connection.execute(select(table).order_by(table.c.block)).mappings().first()
        assert first is not None
        wrong = update(table).where(table.c.block == first["block"], table.c.event == first["event"])
        connection.execute(wrong.values(amount=first["amount"] + 3))
    await Follower(Source(day.url), Books(books)).run(once=True)
    noted = [row for row in rows(books, "checks") if row["figure"] == "free_balance"]
    assert [row["block"] for row in noted] == [50, 60, 70, 80, 90, day.head]
    for row in noted:
        account, asset = first["account"], first["asset"]
        assert (row["account"], row["asset"], row["books"] - row["chain"]) == (account, asset, 3)
        figures = f"free_balance of {account} in {asset}: books {row['books']}, chain {row['chain']}"
        assert f"Books and chain differ at block {row['block']}: {figures}" in caplog.text


async def test_followers_that_find_the_chain_as_the_books_say_log_no_error(
    day: Day, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Compare every ten blocks and at the end, and log neither error nor warning."""
    monkeypatch.setattr(follower, "CHECK_BLOCKS", 10)
    compared: list[int] = []
    real = follower.compare

    async def watched(*about: object) -> object:
        outcome = await real(*about)  # type: ignore[arg-type]
        assert outcome is not None
        compared.append(outcome.block.number)
        return outcome

    monkeypatch.setattr(follower, "compare", watched)
    await followed(Database(sqlite_url(tmp_path / "books.sqlite")), Source(day.url, first=1))
    assert compared == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, day.head]
    assert [record for record in caplog.records if record.levelname in ("ERROR", "WARNING")] == []
