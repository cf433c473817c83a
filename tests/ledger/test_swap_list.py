"""The pages of a list of swaps have what its filter takes, each swap once, in both directions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from sqlalchemy import insert

from cfnode.ledger import swap_list
from cfnode.ledger.books import Books
from cfnode.ledger.database import Database
from cfnode.ledger.decoding import DecodedEvent
from cfnode.ledger.kinds import Owner
from cfnode.ledger.reports import Period, report
from cfnode.ledger.service_tables import partner_channels
from cfnode.ledger.swap_list import MAY_HAVE, SwapFilter, swap_page, swaps_of_filter
from cfnode.swaps.identity import ChannelId, Place
from cfnode.swaps.journey import REQUEST_STATES, JourneyState
from tests.ledger.conftest import MakeDatabase, books_of_day
from tests.ledger.contents import rows
from tests.ledger.day import Day
from tests.support.ledger.blocks import GENESIS, block
from tests.support.ledger.reused import ETHER, OURS, request

Record = dict[str, Any]
BEFORE_A_SWAP = {
    JourneyState.WAITING,
    JourneyState.NEVER_PAID,
    JourneyState.RECEIVING,
    JourneyState.REJECTED,
    JourneyState.LIQUIDITY,
}


def pages(database: Database, wanted: SwapFilter, most: int) -> list[int]:
    """Return the swaps of all pages, in their order."""
    requests: list[int] = []
    before: Place | None = None
    with database.reading() as connection:
        for _ in range(1_000):
            page = swap_page(connection, wanted, most, before)
            assert len(page.swaps) <= most
            assert page.is_cut or page.following is None or len(page.swaps) == most
            requests += [swap.request for swap in page.swaps]
            before = page.following
            if before is None:
                return requests
    raise AssertionError("the pages have no end")


def same(database: Database, wanted: SwapFilter, takes: Callable[[Record], bool]) -> int:
    """Compare pages and records with a filter of the whole report; return how many swaps it takes."""
    expected = [record for record in report(database, "swaps", Period()) if takes(record)]
    numbers = [record["request"] for record in expected]
    assert list(swaps_of_filter(database, wanted)) == expected, wanted
    for most in (1, 3, 50):
        assert pages(database, wanted, most) == numbers[::-1], (wanted, most)
    return len(expected)


def test_each_state_that_a_swap_can_have_is_a_choice() -> None:
    """Offer each state that a swap of the books can have, and no other."""
    assert set(MAY_HAVE) == set(REQUEST_STATES) == set(JourneyState) - BEFORE_A_SWAP - {JourneyState.BOOSTED}


def test_a_message_that_expired_before_it_was_sent_is_among_the_expired(make_database: MakeDatabase) -> None:
    """No transfer of it failed at its receiver, as those of the other expired swaps did."""
    database = make_database()
    database.migrate()
    payout = {"swap_request_id": 1, "egress_id": ("Ethereum", 1), "asset": "Usdc", "amount": 5,
              "egress_fee": (0, "Usdc")}  # fmt: skip
    sent = {"broadcast_id": 3, "egress_id": ("Ethereum", 1)}
    events = [
        request(0, 1, OURS, ETHER),
        DecodedEvent(1, "Swapping", "SwapEgressScheduled", payout),
        DecodedEvent(2, "EthereumIngressEgress", "CcmBroadcastRequested", sent),
        DecodedEvent(3, "EthereumBroadcaster", "TransactionBroadcastRequest", {"broadcast_id": 3}),
        DecodedEvent(4, "EthereumBroadcaster", "BroadcastAborted", {"broadcast_id": 3}),
        DecodedEvent(5, "EthereumIngressEgress", "FailedForeignChainCallExpired", {"broadcast_id": 3}),
    ]
    Books(database).begin(GENESIS, "Development", "all", block(0, []), {})
    Books(database).write([block(1, events)], {})
    assert rows(database, "unread") == []
    assert {state: pages(database, SwapFilter(state), 5) for state in REQUEST_STATES} == {
        state: [1] if state is JourneyState.EXPIRED else [] for state in REQUEST_STATES
    }


@pytest.mark.world
async def test_pages_and_records_are_those_of_the_report(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """List by pages what the report has for each state, pair, owner and account."""
    database = await books_of_day(day, make_database)
    monkeypatch.setattr(swap_list, "PART_ROWS", 4)
    monkeypatch.setattr(swap_list, "MAX_PAGE_PARTS", 2)
    monkeypatch.setattr(swap_list, "BATCH_ROWS", 2)
    whole = same(database, SwapFilter(), lambda record: True)
    by_state = {
        state: same(database, SwapFilter(state), lambda record, state=state: record["state"] == state)
        for state in REQUEST_STATES
    }
    assert sum(by_state.values()) == whole
    assert by_state[JourneyState.PAID] and by_state[JourneyState.REFUNDED] and by_state[JourneyState.FAILED]
    assert not by_state[JourneyState.PARTLY_REFUNDED]
    for source, target in product(("Eth", "Btc"), repeat=2):
        wanted = SwapFilter(source=source, target=target, account=day.broker)
        terms = (source, target, day.broker)
        same(
            database,
            wanted,
            lambda record, terms=terms: (record["source"], record["target"], record["account"]) == terms,
        )
    amounts = sorted(record["input"] for record in report(database, "swaps", Period()))
    middle = amounts[len(amounts) // 2]
    for least, most in ((middle, None), (None, middle), (middle, middle), (2**128 - 1, None), (0, 0)):
        same(
            database,
            SwapFilter(least=least, most=most),
            lambda record, least=least, most=most: (
                (least or 0) <= record["input"] <= (2**128 if most is None else most)
            ),
        )
    for owner in Owner:
        is_ours = owner is Owner.CUSTOMER
        assert same(
            database,
            SwapFilter(owner=owner),
            lambda record, is_ours=is_ours: record["kind"].startswith("Regular") is is_ours,
        )
    same(database, SwapFilter(account="cF"), lambda record: False)


async def test_a_period_a_channel_and_a_partner(day: Day, make_database: MakeDatabase) -> None:
    """List by period, channel and partner what the report has, and nothing for released channels."""
    database = await books_of_day(day, make_database)
    known = list(report(database, "swaps", Period()))
    times = [record["time"] for record in known]
    for start, end in (
        (None, times[3]),
        (times[3], times[3]),
        (times[2], times[5] + 1),
        (times[-1], None),
        (0, 1),
    ):
        taken = same(
            database,
            SwapFilter(period=Period(start, end)),
            lambda record, start=start, end=end: (start or 0) <= record["time"] < (end or 2**60),
        )
        assert taken == sum((start or 0) <= time < (end or 2**60) for time in times)
    chosen = next(record for record in known if record["channel_id"])
    channel = ChannelId.parse(chosen["channel_id"])
    assert channel is not None
    opened = {"chain": channel.chain, "channel": channel.number, "opened": channel.block}
    shared = {"month": "2026-11", "cost": 1, "at": 0}
    with database.writing() as connection:
        for partner, state in (("shop", "opened"), ("other", "released")):
            row = {"id": partner, "partner": partner, "state": state, **shared, **opened}
            connection.execute(insert(partner_channels), row)
    own = lambda record: record["channel_id"] == chosen["channel_id"]  # noqa: E731
    assert same(database, SwapFilter(channel=channel), own) == 1
    assert same(database, SwapFilter(partner="shop"), own) == 1
    assert (
        same(database, SwapFilter(JourneyState.PAID, partner="shop", source="Btc"), lambda record: False) == 0
    )
    for wanted in (SwapFilter(partner="other"), SwapFilter(partner="sho"), SwapFilter(partner="' OR 1=1 --")):
        assert same(database, wanted, lambda record: False) == 0


async def test_a_page_reads_a_bounded_number_of_rows(
    day: Day, make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read two rows for a page though none matches, and go on behind them."""
    database = await books_of_day(day, make_database)
    monkeypatch.setattr(swap_list, "PART_ROWS", 2)
    monkeypatch.setattr(swap_list, "MAX_PAGE_PARTS", 1)
    newest = [row["request"] for row in rows(database, "requests")][::-1]
    with database.reading() as connection:
        page = swap_page(connection, SwapFilter(JourneyState.INVALID))
        assert (page.swaps, page.is_cut) == ([], True)
        following = swap_page(connection, SwapFilter(), limit=1, before=page.following)
    assert following.swaps[0].request == newest[2]


async def test_empty_books_have_no_swap(make_database: MakeDatabase) -> None:
    """List nothing of books without swaps."""
    database = make_database()
    database.migrate()
    for wanted in (
        SwapFilter(),
        SwapFilter(JourneyState.FAILED, period=Period(0, 1)),
        SwapFilter(partner="x"),
    ):
        assert same(database, wanted, lambda record: False) == 0
