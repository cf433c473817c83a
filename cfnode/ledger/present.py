"""What is going on now? Swaps that move, channels that are open, transfers that failed, by the newest block.

Each function reads a bounded number of rows by an index, however many swaps are in the books.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, fields
from typing import Any, Final

from sqlalchemy import Connection, Table, and_, func, or_, select

from cfnode.core.assets import CHAINS
from cfnode.ledger import schema
from cfnode.ledger.amounts import exact_sum, whole
from cfnode.ledger.heights import heights
from cfnode.ledger.reports import payout_facts, related, swap_state
from cfnode.ledger.service_tables import partner_channels

__all__ = [
    "FailedPayout",
    "OpenChannel",
    "SwapNow",
    "channel_of",
    "failed_payouts",
    "open_channels",
    "open_count",
    "recent_swaps",
]

NEWEST: Final = 200
"""Newest rows of each table in which a swap may have moved."""
Record = dict[str, Any]
Channel = tuple[str, int]
"""Chain and number."""


@dataclass(frozen=True, slots=True)
class SwapNow:
    """A swap and how far it is; `state` as in the report `swaps`. `moved` is the block of its newest fact."""

    request: int
    moved: int
    time: int
    account: str | None
    partner: str | None
    source: str
    target: str
    amount: int
    output: int
    chunks: int
    executed: int
    state: str
    refunded: bool
    destination: str | None
    transaction: str | None


@dataclass(frozen=True, slots=True)
class OpenChannel:
    """A channel that takes deposits; `left_ms` is the time to its end, by the usual times of blocks."""

    block: int
    event: int
    time: int
    kind: str
    chain: str
    channel: int
    account: str
    partner: str | None
    address: str
    source: str | None
    target: str | None
    destination: str | None
    commission_bps: int | None
    expiry_block: int
    left_ms: int
    deposits: int


@dataclass(frozen=True, slots=True)
class FailedPayout:
    """A transfer that its receiver did not take; `call` is the broadcast of the call that pays it again.

    `state` of that call is signing, signed, or expired.
    """

    block: int
    event: int
    time: int
    chain: str
    asset: str
    amount: int
    destination: str
    call: int
    state: str
    request: int | None
    account: str | None


@dataclass(slots=True)
class _Progress:
    """What became of a swap's chunks."""

    executed: int = 0
    output: int = 0
    is_over: bool = False
    payouts: list[Record] = field(default_factory=list)


# Swaps


def recent_swaps(connection: Connection, most: int = 30) -> list[SwapNow]:
    """The swaps that moved last, the newest first."""
    moved = _moved(connection)
    newest = sorted(moved, key=lambda number: (moved[number], number), reverse=True)[: 4 * most]
    requests = {row["request"]: row for row in _requests(connection, newest)}
    chosen = [number for number in newest if number in requests][:most]
    progress = _progress(connection, chosen)
    facts = payout_facts(connection, [each for number in chosen for each in progress[number].payouts])
    partners = _partners(connection, [(row["chain"], row["channel"]) for row in requests.values()])
    found = []
    for number in chosen:
        row, now = requests[number], progress[number]
        about = [facts[each["block"], each["event"]] for each in now.payouts]
        found.append(
            SwapNow(
                number,
                moved[number],
                row["time"],
                row["account"],
                partners.get((row["chain"], row["channel"])),
                row["source"],
                row["target"],
                row["amount"],
                now.output,
                row["chunks"] or 1,
                now.executed,
                swap_state([{}] if now.is_over else [], [each.state for each in about]),
                any(each["kind"] == "refund" for each in now.payouts),
                row["destination"],
                next((each.transaction for each in about if each.transaction), None),
            )
        )
    return found


def _moved(connection: Connection) -> dict[int, int]:
    """Requests by the block of their newest fact."""
    found: dict[int, int] = {}
    for table in (schema.requests, schema.swaps, schema.completions, schema.payouts):
        newest = _newest(table, table.c.request)
        for request, block in connection.execute(newest):
            if request is not None:
                found[request] = max(block, found.get(request, 0))
    for request, block in connection.execute(_of_outcomes()):
        found[request] = max(block, found.get(request, 0))
    return found


def _newest(table: Table, *columns: Any) -> Any:
    order = [column.desc() for column in table.primary_key.columns]
    return select(*columns, table.c.block).order_by(*order).limit(NEWEST)


def _of_outcomes() -> Any:
    """The requests whose payouts are in the transactions of the newest outcomes, and the outcomes' blocks."""
    done = _newest(schema.outcomes, schema.outcomes.c.chain, schema.outcomes.c.broadcast).subquery()
    batch, payout = schema.broadcasts.c, schema.payouts.c
    return (
        select(payout.request, func.max(done.c.block))
        .join_from(done, schema.broadcasts, _same(batch, done.c, "broadcast"))
        .join(schema.payouts, _same(payout, batch, "egress"))
        .where(payout.request.is_not(None))
        .group_by(payout.request)
    )


def _same(left: Any, right: Any, number: str) -> Any:
    return and_(left.chain == right.chain, left[number] == right[number])


def _requests(connection: Connection, numbers: list[int]) -> list[Record]:
    """The requests of users; the chain's own, which swap its fees, are left out."""
    table, blocks = schema.requests, schema.blocks.c
    query = select(blocks.time, table).join(schema.blocks, blocks.number == table.c.block)
    query = query.where(table.c.request.in_(numbers), table.c.kind.startswith("Regular"))
    return [dict(row) for row in connection.execute(query).mappings()]


def _progress(connection: Connection, numbers: list[int]) -> dict[int, _Progress]:
    found: dict[int, _Progress] = defaultdict(_Progress)
    chunk = schema.swaps.c
    sums = exact_sum(chunk.output, connection.dialect.name)
    query = select(chunk.request, func.count(), *sums)
    query = query.where(chunk.request.in_(numbers), chunk.state == "executed").group_by(chunk.request)
    for request, count, *parts in connection.execute(query):
        found[request].executed, found[request].output = count, whole(parts)
    for request in related(connection, schema.completions, "request", numbers):
        found[request].is_over = True
    for request, rows in related(connection, schema.payouts, "request", numbers).items():
        found[request].payouts = [each for each in rows if each["kind"] in ("swap", "refund")]
    return found


def _partners(connection: Connection, channels: list[tuple[str, int | None]]) -> dict[Channel, str]:
    """The partners of channels that are a partner's."""
    table = partner_channels.c
    numbers = sorted({number for _, number in channels if number is not None})
    query = select(table.chain, table.channel, table.partner).where(
        table.chain.in_(list(CHAINS)), table.channel.in_(numbers), table.state == "opened"
    )
    return {(row.chain, row.channel): row.partner for row in connection.execute(query)} if numbers else {}


# Channels


def open_channels(
    connection: Connection, most: int = 50, before: tuple[int, int] | None = None
) -> list[OpenChannel]:
    """Open channels, the newest first; `before` is block and event of the last one of the page before."""
    found: list[Record] = []
    for chain, height in heights(connection).items():
        query = _channels(chain, height)
        if before is not None:
            query = query.where(_is_before(schema.channels, before))
        query = query.order_by(schema.channels.c.block.desc(), schema.channels.c.event.desc()).limit(most)
        found += [dict(row) | {"height": height} for row in connection.execute(query).mappings()]
    found.sort(key=lambda row: (row["block"], row["event"]), reverse=True)
    return _described(connection, found[:most])


def open_count(connection: Connection) -> int:
    """How many channels are open."""
    table = schema.channels.c
    count = 0
    for chain, height in heights(connection).items():
        query = select(func.count()).where(table.chain == chain, table.expiry_block > height)
        count += connection.execute(query).scalar_one()
    return count


def channel_of(connection: Connection, chain: str, number: int) -> OpenChannel | None:
    """A channel, if it is open."""
    height = heights(connection).get(chain)
    if height is None or not 0 <= number < 2**63:
        return None
    query = _channels(chain, height).where(schema.channels.c.channel == number)
    row = connection.execute(query.order_by(schema.channels.c.block.desc()).limit(1)).mappings().first()
    return None if row is None else _described(connection, [dict(row) | {"height": height}])[0]


def _channels(chain: str, height: int) -> Any:
    table, blocks = schema.channels, schema.blocks.c
    query = select(blocks.time, table).join(schema.blocks, blocks.number == table.c.block)
    return query.where(table.c.chain == chain, table.c.expiry_block > height, table.c.address.is_not(None))


def _is_before(table: Table, key: tuple[int, int]) -> Any:
    block, event = table.c.block, table.c.event
    return and_(block <= key[0], or_(block < key[0], event < key[1]))


def _described(connection: Connection, rows: list[Record]) -> list[OpenChannel]:
    rows = [row for row in rows if row["chain"] in CHAINS]
    keys = [(row["chain"], row["channel"]) for row in rows]
    partners, paid = _partners(connection, keys), _deposits(connection, keys)
    names = [each.name for each in fields(OpenChannel)]
    found = []
    for key, row in zip(keys, rows, strict=True):
        left = (row["expiry_block"] - row["height"]) * CHAINS[row["chain"]].block_ms
        known = row | {"partner": partners.get(key), "left_ms": left, "deposits": paid.get(key, 0)}
        found.append(OpenChannel(**{name: known[name] for name in names}))
    return found


def _deposits(connection: Connection, channels: list[Channel]) -> dict[Channel, int]:
    table = schema.deposits.c
    query = select(table.chain, table.channel, func.count()).where(
        table.chain.in_(list(CHAINS)),
        table.channel.in_(sorted({number for _, number in channels})),
        table.state.in_(("finalised", "boosted")),
    )
    rows = connection.execute(query.group_by(table.chain, table.channel)) if channels else ()
    return {(chain, channel): count for chain, channel, count in rows}


# Failed payouts


def failed_payouts(
    connection: Connection, most: int = 50, before: tuple[int, int] | None = None
) -> list[FailedPayout]:
    """Failed transfers, the newest first; `before` is block and event of the last one of the page before."""
    table, blocks = schema.failures, schema.blocks.c
    query = select(blocks.time, table).join(schema.blocks, blocks.number == table.c.block)
    if before is not None:
        query = query.where(_is_before(table, before))
    query = query.order_by(table.c.block.desc(), table.c.event.desc()).limit(most)
    rows = [dict(row) for row in connection.execute(query).mappings()]
    calls = related(connection, schema.outcomes, "broadcast", [row["broadcast"] for row in rows])
    payouts = related(connection, schema.payouts, "egress", [row["egress"] for row in rows])
    found = []
    for row in rows:
        seen = {each["state"] for each in calls[row["broadcast"]] if each["chain"] == row["chain"]}
        paid = [each for each in payouts[row["egress"]] if each["chain"] == row["chain"]]
        state = next((each for each in ("expired", "signed") if each in seen), "signing")
        shared = {name: row[name] for name in ("block", "event", "time", "chain", "asset", "amount")}
        owner = paid[0] if paid else {"request": None, "account": None}
        found.append(
            FailedPayout(
                **shared,
                destination=row["destination"],
                call=row["broadcast"],
                state=state,
                request=owner["request"],
                account=owner["account"],
            )
        )
    return found
