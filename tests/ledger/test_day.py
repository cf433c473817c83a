"""A day of business is in the books: each fact of the chain, to the unit, on SQLite and PostgreSQL."""

from __future__ import annotations

from collections import Counter
from typing import Any

from cfnode.core.assets import ASSETS
from cfnode.ledger.books import Books
from cfnode.ledger.database import Database
from cfnode.ledger.follower import Source
from cfnode.ledger.reports import Period, report
from cfnode.swaps.checksums import checksum_text
from tests.ledger.conftest import MakeDatabase, books_of_day
from tests.ledger.contents import dump, rows
from tests.ledger.day import EVM_ADDRESS, Day
from tests.support.ledger.books import followed

RECEIVER = checksum_text(EVM_ADDRESS)


def records(database: Database, name: str, period: Period = Period()) -> list[dict[str, Any]]:  # noqa: B008
    """Return the records of a report."""
    return list(report(database, name, period))


async def test_the_books_have_what_happened(day: Day, make_database: MakeDatabase) -> None:
    """Write a row for each event of nine kinds, at its block and index, and agree with the chain."""
    books = await books_of_day(day, make_database)
    number, compared, differing, _ = str(Books(books).value("checked")).split()
    assert (int(number), int(differing)) == (day.head, 0)
    assert int(compared) >= 20
    events = emitted(day)
    for table, names in {
        "channels": ["SwapDepositAddressReady"],
        "completions": ["SwapRequestCompleted"],
        "requests": ["SwapRequested"],
        "swaps": ["SwapScheduled", "SwapRescheduled", "SwapExecuted", "SwapAborted"],
        "deposits": ["DepositFinalised", "DepositBoosted", "DepositFailed"],
        "failures": ["TransferFallbackRequested"],
        "affiliates": ["AffiliateRegistration"],
        "movements": ["AccountCredited", "AccountDebited"],
        "payouts": ["SwapEgressScheduled", "RefundEgressScheduled", "WithdrawalRequested"],
    }.items():
        expected = sorted((block, index) for block, index, name in events if name in names)
        assert expected, table
        assert [(row["block"], row["event"]) for row in rows(books, table)] == expected, table


def emitted(day: Day) -> list[tuple[int, int, str]]:
    """Return block, index and name of each event, as the node lists them."""
    events = []
    for number in range(1, day.head + 1):
        for index, event in enumerate(day.chain.events(day.chain.rpc("chain_getBlockHash", number))):
            events.append((number, index, event["name"]))
    return events


async def test_commissions_withdrawals_and_balances_come_out_even(
    day: Day, make_database: MakeDatabase
) -> None:
    """Leave each account what it earned less what it withdrew, as the chain's own balance says."""
    books = await books_of_day(day, make_database)
    earned = Counter[str]()
    for row in rows(books, "commissions"):
        assert (row["asset"], row["broker"]) == ("Usdc", day.broker)
        earned[row["account"]] += row["amount"]
    assert set(earned) == {day.broker, day.affiliate}
    withdrawn = Counter[str]()
    for row in records(books, "payouts"):
        if row["kind"] == "withdrawal":
            assert (row["state"], row["destination"]) == ("paid", RECEIVER)
            key = row["block"], "egress", row["account"]
            fees = [
                row["amount"]
                for row in rows(books, "fees")
                if (row["block"], row["kind"], row["account"]) == key
            ]
            withdrawn[row["account"]] += row["amount"] + sum(fees)
    for account in (day.broker, day.affiliate):
        left = int(day.chain.rpc("cf_free_balances", account)["Ethereum"]["USDC"], 16)
        assert earned[account] - withdrawn[account] == left
    assert earned[day.broker] > withdrawn[day.broker] > 0
    assert earned[day.affiliate] == withdrawn[day.affiliate] > 0


async def test_states_of_swaps_and_payouts(day: Day, make_database: MakeDatabase) -> None:
    """Give each swap of the day its chunks and state, and the failed one its call."""
    books = await books_of_day(day, make_database)
    swaps = [record for record in records(books, "swaps") if record["kind"] == "Regular"]
    assert [(swap["source"], swap["target"], swap["chunks"], swap["state"]) for swap in swaps] == [
        ("Eth", "Btc", 1, "paid"),
        ("Eth", "Btc", 1, "paid"),
        ("Eth", "Btc", 3, "paid"),
        ("Eth", "Btc", 0, "refunded"),
        ("Btc", "Eth", 1, "paid"),  # boosted
        ("Btc", "Eth", 1, "failed"),
        ("Eth", "Usdc", 1, "paid"),
    ]
    assert [swap["refunded"] > 0 for swap in swaps] == [False, False, False, True, False, False, False]
    for swap in swaps:
        assert swap["paid"] == max(swap["output"] - swap["egress_fee"], 0)
    (failed,) = [record for record in records(books, "payouts") if record["state"] == "failed"]
    call = day.chain.rpc("cf_failed_call_ethereum", failed["recovery"])
    assert call is not None
    assert (failed["kind"], failed["asset"], failed["destination"]) == ("swap", "Eth", RECEIVER)
    (boost,) = rows(books, "boosts")
    assert boost["fee"] == sum(row["amount"] for row in rows(books, "fees") if row["kind"] == "boost") > 0
    assert [row["state"] for row in rows(books, "deposits")].count("repaid") == 1


async def test_books_of_one_account_have_the_same_of_it(day: Day, make_database: MakeDatabase) -> None:
    """Write for one broker and its affiliate the records that books of all accounts have of them."""
    full = await books_of_day(day, make_database)
    own = await followed(make_database(), Source(day.url, first=1, accounts=(day.broker,)))
    for name in ("swaps", "channels", "payouts", "commissions", "fees"):
        for account in (day.broker, day.affiliate):
            expected = [record for record in records(full, name) if record["account"] == account]
            assert [record for record in records(own, name) if record["account"] == account] == expected
    assert {row["account"] for row in rows(own, "movements")} == {day.broker, day.affiliate}
    assert len(rows(own, "events")) < len(rows(full, "events"))


async def test_books_of_nobody_stay_empty(day: Day, make_database: MakeDatabase) -> None:
    """Write blocks, but no fact, for an account without business."""
    stranger = "cFJZVRaybb2PBwxTiAiRLiQfHY4KPB3RpJK22Q7Fhqk979aCH"
    books = await followed(make_database(), Source(day.url, first=1, accounts=(stranger,)))
    filled = {name for name, table_rows in dump(books).items() if table_rows}
    assert filled == {"ledger", "blocks"}
    assert len(rows(books, "blocks")) == day.head + 1


async def test_a_period_has_the_records_of_its_time(day: Day, make_database: MakeDatabase) -> None:
    """Split the fees at a time into those before and those from it on."""
    books = await books_of_day(day, make_database)
    everything = records(books, "fees")
    middle = everything[len(everything) // 2]["time"]
    before, after = records(books, "fees", Period(end=middle)), records(books, "fees", Period(start=middle))
    assert before + after == everything
    assert before
    assert all(record["time"] < middle for record in before)


async def test_prices_are_those_of_the_block(day: Day, make_database: MakeDatabase) -> None:
    """Note the price that the node's pool had at the very block."""
    books = await books_of_day(day, make_database)
    prices = rows(books, "prices")
    assert {row["asset"] for row in prices if row["source"] == "pool"} == {"Btc", "Eth", "Flip"}
    for row in prices[:10]:
        base, quote = ({"chain": ASSETS[asset].chain, "asset": ASSETS[asset].symbol}
                       for asset in (row["asset"], "Usdc"))  # fmt: skip
        block = day.chain.rpc("chain_getBlockHash", row["block"])
        answer = day.chain.rpc("cf_pool_price_v2", base, quote, block)
        assert int(answer["range_order"], 16) == int(row["value"])
