"""Statements of a period: a line for each chunk, fee, payout and commission with its value, and totals.

A line is what an event of a block of that time states, so the statement of a period that has ended does not
change; the later outcome of a payout is in the report `payouts`. Lines are read in pages, oldest first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
from cfnode.ledger.block_times import block_range, blocks_between, times_of
from cfnode.ledger.database import Database
from cfnode.ledger.day_totals import chunk_value
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.pages import pages
from cfnode.ledger.partners.channels import is_at
from cfnode.ledger.reports import channel_text
from cfnode.ledger.service_tables import partner_channels
from cfnode.ledger.statements.periods import CalendarPeriod
from cfnode.ledger.statements.rates import ExchangeRates
from cfnode.ledger.statements.values import VALUE_DECIMALS, Valued, Valuer, currency_of
from cfnode.ledger.times import time_text

__all__ = ["COLUMNS", "LedgerStatement", "Line", "Total", "value_text"]

COLUMNS: Final = (
    *("block", "event", "time", "line", "kind", "state", "account", "request", "swap"),
    *("chain", "channel", "channel_id", "egress", "destination"),
    *("asset", "amount", "units", "to_asset", "to_amount", "to_units"),
    *("value", "currency", "valued_by"),
)
"""Members of a line, in their order."""


@dataclass(frozen=True, slots=True)
class Line:
    """Line of a statement: `line` is swap, fee, payout or commission, `kind` and `state` those of its table.

    `opened` is the block that opened the channel. Amounts are in smallest units; `to_asset` and `to_amount`
    are a swap's output. `time` is Unix ms. `usdc` is a swap's worth in smallest units of USDC. `value` is in
    millionths of `currency`, `valued_by` is swap, usdc or pool; both are None if the books have no price.
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
    opened: int | None
    egress: int | None
    destination: str | None
    asset: str
    amount: int | None
    to_asset: str | None
    to_amount: int | None
    usdc: int | None
    value: int | None
    valued_by: str | None
    currency: str

    @property
    def channel_id(self) -> str | None:
        """The id of the channel; None without one, or if the books lack its opening."""
        return None if self.chain is None else channel_text(self.chain, self.channel, self.opened)

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
    """Sum of all lines of a kind, state and pair of assets; `value` is that of the lines that have one."""

    line: str
    kind: str
    state: str | None
    asset: str
    to_asset: str | None
    currency: str
    count: int = 0
    amount: int = 0
    to_amount: int = 0
    value: int | None = None

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
            "value": value_text(self.value),
            "currency": self.currency,
        }


def value_text(value: int | None) -> str | None:
    """Return a value as decimal digits in whole units of its currency."""
    return None if value is None else units(value, VALUE_DECIMALS)


def _units(amount: int | None, asset: str | None) -> str | None:
    if amount is None or asset is None:
        return None
    return units(amount, ASSETS[asset].decimals) if asset in ASSETS else str(amount)


class LedgerStatement:
    """Statement of a period: of all, of one account, or of one partner's channels. Methods block.

    Values are in dollars, or in the currency of the `rates`. `totals`, `notes` and `unvalued` are complete
    when `lines` has come to its end. A note is a reason why the statement is not complete. `unvalued` counts
    the lines of an asset without a value: the books have no price of it in the week before.
    """

    def __init__(
        self,
        database: Database,
        period: CalendarPeriod,
        account: str | None = None,
        partner: str | None = None,
        rates: ExchangeRates | None = None,
    ) -> None:
        self._database, self.period, self.account, self.partner = database, period, account, partner
        self._rates, self.currency = rates, currency_of(rates)
        self._totals: dict[tuple[str, ...], Total] = {}
        self.notes: list[str] = []
        self.unvalued: dict[str, int] = {}

    @property
    def title(self) -> str:
        """The title: period, and whose statement it is."""
        owners = [f"account {self.account}"] if self.account is not None else []
        owners += [f"partner {self.partner}"] if self.partner is not None else []
        return f"Statement of {self.period.text}, {', '.join(owners) or 'all accounts'}"

    @property
    def remarks(self) -> list[str]:
        """What a reader has to know: the notes, and which lines have no value."""
        remarks = [f"Not complete: {note}" for note in self.notes]
        for asset, count in sorted(self.unvalued.items()):
            reason = f"the books have no price of {asset} in the week before"
            remarks.append(f"Without a value: {count} lines with {asset}, since {reason}")
        return remarks

    @property
    def head(self) -> dict[str, str | None]:
        """Title, period with its first and last second, account, partner, and currency of the values."""
        return {
            "title": self.title,
            "period": self.period.text,
            "begins": time_text(self.period.start),
            "ends": time_text(self.period.end - 1),
            "account": self.account,
            "partner": self.partner,
            "currency": self.currency,
        }

    @property
    def totals(self) -> list[Total]:
        """The totals so far, in a fixed order."""
        return [self._totals[key] for key in sorted(self._totals)]

    def lines(self) -> Iterator[Line]:
        """Yield the lines, oldest first, from one state of the books. Raises LedgerError."""
        self._totals.clear()
        self.unvalued.clear()
        with self._database.reading() as connection:
            books = block_range(connection)
            if books is None:
                raise LedgerError("the books are empty: `cfnode ledger run` begins them")
            first, end = blocks_between(connection, self.period.start, self.period.end)
            self.notes = _notes(connection, self.period, books, (first, end))
            streams = [self._stream(connection, query, first, end) for query in _QUERIES]
            for line in merge(*streams, key=lambda line: (line.block, line.event, line.line, line.place)):
                self._count(line)
                yield line

    def _count(self, line: Line) -> None:
        key = (line.line, line.kind, line.state or "", line.asset, line.to_asset or "")
        if key not in self._totals:
            self._totals[key] = Total(
                line.line, line.kind, line.state, line.asset, line.to_asset, line.currency
            )
        total = self._totals[key]
        total.count += 1
        total.amount += line.amount or 0
        total.to_amount += line.to_amount or 0
        if line.value is not None:
            total.value = (total.value or 0) + line.value
        elif line.amount is not None:
            self.unvalued[line.asset] = self.unvalued.get(line.asset, 0) + 1

    def _stream(
        self, connection: Connection, source: tuple[Table, Select[Any]], first: int, end: int
    ) -> Iterator[Line]:
        table, query = source
        if self.account is not None:
            query = query.where(_account_of(table, query, connection.dialect.name) == self.account)
        if self.partner is not None:
            query = query.where(_of_partner(table, self.partner))
        valuer = Valuer(connection, self._rates)
        for rows in pages(connection, table, query, (first, end)):
            times = times_of(connection, (row.block for row in rows))
            valuer.read(rows)
            for row in rows:
                yield _line(row, times[row.block], valuer.value(row, times[row.block]), self.currency)


def _line(row: Any, time: int, valued: Valued, currency: str) -> Line:
    values = list(row)
    values[_TIME] = time
    return Line(*values, *valued, currency)  # type: ignore[call-arg]  # in the order of `_READ`


def _account_of(table: Table, query: Select[Any], dialect: str) -> ColumnElement[Any]:
    """Return the account of a line; a chunk's is its request's.

    SQLite would read all requests of the account by their index and sort their chunks, for each page. It has
    no index of a concatenation, so it reads the chunks of the period in order. PostgreSQL has statistics.
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


_READ: Final = tuple(
    name for name in Line.__dataclass_fields__ if name not in ("value", "valued_by", "currency")
)
"""Members of a line that are read; the others follow from them and the prices."""


def _query(table: Table, line: str, *, join: bool = False, **columns: Any) -> tuple[Table, Select[Any]]:
    """Return a table, and a query of the columns of `Line` from it; those that it lacks are NULL.

    `join`: with the swap's request.
    """
    known_columns: dict[str, Any] = {"line": literal(line), "place": literal(0)}
    known_columns |= columns
    selected = []
    for name in _READ:
        column = known_columns.get(name, table.c[name] if name in table.c else null())
        selected.append(column.label(name))
    query = select(*selected).select_from(table)
    if join:
        query = query.outerjoin(schema.requests, schema.requests.c.request == table.c.request)
    return table, query


_TIME: Final = _READ.index("time")
_chunk, _request = schema.swaps.c, schema.requests.c
_SWAPS = _query(
    schema.swaps,
    "swap",
    join=True,
    kind=literal("chunk"),
    account=_request.account,
    chain=_request.chain,
    channel=_request.channel,
    opened=_request.opened,
    destination=_request.destination,
    asset=_chunk.source,
    amount=_chunk.input,
    to_asset=_chunk.target,
    to_amount=_chunk.output,
    usdc=chunk_value(_chunk),
)
_PAYOUTS = _query(schema.payouts, "payout")
_QUERIES: Final = (
    (_SWAPS[0], _SWAPS[1].where(_chunk.state == "executed")),
    _query(schema.fees, "fee", place=schema.fees.c.place),
    (_PAYOUTS[0], _PAYOUTS[1].where(schema.payouts.c.state != "invalid")),
    _query(schema.commissions, "commission", place=schema.commissions.c.place, kind=literal("broker")),
)
"""Table and query of each kind of line. That a payout's message is invalid is a later outcome of its line."""


def _notes(
    connection: Connection, period: CalendarPeriod, books: tuple[int, int], blocks: tuple[int, int]
) -> list[str]:
    """Return the reasons why the books may lack facts of the period."""
    (start, last), (first, end), notes = books, blocks, []
    times = times_of(connection, books)
    if times[start] > period.start:
        notes.append(f"the books begin with block {start + 1}, after the start of {period.text}")
    if times[last] < period.end:
        notes.append(f"the books end with block {last}, before the end of {period.text}")
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
