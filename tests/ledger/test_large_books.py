"""The books that the benchmark makes are as real ones: each copy of a day has its statuses and totals."""

from __future__ import annotations

from typing import Any

import trio

from cfnode.ledger.database import Database
from cfnode.ledger.follower import Source
from cfnode.ledger.statements import CalendarPeriod, LedgerStatement
from cfnode.ledger.swap_events import SwapEvents
from cfnode.swap_service.statuses import status
from scripts.benchmarks._ledger_large import EVENTS_EACH, multiply
from tests.ledger.conftest import MakeDatabase
from tests.ledger.contents import rows
from tests.ledger.day import Day
from tests.ledger.postgres import by_length
from tests.support.ledger.books import followed

EVER = CalendarPeriod("ever", 0, 2**45)


def statuses(database: Database, numbers: list[int]) -> list[dict[str, Any]]:
    """Return the service's statuses of some swaps."""
    with database.reading() as connection:
        record = SwapEvents(connection)
        return [status(record, str(number)) for number in numbers]


def totals(database: Database) -> list[tuple[str, str, int, int]]:
    """Return line, kind, count and amount of the totals, which count all lines."""
    statement = LedgerStatement(database, EVER)
    lines = sum(1 for _ in statement.lines())
    assert lines == sum(total.count for total in statement.totals)
    return [(total.line, total.kind, total.count, total.amount) for total in statement.totals]


@by_length
def test_a_copy_is_as_the_day(day: Day, make_database: MakeDatabase) -> None:
    """Multiply the totals by the number of copies, and give copied swaps statuses of the same shape."""
    database = make_database()
    trio.run(followed, database, Source(day.url, first=1))
    requests, before = len(rows(database, "requests")), totals(database)
    large = multiply(database, 3 * EVENTS_EACH * requests)
    factor = large.copies + 1
    assert len(rows(database, "requests")) == large.requests == factor * requests
    expected = [(line, kind, factor * count, factor * amount) for line, kind, count, amount in before]
    assert totals(database) == expected
    numbers = list(large.swaps(len(large.regular)))
    assert len(set(numbers)) == len(large.regular)
    for copied, original in zip(
        statuses(database, numbers), statuses(database, list(large.regular)), strict=True
    ):
        for name in ("state", "srcAsset", "destAsset"):
            assert copied[name] == original[name]
        for part in ("deposit", "swap", "swapEgress", "refundEgress"):
            assert copied.get(part, {}).keys() == original.get(part, {}).keys()
        assert copied["destAddress"] != original["destAddress"]
