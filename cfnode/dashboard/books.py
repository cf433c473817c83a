"""Reads of the books for the pages: one transaction each, in a thread, a few at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias, TypeVar

import trio

from cfnode.dashboard.figures import Today, today
from cfnode.ledger.block_times import DAY_MS
from cfnode.ledger.condition import Condition, condition, spent_by_partner
from cfnode.ledger.database import Database
from cfnode.ledger.day_totals import totals_of
from cfnode.ledger.open_channels import open_count
from cfnode.ledger.partners.registry import Partner, listed, require
from cfnode.ledger.recent_swaps import FailedPayoutLine, SwapNow, failed_payouts, recent_swaps

__all__ = ["BookReader", "Overview", "PartnerUse", "last_day"]

T = TypeVar("T")
Look: TypeAlias = Callable[[Any], T]
"""Function that reads with a connection of the books; only the ledger knows its type."""
MAX_READER_THREADS: Final = 4
MAX_DOWNLOADS: Final = 2
"""Statements that are written at the same time."""
MAX_PARTNERS: Final = 500


@dataclass(frozen=True, slots=True)
class Overview:
    """Content of the first page."""

    books: Condition | None
    today: Today
    swaps: list[SwapNow]
    open: int
    failed: list[FailedPayoutLine]


@dataclass(frozen=True, slots=True)
class PartnerUse:
    """A partner, the cost of its channels of the month (smallest units of FLIP), and their number."""

    partner: Partner
    spent: int
    channels: int

    @property
    def part(self) -> int | None:
        """Percent of the budget; None without one."""
        budget = self.partner.budget
        if budget is None:
            return None
        return 100 if budget == 0 else min(100 * self.spent // budget, 100)


class BookReader:
    """Reader of the books for the pages."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._limiter = trio.CapacityLimiter(MAX_READER_THREADS)
        self.downloads = trio.CapacityLimiter(MAX_DOWNLOADS)
        """The limiter of statements that are written for a download."""

    async def read(self, query: Look[T]) -> T:
        """Return what `query` reads, in one transaction. Raise LedgerError."""

        def query_database() -> T:
            with self.database.reading() as connection:
                return query(connection)

        return await self.run(query_database)

    async def run(self, work: Callable[[], T]) -> T:
        """Run blocking work in a thread."""
        return await trio.to_thread.run_sync(work, limiter=self._limiter)

    async def overview(self) -> Overview:
        """Return the content of the first page."""
        return await self.read(_overview)

    async def partners(self) -> list[PartnerUse]:
        """Return the partners, and this month's use of their budgets."""
        month = datetime.now(UTC).strftime("%Y-%m")
        partners = (await self.run(lambda: listed(self.database)))[:MAX_PARTNERS]
        spent = await self.read(lambda connection: spent_by_partner(connection, month))
        return [PartnerUse(partner, *spent.get(partner.name, (0, 0))) for partner in partners]

    async def partner(self, name: str) -> PartnerUse:
        """Return a partner, and this month's use of its budget. Raise LedgerError if it is unknown."""
        month = datetime.now(UTC).strftime("%Y-%m")
        partner = await self.run(lambda: require(self.database, name))
        spent = await self.read(lambda connection: spent_by_partner(connection, month, name))
        return PartnerUse(partner, *spent.get(name, (0, 0)))


def _overview(connection: Any) -> Overview:
    books = condition(connection)
    day = last_day(books)
    return Overview(
        books,
        today(totals_of(connection, day, day), day),
        recent_swaps(connection),
        open_count(connection),
        failed_payouts(connection, limit=10),
    )


def last_day(books: Condition | None) -> int:
    """Return the day of the newest block, in days since 1970; of the clock, for empty books."""
    return (int(time.time() * 1000) if books is None else books.time) // DAY_MS
