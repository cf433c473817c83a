"""Totals of each day: volume, fees and commissions, counted as the books grow.

With them no reader adds up all swaps. `add_totals` counts the blocks after the last counted one, a few at a
time, in a transaction of its own: the process that wants the totals calls it, and the follower's transactions
do not grow. When the books go back, the totals of whole days are deleted, and counted again. Every function
blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, bindparam, case, delete, func, insert, or_, select, update

from cfnode.ledger import schema
from cfnode.ledger.amounts import exact_sum, whole
from cfnode.ledger.block_times import DAY_MS, first_since
from cfnode.ledger.database import Database
from cfnode.ledger.kinds import is_of_customer
from cfnode.ledger.partners.channels import is_at
from cfnode.ledger.service_tables import day_totals, partner_channels

__all__ = ["DayTotal", "add_totals", "chunk_value", "counted_block", "forget_totals", "totals_of"]

MAX_COUNTED_BLOCKS: Final = 2_000
MAX_COUNTED_EVENTS: Final = 20_000
"""Most blocks, and most events, of one transaction, which takes a fraction of a second."""
MAX_TOTALS: Final = 100_000
"""Most totals that are read at once."""
_MARK: Final = "totals"
"""Name of the entry of the table `ledger` with the last counted block."""
STABLE: Final = "Usdc"
Key = tuple[int, str, str, str]


@dataclass(slots=True)
class DayTotal:
    """Sum of one measure on a day; `day` is counted since 1970, UTC.

    | measure | name | asset | what is counted |
    |---|---|---|---|
    | volume | | source | executed chunks of swaps |
    | partner, broker | partner, or its broker's account | | executed chunks by who opened the channel |
    | fee | kind of fee | asset | fees |
    | earned | account | asset | commissions |
    | earned_with | partner | asset | commissions from swaps of its channels |

    `amount` is in smallest units of the asset, `value` in those of USDC, by the pools' prices of the swaps.
    """

    day: int
    measure: str
    name: str
    asset: str
    count: int = 0
    amount: int = 0
    value: int = 0

    @property
    def key(self) -> Key:
        """Day, measure, name and asset, for which there is one total."""
        return self.day, self.measure, self.name, self.asset


def chunk_value(chunk: Any) -> ColumnElement[Any]:
    """Return the value of an executed chunk (columns of `swaps`), in smallest units of USDC."""
    return case(
        (chunk.source == STABLE, chunk.input),
        (chunk.target == STABLE, chunk.output),
        else_=chunk.intermediate,
    )


def totals_of(connection: Connection, first: int, last: int) -> list[DayTotal]:
    """Return the totals of the days from `first` to `last`."""
    table = day_totals.c
    query = select(table.day, table.measure, table.name, table.asset, table.count, table.amount, table.value)
    rows = connection.execute(query.where(table.day >= first, table.day <= last).limit(MAX_TOTALS))
    return [
        DayTotal(day, measure, name, asset, count, int(amount), int(value))
        for day, measure, name, asset, count, amount, value in rows
    ]


def counted_block(connection: Connection) -> int | None:
    """Return the last block that the totals count; None if none is counted yet."""
    table = schema.ledger.c
    text = connection.execute(select(table.value).where(table.name == _MARK)).scalar()
    return None if text is None else int(text)


def add_totals(database: Database) -> bool:
    """Count some more blocks; return False if none was left to count. Raises DatabaseError."""
    with database.writing(durable=False) as connection:  # what is lost is counted again
        first, last = _next(connection)
        if first > last:
            return False
        _merge(connection, _sums(connection, first, last))
        _mark(connection, last)
    return True


def forget_totals(connection: Connection, block: int) -> None:
    """Delete the totals of a block's day and of later days, before rows of that block change."""
    counted = counted_block(connection)
    if counted is None or counted < block:
        return
    blocks = schema.blocks.c
    lowest = connection.execute(select(func.min(blocks.number))).scalar()
    times = select(blocks.time).where(blocks.number >= block).order_by(blocks.number).limit(1)
    time = connection.execute(times).scalar()
    if lowest is None or time is None:
        return
    day = time // DAY_MS
    connection.execute(delete(day_totals).where(day_totals.c.day >= day))
    _mark(connection, first_since(connection, day * DAY_MS, lowest, block) - 1)


def _mark(connection: Connection, number: int) -> None:
    table, value = schema.ledger, str(number)
    changed = connection.execute(update(table).where(table.c.name == _MARK).values(value=value))
    if not changed.rowcount:
        connection.execute(insert(table), {"name": _MARK, "value": value})


def _next(connection: Connection) -> tuple[int, int]:
    """Return the first and the last of the blocks that are counted next; last < first if none is left."""
    blocks = schema.blocks.c
    counted = counted_block(connection)
    first = -1 if counted is None else counted + 1
    query = select(blocks.number, blocks.events).where(blocks.number >= first).order_by(blocks.number)
    last, events = first - 1, 0
    for number, count in connection.execute(query.limit(MAX_COUNTED_BLOCKS)):
        if events and events + count > MAX_COUNTED_EVENTS:
            break
        last, events = number, events + count
    return first, last


def _sums(connection: Connection, first: int, last: int) -> dict[Key, DayTotal]:
    sums: dict[Key, DayTotal] = {}
    for part in (_swaps, _fees, _commissions):
        for total in part(connection, first, last):
            if total.key not in sums:
                sums[total.key] = total
                continue
            summed = sums[total.key]
            summed.count += total.count
            summed.amount += total.amount
            summed.value += total.value
    return sums


def _merge(connection: Connection, sums: dict[Key, DayTotal]) -> None:
    """Add sums to the stored totals."""
    if not sums:
        return
    days = {total.day for total in sums.values()}
    stored = {total.key: total for total in totals_of(connection, min(days), max(days))}
    for key, total in sums.items():
        if key in stored:
            total.count += stored[key].count
            total.amount += stored[key].amount
            total.value += stored[key].value
    updated = [_row(total, "k_") for key, total in sums.items() if key in stored]
    inserted = [_row(total) for key, total in sums.items() if key not in stored]
    if updated:
        conditions = [column == bindparam(f"k_{column.name}") for column in day_totals.primary_key.columns]
        connection.execute(update(day_totals).where(*conditions), updated)
    if inserted:
        connection.execute(insert(day_totals), inserted)


def _row(total: DayTotal, prefix: str = "") -> dict[str, Any]:
    """Return the columns of a total; those of its key with a prefix."""
    names = [f"{prefix}{column.name}" for column in day_totals.primary_key.columns]
    sums = {"count": total.count, "amount": str(total.amount), "value": str(total.value)}
    return dict(zip(names, total.key, strict=True)) | sums


_DAY: Final = schema.blocks.c.time // DAY_MS
"""The day of a block, since 1970, UTC."""


def _swaps(connection: Connection, first: int, last: int) -> Iterator[DayTotal]:
    """Yield the totals of executed chunks of users' swaps, without the chain's own swaps of fees."""
    chunk, request, channel = schema.swaps.c, schema.requests.c, partner_channels.c
    value = chunk_value(chunk)
    names = (_DAY.label("day"), chunk.source, channel.partner, request.account)
    dialect = connection.dialect.name
    inputs, values = exact_sum(chunk.input, dialect), exact_sum(value, dialect)
    query = (
        select(*names, func.count(), *inputs, *values)
        .join_from(schema.swaps, schema.blocks, schema.blocks.c.number == chunk.block)
        .outerjoin(schema.requests, request.request == chunk.request)
        .outerjoin(partner_channels, is_at(request))
        .where(chunk.block >= first, chunk.block <= last, chunk.state == "executed")
        .where(or_(request.kind.is_(None), is_of_customer(request)))
        .group_by(*names)
    )
    for day, source, partner, account, count, *sums in connection.execute(query):
        amount, worth = whole(sums[: len(inputs)]), whole(sums[len(inputs) :])
        yield DayTotal(day, "volume", "", source or "", count, amount, worth)
        measure = "broker" if partner is None else "partner"
        yield DayTotal(day, measure, partner or account or "", "", count, 0, worth)


def _fees(connection: Connection, first: int, last: int) -> Iterator[DayTotal]:
    fee = schema.fees.c
    names = (_DAY.label("day"), fee.kind, fee.asset)
    query = (
        select(*names, func.count(), *exact_sum(fee.amount, connection.dialect.name))
        .join_from(schema.fees, schema.blocks, schema.blocks.c.number == fee.block)
        .where(fee.block >= first, fee.block <= last)
        .group_by(*names)
    )
    for day, kind, asset, count, *sums in connection.execute(query):
        yield DayTotal(day, "fee", kind, asset, count, whole(sums))


def _commissions(connection: Connection, first: int, last: int) -> Iterator[DayTotal]:
    part, request, channel = schema.commissions.c, schema.requests.c, partner_channels.c
    names = (_DAY.label("day"), part.account, channel.partner, part.asset)
    query = (
        select(*names, func.count(), *exact_sum(part.amount, connection.dialect.name))
        .join_from(schema.commissions, schema.blocks, schema.blocks.c.number == part.block)
        .outerjoin(schema.requests, request.request == part.request)
        .outerjoin(partner_channels, is_at(request))
        .where(part.block >= first, part.block <= last)
        .group_by(*names)
    )
    for day, account, partner, asset, count, *sums in connection.execute(query):
        yield DayTotal(day, "earned", account, asset, count, whole(sums))
        if partner is not None:
            yield DayTotal(day, "earned_with", partner, asset, count, whole(sums))
