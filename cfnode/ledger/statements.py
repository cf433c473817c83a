"""Statements of a month or a day: a line for each chunk, fee, payout and commission, and totals.

A line is what an event of a block of that time states, so the statement of a month that has ended does not
change; the later outcome of a payout is in the report `payouts`. Lines are read in pages, oldest first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import merge
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    exists,
    func,
    literal,
    null,
    or_,
    select,
)

from cfnode.core.assets import ASSETS, units
from cfnode.ledger import schema
from cfnode.ledger.block_times import DAY_MS, block_range, blocks_between, times_of
from cfnode.ledger.database import Database
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.pages import pages
from cfnode.ledger.partners.channels import is_at
from cfnode.ledger.service_tables import partner_channels

__all__ = ["COLUMNS", "Line", "Month", "Statement", "Total"]

_MONTH: Final = re.compile(r"([0-9]{4})-([0-9]{2})")
COLUMNS: Final = (
    *("block", "event", "time", "line", "kind", "state", "account", "request", "swap"),
    *("chain", "channel", "egress", "destination"),
    *("asset", "amount", "units", "to_asset", "to_amount", "to_units"),
)
"""Members of a line, in their order."""


@dataclass(frozen=True, slots=True)
class Month:
    """Month or day in UTC: its text, and its times in Unix ms, from `start` up to, and without, `end`."""

    text: str
    start: int
    end: int

    @classmethod
    def parse(cls, text: str) -> Month:
        """Return the month of a text such as `2026-11`. Raises ValueError."""
        match = _MONTH.fullmatch(text)
        if match is None or not 1 <= int(match[2]) <= 12 or not 1970 <= int(match[1]) < 9999:
            raise ValueError(f"{text[:40]!r} is not a month such as 2026-11")
        year, month = int(match[1]), int(match[2])
        after = (year + month // 12, month % 12 + 1)
        return cls(text, _ms(year, month), _ms(*after))

    @classmethod
    def day(cls, text: str) -> Month:
        """Return the day of a text such as `2026-11-25`. Raises ValueError."""
        try:
            start = int(datetime.strptime(f"{text[:40]} +0000", "%Y-%m-%d %z").timestamp()) * 1000
        except ValueError:
            raise ValueError(f"{text[:40]!r} is not a day such as 2026-11-25") from None
        if start < 0 or len(text) != 10:
            raise ValueError(f"{text[:40]!r} is not a day such as 2026-11-25")
        return cls(text, start, start + DAY_MS)


def _ms(year: int, month: int) -> int:
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * 1000


@dataclass(frozen=True, slots=True)
class Line:
    """Line of a statement: `line` is swap, fee, payout or commission, `kind` and `state` those of its table.

    Amounts are in smallest units; `to_asset` and `to_amount` are a swap's output. `time` is Unix ms.
    """

    block: int
    event: int
    place: int
    time: int
    line: str
    kind: str
    state: str | None
    account: str | None
    request: int | None
    swap: int | None
    chain: str | None
    channel: int | None
    egress: int | None
    destination: str | None
    asset: str
    amount: int | None
    to_asset: str | None
    to_amount: int | None

    @property
    def units(self) -> str | None:
        """The amount in whole units of its asset, as decimal digits."""
        return _units(self.amount, self.asset)

    @property
    def to_units(self) -> str | None:
        """The output in whole units of its asset, as decimal digits; None without an output."""
        return _units(self.to_amount, self.to_asset)


@dataclass(slots=True)
class Total:
    """Sum of all lines of a kind, state and pair of assets."""

    line: str
    kind: str
    state: str | None
    asset: str
    to_asset: str | None
    count: int = 0
    amount: int = 0
    to_amount: int = 0

    def document(self) -> dict[str, Any]:
        """Return the members of the total; amounts as decimal digits, and in whole units."""
        is_swap = self.to_asset is not None
        return {
            "line": self.line,
            "kind": self.kind,
            "state": self.state,
            "count": self.count,
            "asset": self.asset,
            "amount": str(self.amount),
            "units": _units(self.amount, self.asset),
            "to_asset": self.to_asset,
            "to_amount": str(self.to_amount) if is_swap else None,
            "to_units": _units(self.to_amount, self.to_asset) if is_swap else None,
        }


def _units(amount: int | None, asset: str | None) -> str | None:
    if amount is None or asset is None:
        return None
    return units(amount, ASSETS[asset].decimals) if asset in ASSETS else str(amount)


class Statement:
    """Statement of a month or a day: of all, of one account, or of one partner's channels. Methods block.

    `totals` and `notes` are complete when `lines` has come to its end. A note is a reason why the month is
    not complete in the books.
    """

    def __init__(
        self, database: Database, month: Month, account: str | None = None, partner: str | None = None
    ) -> None:
        self._database, self.month, self.account, self.partner = database, month, account, partner
        self._totals: dict[tuple[str, ...], Total] = {}
        self.notes: list[str] = []

    @property
    def totals(self) -> list[Total]:
        """The totals so far, in a fixed order."""
        return [self._totals[key] for key in sorted(self._totals)]

    def lines(self) -> Iterator[Line]:
        """Yield the lines, oldest first, from one state of the books. Raises LedgerError."""
        with self._database.reading() as connection:
            books = block_range(connection)
            if books is None:
                raise LedgerError("the books are empty: `cfnode ledger run` begins them")
            first, end = blocks_between(connection, self.month.start, self.month.end)
            self.notes = _notes(connection, self.month, books, (first, end))
            streams = [self._stream(connection, query, first, end) for query in _QUERIES]
            for line in merge(*streams, key=lambda line: (line.block, line.event, line.line, line.place)):
                self._count(line)
                yield line

    def _count(self, line: Line) -> None:
        key = (line.line, line.kind, line.state or "", line.asset, line.to_asset or "")
        if key not in self._totals:
            self._totals[key] = Total(line.line, line.kind, line.state, line.asset, line.to_asset)
        total = self._totals[key]
        total.count += 1
        total.amount += line.amount or 0
        total.to_amount += line.to_amount or 0

    def _stream(
        self, connection: Connection, source: tuple[Table, Select[Any]], first: int, end: int
    ) -> Iterator[Line]:
        table, query = source
        if self.account is not None:
            query = query.where(_account_of(table, query, connection.dialect.name) == self.account)
        if self.partner is not None:
            query = query.where(_of_partner(table, self.partner))
        for rows in pages(connection, table, query, (first, end)):
            times = times_of(connection, (row.block for row in rows))
            yield from (_line(row, times) for row in rows)


def _line(row: Any, times: dict[int, int]) -> Line:
    values = list(row)
    values[_TIME] = times[row.block]
    return Line(*values)


def _account_of(table: Table, query: Select[Any], dialect: str) -> ColumnElement[Any]:
    """Return the account of a line; a chunk's is its request's.

    SQLite would read all requests of the account by their index and sort their chunks, for each page. It has
    no index of a concatenation, so it reads the chunks of the month in order. PostgreSQL has statistics.
    """
    account = query.selected_columns.account
    return account if "account" in table.c or dialect != "sqlite" else account + ""


def _of_partner(table: Table, partner: str) -> ColumnElement[bool]:
    """Return the condition that a row is about a partner's channel, or about a swap that began there."""
    requests, is_own = schema.requests.c, partner_channels.c.partner == partner
    requests_of_partner = select(requests.request).join(partner_channels, is_at(requests)).where(is_own)
    is_of_request: ColumnElement[bool] = table.c.request.in_(requests_of_partner)
    return (
        or_(is_of_request, exists().where(is_at(table.c), is_own)) if "opened" in table.c else is_of_request
    )


def _query(table: Table, line: str, *, join: bool = False, **columns: Any) -> tuple[Table, Select[Any]]:
    """Return a table, and a query of the columns of `Line` from it; those that it lacks are NULL.

    `join`: with the swap's request.
    """
    known_columns: dict[str, Any] = {"line": literal(line), "place": literal(0)}
    known_columns |= columns
    selected = []
    for name in Line.__dataclass_fields__:
        column = known_columns.get(name, table.c[name] if name in table.c else null())
        selected.append(column.label(name))
    query = select(*selected).select_from(table)
    if join:
        query = query.outerjoin(schema.requests, schema.requests.c.request == table.c.request)
    return table, query


_TIME: Final = list(Line.__dataclass_fields__).index("time")
_chunk, _request = schema.swaps.c, schema.requests.c
_SWAPS = _query(
    schema.swaps,
    "swap",
    join=True,
    kind=literal("chunk"),
    account=_request.account,
    chain=_request.chain,
    channel=_request.channel,
    destination=_request.destination,
    asset=_chunk.source,
    amount=_chunk.input,
    to_asset=_chunk.target,
    to_amount=_chunk.output,
)
_QUERIES: Final = (
    (_SWAPS[0], _SWAPS[1].where(_chunk.state == "executed")),
    _query(schema.fees, "fee", place=schema.fees.c.place),
    _query(schema.payouts, "payout"),
    _query(schema.commissions, "commission", place=schema.commissions.c.place, kind=literal("broker")),
)
"""Table and query of each kind of line."""


def _notes(
    connection: Connection, month: Month, books: tuple[int, int], period: tuple[int, int]
) -> list[str]:
    """Return the reasons why the books may lack facts of the month."""
    (start, last), (first, end), notes = books, period, []
    times = times_of(connection, books)
    if times[start] > month.start:
        notes.append(f"the books begin with block {start + 1}, after the start of {month.text}")
    if times[last] < month.end:
        notes.append(f"the books end with block {last}, before the end of {month.text}")
    gaps = schema.gaps.c
    overlapping = select(gaps.first, gaps.last).where(gaps.last >= first, gaps.first <= end)
    notes += [
        f"the books lack blocks {gap.first} to {gap.last}"
        for gap in connection.execute(overlapping.order_by(gaps.first))
    ]
    unread = schema.unread.c.block
    count = connection.execute(select(func.count()).where(unread >= first, unread < end)).scalar_one()
    if count:
        notes.append(f"the statement lacks {count} unread events: `cfnode ledger show unread` lists them")
    return notes
