"""The details of a swap and of a channel are what the books' tables have of them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from sqlalchemy import insert

from cfnode.ledger import swap_detail as detail_module
from cfnode.ledger.channel_detail import ChannelDetail, channel_detail
from cfnode.ledger.database import Database
from cfnode.ledger.heights import heights
from cfnode.ledger.recent_swaps import failed_payouts
from cfnode.ledger.reports import Period, report
from cfnode.ledger.service_tables import changes, deliveries, webhooks
from cfnode.ledger.swap_detail import Sum, SwapDetail, swap_detail
from cfnode.swaps.identity import ChannelId
from cfnode.swaps.timing import blocks_ms
from tests.ledger.conftest import MakeDatabase, books_of_day
from tests.ledger.contents import rows
from tests.ledger.day import Day


def details(database: Database, number: int) -> SwapDetail:
    """Return the details of a swap that the books have."""
    with database.reading() as connection:
        detail = swap_detail(connection, number)
    assert detail is not None
    return detail


def sums(facts: list[dict[str, Any]], name: str, number: int) -> set[Sum]:
    """Return the sums of a swap's amounts by a column and by asset."""
    by_key: dict[tuple[str, str], int] = defaultdict(int)
    for row in facts:
        if row["request"] == number:
            by_key[row[name], row["asset"]] += row["amount"]
    return {Sum(*key, amount) for key, amount in by_key.items()}


async def test_each_swap_has_its_fees_chunks_and_payouts(day: Day, make_database: MakeDatabase) -> None:
    """List fees, commissions, chunks and payouts of each swap as the tables and reports have them."""
    database = await books_of_day(day, make_database)
    tables = {name: rows(database, name) for name in ("fees", "commissions", "swaps", "deposits")}
    paid = list(report(database, "payouts", Period()))
    for record in report(database, "swaps", Period()):
        number = record["request"]
        detail = details(database, number)
        assert (detail.swap.state, detail.swap.executed) == (record["state"], record["chunks"])
        assert set(detail.fees) == sums(tables["fees"], "kind", number)
        assert set(detail.commissions) == sums(tables["commissions"], "account", number)
        chunks = [swap for swap in tables["swaps"] if swap["request"] == number]
        done = [chunk for chunk in chunks if chunk["state"] != "scheduled"]
        assert [(chunk.swap, chunk.output) for chunk in detail.chunks] == [
            (chunk["swap"], chunk["output"]) for chunk in done
        ]
        assert detail.chunk_rows == len(done)
        own = [payout for payout in paid if payout["request"] == number]
        assert [(payout.fact.state, payout.fact.transaction) for payout in detail.payouts] == [
            (payout["state"], payout["transaction"]) for payout in own
        ]
        assert (str(detail.channel.id) if detail.channel else None) == record["channel_id"]


async def test_a_journey_is_in_order_and_has_its_transactions(day: Day, make_database: MakeDatabase) -> None:
    """Order the steps of a failed swap from opening to signed call, each with time and transaction."""
    database = await books_of_day(day, make_database)
    with database.reading() as connection:
        (failed,) = failed_payouts(connection)
    assert failed.request is not None
    detail = details(database, failed.request)
    assert detail.failed == (failed,)
    journey = [step.what for step in detail.journey]
    assert journey[:3] == ["opened", "requested", "deposit.finalised"]
    begun, taken = journey.index("batch.success"), journey.index("call")
    assert journey.index("completed") < journey.index("batch") < begun < taken < journey.index("call.signed")
    places = [(step.block, step.event) for step in detail.journey]
    assert places == sorted(places)
    times = {row["number"]: row["time"] for row in rows(database, "blocks")}
    assert all(step.time == times[step.block] for step in detail.journey)
    (deposit,) = (row for row in rows(database, "deposits") if row["request"] == failed.request)
    sent = next(step for step in detail.journey if step.what == "batch.success")
    assert deposit["transaction"] in {step.transaction for step in detail.journey}
    assert sent.transaction == detail.payouts[0].fact.transaction is not None


async def test_a_long_swap_is_cut(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Return two of three chunks and say that there are three."""
    database = await books_of_day(day, make_database)
    long = next(record for record in report(database, "swaps", Period()) if record["chunks"] == 3)
    monkeypatch.setattr(detail_module, "MAX_DETAIL_ROWS", 2)
    detail = details(database, long["request"])
    assert (len(detail.chunks), detail.chunk_rows, detail.swap.executed) == (2, 3, 3)


async def test_the_deliveries_of_a_swap_name_their_receivers(day: Day, make_database: MakeDatabase) -> None:
    """Return the deliveries of this swap alone, with the receiver's URL and the attempts."""
    database = await books_of_day(day, make_database)
    number = next(iter(report(database, "swaps", Period())))["request"]
    shared = {"webhook": "wh_1", "next_at": 1}
    with database.writing() as connection:
        connection.execute(insert(webhooks), {"id": "wh_1", "url": "https://shop.example", "secret": "s",
                                              "created_at": 1})  # fmt: skip
        for change, request, state in ((1, number, "swapping"), (2, number, "paid"), (3, number + 1, "paid")):
            subject = f"swap-{request}"
            about = {"id": change, "block": 1, "request": request, "state": state, "body": "{}",
                     "type": "swap.state", "subject": subject}  # fmt: skip
            connection.execute(insert(changes), about)
            sent = {"change": change, "subject": subject, "state": "delivered", "attempts": change}
            connection.execute(insert(deliveries), shared | sent)
    sent_lines = details(database, number).deliveries
    assert [(line.id, line.url, line.title, line.state, line.attempts) for line in sent_lines] == [
        ("wh_1.1", "https://shop.example", "swap.swapping", "delivered", 1),
        ("wh_1.2", "https://shop.example", "swap.paid", "delivered", 2),
    ]


async def test_each_channel_has_its_terms_and_deposits(day: Day, make_database: MakeDatabase) -> None:
    """Return terms, time left and deposits of each channel; another block's id has no channel."""
    database = await books_of_day(day, make_database)
    known = rows(database, "deposits")

    def detail(channel: ChannelId) -> ChannelDetail | None:
        with database.reading() as connection:
            return channel_detail(connection, channel)

    with database.reading() as connection:
        height = heights(connection)
    for row in rows(database, "channels"):
        channel = ChannelId(row["chain"], row["channel"], row["block"])
        channel_page = detail(channel)
        assert channel_page is not None
        assert (channel_page.line.address, channel_page.line.account) == (row["address"], row["account"])
        assert (channel_page.commission_bps, channel_page.chunks) == (row["commission_bps"], row["chunks"])
        assert channel_page.left_ms == blocks_ms(row["chain"], row["expiry_block"] - height[row["chain"]])
        own = [record for record in known if (record["chain"], record["channel"], record["opened"]) ==
               (channel.chain, channel.number, channel.block)]  # fmt: skip
        assert [(deposit.block, deposit.transaction) for deposit in channel_page.deposits] == [
            (deposit["block"], deposit["transaction"]) for deposit in reversed(own)
        ]
    assert detail(ChannelId("Bitcoin", 2**64, 1)) is None
    assert detail(ChannelId("Bitcoin", 1, 10**9)) is None


async def test_what_the_books_lack_has_no_details(make_database: MakeDatabase) -> None:
    """Return None for a swap and a channel that the books lack."""
    database = make_database()
    database.migrate()
    with database.reading() as connection:
        assert swap_detail(connection, 1) is None
        assert channel_detail(connection, ChannelId("Bitcoin", 1, 1)) is None
