"""Recent swaps and failed payouts, by the newest block of the books.

Each function reads a bounded number of rows by an index, however many swaps are in the books.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, and_, func, select

from cfnode.core.assets import CHAINS
from cfnode.ledger import schema
from cfnode.ledger.amounts import exact_sum, whole
from cfnode.ledger.block_times import times_of
from cfnode.ledger.keys import key_change_of
from cfnode.ledger.kinds import is_of_customer
from cfnode.ledger.open_channels import is_before, partners_of
from cfnode.ledger.reports import PayoutFact, payout_facts, related, swap_state
from cfnode.swaps.events import Name
from cfnode.swaps.fate import Evidence, Fate, Signed, fate, signature_at
from cfnode.swaps.identity import ChannelId, Place
from cfnode.swaps.journey import JourneyState, rejected_state

__all__ = [
    "FailedPayoutLine",
    "SwapNow",
    "aborted_payouts",
    "failed_payouts",
    "failed_payouts_of",
    "recent_swaps",
    "swaps_now",
]

NEWEST_ROWS: Final = 200
"""Number of the newest rows that are read of each table in which a swap may have moved."""
MAX_ABORTED: Final = 200
"""Number of the newest aborted transactions whose payouts are listed."""
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SwapNow:
    """Swap and how far it is.

    `state` is that of the report `swaps`, `block`, `event` and `time` (Unix ms) are the request's. Amounts
    are in smallest units.
    """

    request: int
    block: int
    event: int
    time: int
    account: str | None
    partner: str | None
    source: str
    target: str
    amount: int
    output: int
    chunks: int
    executed: int
    state: JourneyState
    destination: str | None
    transaction: str | None


@dataclass(frozen=True, slots=True)
class FailedPayoutLine:
    """Transfer that its receiver rejected, or that no authority could send.

    `call` is the broadcast of the call that pays it: for an aborted transaction its own.
    """

    block: int
    event: int
    time: int
    chain: str
    asset: str
    amount: int
    destination: str
    call: int
    fate: Fate
    request: int | None
    account: str | None


@dataclass(slots=True)
class _Progress:
    """Progress of a swap: executed chunks, their output, whether the request has ended, and its payouts."""

    executed: int = 0
    output: int = 0
    is_over: bool = False
    payouts: list[Record] = field(default_factory=list)


# Swaps


def recent_swaps(connection: Connection, limit: int = 30) -> list[SwapNow]:
    """Return at most `limit` swaps of users that moved last, the newest first."""
    moved = _moved(connection)
    newest = sorted(moved, key=lambda number: (moved[number], number), reverse=True)[: 4 * limit]
    requests = {row["request"]: row for row in _requests(connection, newest)}
    return swaps_now(connection, [requests[number] for number in newest if number in requests][:limit])


def swaps_now(connection: Connection, rows: list[Record]) -> list[SwapNow]:
    """Return the swaps of request rows, which have their block's `time`, in the order of the rows."""
    progress = _progress(connection, [row["request"] for row in rows])
    facts = payout_facts(connection, [payout for now in progress.values() for payout in now.payouts])
    channels = [_channel(row) for row in rows]
    partners = partners_of(connection, [channel for channel in channels if channel is not None])
    swaps = []
    for row, channel in zip(rows, channels, strict=True):
        now = progress[row["request"]]
        outcomes = [facts[payout["block"], payout["event"]] for payout in now.payouts]
        states = [(payout["kind"], fact.state) for payout, fact in zip(now.payouts, outcomes, strict=True)]
        shared = ("request", "block", "event", "time", "account", "source", "target", "amount", "destination")
        swaps.append(
            SwapNow(
                **{name: row[name] for name in shared},
                partner=None if channel is None else partners.get(channel),
                output=now.output,
                chunks=row["chunks"] or 1,
                executed=now.executed,
                state=swap_state([{}] if now.is_over else [], states),
                transaction=next((outcome.transaction for outcome in outcomes if outcome.transaction), None),
            )
        )
    return swaps


def _channel(row: Record) -> ChannelId | None:
    """Return the channel of a request; None if it has none, or the books lack the channel's opening."""
    return None if row["opened"] is None else ChannelId(row["chain"], row["channel"], row["opened"])


def _moved(connection: Connection) -> dict[int, int]:
    """Return the block of the newest fact of each request that moved lately."""
    blocks: dict[int, int] = {}
    for table in (schema.requests, schema.swaps, schema.completions, schema.payouts):
        newest = _newest(table, table.c.request)
        for request, block in connection.execute(newest):
            if request is not None:
                blocks[request] = max(block, blocks.get(request, 0))
    for request, block in _of_outcomes(connection).items():
        blocks[request] = max(block, blocks.get(request, 0))
    return blocks


def _newest(table: Table, *columns: Any) -> Any:
    order = [column.desc() for column in table.primary_key.columns]
    return select(*columns, table.c.block).order_by(*order).limit(NEWEST_ROWS)


def _of_outcomes(connection: Connection) -> dict[int, int]:
    """Return the block of the newest outcome of each request whose payouts have one."""
    outcome = schema.outcomes.c
    rows = connection.execute(_newest(schema.outcomes, outcome.chain, outcome.broadcast)).all()
    blocks: dict[tuple[str, int], int] = {}
    for chain, broadcast, block in rows:
        blocks.setdefault((chain, broadcast), block)
    chains = {chain for chain, _ in blocks}
    numbers = [broadcast for _, broadcast in blocks]
    batches = related(connection, schema.broadcasts, "broadcast", numbers, chains)
    egresses = {
        (row["chain"], row["egress"]): blocks[row["chain"], row["broadcast"]]
        for batch_rows in batches.values()
        for row in batch_rows
        if (row["chain"], row["broadcast"]) in blocks
    }
    payouts = related(connection, schema.payouts, "egress", [egress for _, egress in egresses], chains)
    return {
        row["request"]: egresses[row["chain"], row["egress"]]
        for payout_rows in payouts.values()
        for row in payout_rows
        if row["request"] is not None and (row["chain"], row["egress"]) in egresses
    }


def _requests(connection: Connection, numbers: list[int]) -> list[Record]:
    """Return the rows of users' requests; the chain's own, which swap its fees, are left out."""
    table, blocks = schema.requests, schema.blocks.c
    query = select(blocks.time, table).join(schema.blocks, blocks.number == table.c.block)
    query = query.where(table.c.request.in_(numbers), is_of_customer(table.c))
    return [dict(row) for row in connection.execute(query).mappings()]


def _progress(connection: Connection, numbers: list[int]) -> dict[int, _Progress]:
    progress: dict[int, _Progress] = defaultdict(_Progress)
    chunk = schema.swaps.c
    sums = exact_sum(chunk.output, connection.dialect.name)
    query = select(chunk.request, func.count(), *sums)
    query = query.where(chunk.request.in_(numbers), chunk.state == "executed").group_by(chunk.request)
    for request, count, *parts in connection.execute(query):
        progress[request].executed, progress[request].output = count, whole(parts)
    for request in related(connection, schema.completions, "request", numbers):
        progress[request].is_over = True
    for request, rows in related(connection, schema.payouts, "request", numbers).items():
        progress[request].payouts = [payout for payout in rows if payout["kind"] in ("swap", "refund")]
    return progress


# Failed payouts


def failed_payouts(
    connection: Connection, limit: int = 50, before: tuple[int, int] | None = None
) -> list[FailedPayoutLine]:
    """Return at most `limit` payouts that failed, the newest first.

    These are transfers that a receiver rejected, and the payouts of transactions that were aborted and not
    sent since. `before` is block and event of the last one of the page before.
    """
    lines = [*_rejected(connection, limit, before), *_newest_aborted(connection, limit, before)]
    return sorted(lines, key=lambda line: (line.block, line.event), reverse=True)[:limit]


def _rejected(connection: Connection, limit: int, before: tuple[int, int] | None) -> list[FailedPayoutLine]:
    table, blocks = schema.failures, schema.blocks.c
    query = select(blocks.time, table).join(schema.blocks, blocks.number == table.c.block)
    if before is not None:
        query = query.where(is_before(table, before))
    query = query.order_by(table.c.block.desc(), table.c.event.desc()).limit(limit)
    return _failed(connection, [dict(row) for row in connection.execute(query).mappings()])


def _newest_aborted(
    connection: Connection, limit: int, before: tuple[int, int] | None
) -> list[FailedPayoutLine]:
    """Return at most `limit` payouts of aborted transactions; those that were sent since are left out."""
    rows = [row for row in _of_aborted(connection) if before is None or (row["block"], row["event"]) < before]
    rows.sort(key=lambda row: (row["block"], row["event"]), reverse=True)
    lines = list[FailedPayoutLine]()
    for start in range(0, len(rows), limit):
        part = rows[start : start + limit]
        times = times_of(connection, [row["block"] for row in part])
        part = [row | {"time": times[row["block"]]} for row in part]
        lines += aborted_payouts(connection, part, payout_facts(connection, part))
        if len(lines) >= limit:
            break
    return lines[:limit]


def _of_aborted(connection: Connection) -> list[Record]:
    """Return the rows of the payouts in the transactions that were aborted last."""
    aborted = {(row.chain, row.broadcast) for row in connection.execute(_aborted_broadcasts())}
    chains = {chain for chain, _ in aborted}
    batches = related(connection, schema.broadcasts, "broadcast", [number for _, number in aborted], chains)
    egresses = {
        (row["chain"], row["egress"])
        for rows in batches.values()
        for row in rows
        if (row["chain"], row["broadcast"]) in aborted and row["egress"] is not None
    }
    payouts = related(connection, schema.payouts, "egress", [egress for _, egress in egresses], chains)
    return [row for rows in payouts.values() for row in rows if (row["chain"], row["egress"]) in egresses]


def _aborted_broadcasts() -> Select[tuple[str, int]]:
    """Return the query for the broadcasts that were aborted last, by the index of events."""
    event, outcome = schema.events.c, schema.outcomes.c
    is_same = and_(outcome.block == event.block, outcome.event == event.event)
    pallets = [f"{chain}Broadcaster" for chain in CHAINS]
    query = select(outcome.chain, outcome.broadcast).join(schema.events, is_same)
    query = query.where(event.pallet.in_(pallets), event.name == Name.ABORTED)
    return query.order_by(event.block.desc(), event.event.desc()).limit(MAX_ABORTED)


def failed_payouts_of(connection: Connection, payouts: list[Record]) -> list[FailedPayoutLine]:
    """Return the failed transfers among payouts, which are rows of their table, oldest first."""
    egresses = {(row["chain"], row["egress"]) for row in payouts if row["egress"] is not None}
    chains = {chain for chain, _ in egresses}
    failures = related(connection, schema.failures, "egress", [egress for _, egress in egresses], chains)
    rows = [
        row
        for failure_rows in failures.values()
        for row in failure_rows
        if (row["chain"], row["egress"]) in egresses
    ]
    times = times_of(connection, [row["block"] for row in rows])
    return _failed(connection, [row | {"time": times[row["block"]]} for row in rows])


def aborted_payouts(
    connection: Connection, payouts: list[Record], facts: Mapping[tuple[int, int], PayoutFact]
) -> list[FailedPayoutLine]:
    """Return the payouts whose transaction no authority could send, oldest first; of rows with their times.

    The transaction was signed, and any account may send it while the vault has the key: a batch, or the call
    of a message.
    """
    aborted, changed = list[tuple[Record, int]](), key_change_of(connection)
    for row in payouts:
        fact = facts[row["block"], row["event"]]
        is_aborted = fact.state is JourneyState.ABORTED or (
            fact.state is JourneyState.EXPIRED and fact.recovery is None
        )
        if is_aborted and fact.broadcast is not None:
            aborted.append((row, fact.broadcast))
    chains = {row["chain"] for row, _ in aborted}
    outcomes = related(connection, schema.outcomes, "broadcast", [number for _, number in aborted], chains)
    lines = []
    for row, number in aborted:
        of_call = [record for record in outcomes[number] if record["chain"] == row["chain"]]
        evidence = Evidence(
            row["chain"],
            facts[row["block"], row["event"]].state,
            is_batch=all(record["state"] != "refused" for record in of_call),
            signed=_signature(of_call, changed),
        )
        names = ("block", "event", "time", "chain", "asset", "amount", "destination", "request", "account")
        shared = {name: row[name] for name in names}
        lines.append(FailedPayoutLine(**shared, call=number, fate=fate(evidence)))
    return lines


def _failed(connection: Connection, rows: list[Record]) -> list[FailedPayoutLine]:
    """Return the failed transfers of rows of `failures`, which have their block's `time`."""
    chains = {row["chain"] for row in rows}
    calls = related(connection, schema.outcomes, "broadcast", [row["broadcast"] for row in rows], chains)
    changed = key_change_of(connection)
    payouts = related(connection, schema.payouts, "egress", [row["egress"] for row in rows], chains)
    failed = []
    for row in rows:
        of_call = [call for call in calls[row["broadcast"]] if call["chain"] == row["chain"]]
        is_over = any(call["state"] == "expired" for call in of_call)
        paid = [payout for payout in payouts[row["egress"]] if payout["chain"] == row["chain"]]
        evidence = Evidence(
            row["chain"],
            rejected_state(is_call_expired=is_over),
            signed=_signature(of_call, changed),
        )
        shared = {name: row[name] for name in ("block", "event", "time", "chain", "asset", "amount")}
        owner = paid[0] if paid else {"request": None, "account": None}
        failed.append(
            FailedPayoutLine(
                **shared,
                destination=row["destination"],
                call=row["broadcast"],
                fate=fate(evidence),
                request=owner["request"],
                account=owner["account"],
            )
        )
    return failed


def _signature(outcomes: list[Record], changed: Place | None) -> Signed:
    """Return whose key has signed a call last, by its outcomes and the place of the newest change of key.

    Signatures before the call was outdated do not count.
    """
    outdated = max((_place(row) for row in outcomes if row["state"] == "outdated"), default=(-1, -1))
    places = [_place(row) for row in outcomes if row["state"] in ("sent", "signed")]
    return signature_at(max((place for place in places if place > outdated), default=None), changed)


def _place(row: Record) -> Place:
    return row["block"], row["event"]
