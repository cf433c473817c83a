"""List of the swaps of the books: those that a filter takes, in pages that begin at a key (block, event).

A page reads rows in the order of their keys, so that an index answers, however far back the page is. What no
index answers (a state, a pair of assets, a partner) is decided for each row that was read. So a page reads at
most `MAX_PAGE_PARTS` times `PART_ROWS` rows: if that is not enough to fill it, `is_cut` is set, and the next
page goes on where this one stopped.

The state of a swap follows from the rows of several tables, and is in none of them. `MAY_HAVE` has
conditions without which a swap cannot have a state: they leave out most rows, and the state of the others is
derived as everywhere else (`swaps_now`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, not_, or_, select, tuple_

from cfnode.ledger import schema
from cfnode.ledger.block_times import blocks_between, times_of
from cfnode.ledger.database import Database
from cfnode.ledger.kinds import Owner, is_of_customer
from cfnode.ledger.partners.channels import is_at
from cfnode.ledger.recent_swaps import SwapNow, swaps_now
from cfnode.ledger.reports import Period, swap_records
from cfnode.ledger.service_tables import partner_channels
from cfnode.swaps.identity import ChannelId, Place
from cfnode.swaps.journey import JourneyState, PayoutKind

__all__ = ["SwapFilter", "SwapPage", "swap_page", "swaps_of_filter", "with_times"]

PART_ROWS: Final = 2_000
"""Rows of one step of a page."""
MAX_PAGE_PARTS: Final = 5
"""Maximum steps of a page."""
BATCH_ROWS: Final = 200
"""Rows whose states are derived at once."""
PAGE_SWAPS: Final = 1_000
"""Swaps that are read at once, where all are wanted."""
Record = dict[str, Any]
_EVER: Final = Period()
_request, _payout = schema.requests.c, schema.payouts.c
_KEY: Final = (_request.block, _request.event)


@dataclass(frozen=True, slots=True)
class SwapFilter:
    """Conditions of swaps; None takes all.

    The state is one of `REQUEST_STATES`. Assets are variant names, `account` is the broker (SS58), or that of
    a swap of its own balance. With a `channel` only the swaps of its deposits count. `least` and `most` bound
    the deposit, in smallest units of its asset.
    """

    state: JourneyState | None = None
    source: str | None = None
    target: str | None = None
    partner: str | None = None
    account: str | None = None
    owner: Owner | None = None
    period: Period = _EVER
    channel: ChannelId | None = None
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class SwapPage:
    """Page of swaps. The next page begins behind the swap at `following`; None on the last page.

    `is_cut`: the page read as many rows as one may, and stopped at `following`.
    """

    swaps: list[SwapNow]
    following: Place | None = None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class _Rows:
    rows: list[Record]
    following: Place | None = None
    is_cut: bool = False


def swap_page(
    connection: Connection, swap_filter: SwapFilter, limit: int = 50, before: Place | None = None
) -> SwapPage:
    """Return at most `limit` swaps, the newest first; `before` is the place of the last one of a page."""
    page = _rows(connection, swap_filter, limit, before, is_newest_first=True)
    swaps = swaps_now(connection, with_times(connection, page.rows))
    return SwapPage(swaps, page.following, page.is_cut)


def swaps_of_filter(database: Database, swap_filter: SwapFilter) -> Iterator[Record]:
    """Yield the records of all swaps that a filter takes, oldest first, as the report `swaps` has them.

    Blocks: call it in a thread.
    """
    with database.reading() as connection:
        at: Place | None = None
        while True:
            page = _rows(connection, swap_filter, PAGE_SWAPS, at, is_newest_first=False)
            yield from swap_records(connection, [row["request"] for row in page.rows])
            at = page.following
            if at is None:
                return


def with_times(connection: Connection, rows: list[Record]) -> list[Record]:
    """Return rows with the times of their blocks."""
    times = times_of(connection, (row["block"] for row in rows))
    return [row | {"time": times[row["block"]]} for row in rows]


def _rows(
    connection: Connection, swap_filter: SwapFilter, limit: int, at: Place | None, *, is_newest_first: bool
) -> _Rows:
    """Return the rows of a page; `at` is the place behind which it begins."""
    near = _near(connection, swap_filter)
    rows: list[Record] = []
    for _ in range(MAX_PAGE_PARTS):
        end = _end_of_part(connection, near, at, is_newest_first)
        for row in _matching(connection, swap_filter, near, at, end, is_newest_first):
            if len(rows) == limit:
                return _Rows(rows, (rows[-1]["block"], rows[-1]["event"]))
            rows.append(row)
        at = end
        if at is None:
            return _Rows(rows)
    return _Rows(rows, at, is_cut=True)


def _near(connection: Connection, swap_filter: SwapFilter) -> list[ColumnElement[bool]]:
    """Return the conditions that an index answers: blocks, account, channel."""
    conditions: list[ColumnElement[bool]] = []
    if swap_filter.period != _EVER:
        first, end = blocks_between(connection, swap_filter.period.start, swap_filter.period.end)
        conditions += [_request.block >= first, _request.block < end]
    if swap_filter.account is not None:
        conditions.append(_request.account == swap_filter.account)
    if (channel := swap_filter.channel) is not None:
        conditions += [_request.chain == channel.chain, _request.channel == channel.number]
        conditions.append(_request.opened == channel.block)
    return conditions


def _ordered(query: Select[Any], is_newest_first: bool) -> Select[Any]:
    return query.order_by(*(key.desc() if is_newest_first else key.asc() for key in _KEY))


def _end_of_part(
    connection: Connection, near: list[ColumnElement[bool]], at: Place | None, is_newest_first: bool
) -> Place | None:
    """Return the place of the last row of a part; None if fewer rows are left."""
    query = _ordered(select(*_KEY).where(*near, *_behind(at, is_newest_first)), is_newest_first)
    row = connection.execute(query.offset(PART_ROWS - 1).limit(1)).first()
    return None if row is None else (row.block, row.event)


def _behind(at: Place | None, is_newest_first: bool) -> list[ColumnElement[bool]]:
    if at is None:
        return []
    return [tuple_(*_KEY) < tuple_(*at) if is_newest_first else tuple_(*_KEY) > tuple_(*at)]


def _up_to(end: Place | None, is_newest_first: bool) -> list[ColumnElement[bool]]:
    if end is None:
        return []
    return [tuple_(*_KEY) >= tuple_(*end) if is_newest_first else tuple_(*_KEY) <= tuple_(*end)]


def _matching(
    connection: Connection,
    swap_filter: SwapFilter,
    near: list[ColumnElement[bool]],
    at: Place | None,
    end: Place | None,
    is_newest_first: bool,
) -> Iterator[Record]:
    """Yield the rows of a part that the filter takes."""
    query = select(schema.requests).where(*near, *_far(swap_filter), *_up_to(end, is_newest_first))
    query = _ordered(query, is_newest_first).limit(BATCH_ROWS)
    while True:
        page = connection.execute(query.where(*_behind(at, is_newest_first))).mappings()
        rows = [dict(row) for row in page]
        yield from rows if swap_filter.state is None else _in_state(connection, rows, swap_filter.state)
        if len(rows) < BATCH_ROWS:
            return
        at = (rows[-1]["block"], rows[-1]["event"])


def _in_state(connection: Connection, rows: list[Record], state: JourneyState) -> list[Record]:
    swaps = swaps_now(connection, with_times(connection, rows))
    return [row for row, swap in zip(rows, swaps, strict=True) if swap.state is state]


def _far(swap_filter: SwapFilter) -> list[ColumnElement[bool]]:
    """Return the conditions that are decided for each row."""
    conditions: list[ColumnElement[bool]] = []
    if swap_filter.owner is not None:
        is_customers = is_of_customer(_request)
        conditions.append(is_customers if swap_filter.owner is Owner.CUSTOMER else not_(is_customers))
    if swap_filter.source is not None:
        conditions.append(_request.source == swap_filter.source)
    if swap_filter.target is not None:
        conditions.append(_request.target == swap_filter.target)
    if swap_filter.least is not None:
        conditions.append(_request.amount >= swap_filter.least)
    if swap_filter.most is not None:
        conditions.append(_request.amount <= swap_filter.most)
    if swap_filter.partner is not None:
        conditions.append(exists().where(is_at(_request), partner_channels.c.partner == swap_filter.partner))
    if swap_filter.state is not None:
        conditions.append(MAY_HAVE[swap_filter.state])
    return conditions


# States


def _has_payout(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    kinds = _payout.kind.in_([kind.value for kind in PayoutKind])
    return exists().where(_payout.request == _request.request, kinds, *conditions)


def _with(table: Any, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return the condition that a payout has a row of a table, by its egress."""
    same_egress = (table.c.chain == _payout.chain, table.c.egress == _payout.egress)
    return exists().where(*same_egress, *conditions)


_has_ended: Final = exists().where(schema.completions.c.request == _request.request)
_outcome: Final = schema.outcomes.c
_of_batch: Final = and_(
    _outcome.chain == schema.broadcasts.c.chain, _outcome.broadcast == schema.broadcasts.c.broadcast
)


def _is_sent(*states: str) -> ColumnElement[bool]:
    """Return the condition that a broadcast has an outcome of one of these states."""
    return exists().where(_of_batch, _outcome.state.in_(states))


_is_made: Final = _payout.state == "scheduled"
_STEPS: Final = ("sent", "success", "aborted")
_is_open: Final = not_(_is_sent("success"))
_failed: Final = _has_payout(_with(schema.failures))
_call_expired: Final = _has_payout(_with(schema.broadcasts, _is_sent("expired")))
"""An aborted message, whose call was never sent."""
_refunded: Final = _has_payout(_payout.kind == PayoutKind.REFUND.value)
MAY_HAVE: Final[dict[JourneyState, ColumnElement[bool]]] = {
    JourneyState.SWAPPING: and_(not_(_has_ended), not_(_has_payout())),
    JourneyState.DONE: and_(_has_ended, not_(_has_payout())),
    JourneyState.SCHEDULED: _has_payout(_is_made, not_(_with(schema.broadcasts))),
    JourneyState.SIGNING: _has_payout(_is_made, _with(schema.broadcasts, not_(_is_sent(*_STEPS)))),
    JourneyState.SENT: _has_payout(_is_made, _with(schema.broadcasts, _is_sent("sent"), _is_open)),
    JourneyState.PAID: _has_payout(_is_made),
    JourneyState.CREDITED: _has_payout(_payout.state == "credited"),
    JourneyState.REFUNDED: _refunded,
    JourneyState.PARTLY_REFUNDED: and_(_refunded, _has_payout(_payout.kind == PayoutKind.OUTPUT.value)),
    JourneyState.IGNORED: _has_payout(_payout.state == "ignored"),
    JourneyState.INVALID: _has_payout(_payout.state == "invalid"),
    JourneyState.ABORTED: _has_payout(_with(schema.broadcasts, _is_sent("aborted"))),
    JourneyState.FAILED: _failed,
    JourneyState.EXPIRED: or_(_failed, _call_expired),
}
"""What the rows of a swap have at least where it has a state."""
