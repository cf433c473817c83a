"""Details of one swap: its journey from deposit to payout, chunks, fees, commissions, and webhooks sent.

Each part is looked up by an index of the swap's numbers, and has a bound: a swap may have thousands of
chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, and_, func, select

from cfnode.ledger import schema
from cfnode.ledger.amounts import exact_sum, whole
from cfnode.ledger.block_times import times_of
from cfnode.ledger.day_totals import STABLE
from cfnode.ledger.partners.channels import reference_of
from cfnode.ledger.recent_swaps import (
    FailedPayoutLine,
    SwapNow,
    aborted_payouts,
    failed_payouts_of,
    swaps_now,
)
from cfnode.ledger.reports import PayoutFact, payout_facts, related
from cfnode.ledger.search import ChannelLine, channel_lines
from cfnode.ledger.swap_list import with_times
from cfnode.ledger.webhooks.history import DeliveryLine, lines_of_swap
from cfnode.swaps.identity import ChannelId
from cfnode.swaps.journey import V2_STATES, JourneyState

__all__ = ["ChunkFact", "Happening", "Sum", "SwapDetail", "SwapPayout", "swap_detail"]

MAX_DETAIL_ROWS: Final = 200
"""Maximum chunks, deposits, payouts, and deliveries that are returned."""
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Happening:
    """Fact of a swap's journey, with the table's name and the state in `what`; `time` is Unix ms.

    `transaction` is that of the deposit or the payout, on `chain`.
    """

    block: int
    event: int
    time: int
    what: str
    chain: str | None = None
    asset: str | None = None
    amount: int | None = None
    transaction: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ChunkFact:
    """Execution, abort or delay of a chunk. `intermediate` is in smallest units of USDC."""

    time: int
    block: int
    swap: int
    state: str
    source: str | None
    target: str | None
    input: int | None
    intermediate: int | None
    output: int | None
    reason: str | None

    @property
    def value(self) -> int | None:
        """Value in smallest units of USDC, by the pools' prices of the swap; None unless it was executed."""
        if self.source == STABLE:
            return self.input if self.output is not None else None
        return self.output if self.target == STABLE else self.intermediate


@dataclass(frozen=True, slots=True)
class Sum:
    """Sum of the fees of a kind, or of the commissions of an account."""

    name: str
    asset: str
    amount: int


@dataclass(frozen=True, slots=True)
class SwapPayout:
    """Payout of a swap; `fact` is its state and its transaction."""

    kind: str
    chain: str
    asset: str
    amount: int | None
    destination: str | None
    reason: str | None
    explanation: str | None
    fact: PayoutFact


@dataclass(frozen=True, slots=True)
class SwapDetail:
    """Everything that the books have of a swap; `chunk_rows` is the number of all chunks' rows.

    `value` is that of the executed chunks, in smallest units of USDC; `took_ms` the time from the deposit to
    the end, None before it; `reference` is the partner's own one.
    """

    swap: SwapNow
    kind: str
    origin: str
    refund_address: str | None
    chunk_interval: int | None
    channel: ChannelLine | None
    reference: str | None
    value: int
    took_ms: int | None
    journey: tuple[Happening, ...]
    chunks: tuple[ChunkFact, ...]
    chunk_rows: int
    fees: tuple[Sum, ...]
    commissions: tuple[Sum, ...]
    payouts: tuple[SwapPayout, ...]
    failed: tuple[FailedPayoutLine, ...]
    deliveries: tuple[DeliveryLine, ...]


def swap_detail(connection: Connection, number: int) -> SwapDetail | None:
    """Return the details of a swap request; None if the books lack it."""
    query = select(schema.requests).where(schema.requests.c.request == number).limit(1)
    row = connection.execute(query).mappings().first()
    if row is None:
        return None
    (request,) = with_times(connection, [dict(row)])
    (swap,) = swaps_now(connection, [request])
    paid = _of(connection, schema.payouts, number)
    facts = payout_facts(connection, paid)
    journey = tuple(_journey(connection, request, paid))
    chunks = schema.swaps.c
    is_listed = and_(chunks.request == number, chunks.state != "scheduled")
    return SwapDetail(
        swap,
        request["kind"],
        request["origin"],
        request["refund_address"],
        request["chunk_interval"],
        _channel(connection, request),
        None if request["opened"] is None else reference_of(connection, _channel_id(request)),
        _value(connection, request),
        _took_ms(journey, swap.state),
        journey,
        tuple(_chunks(connection, is_listed)),
        connection.execute(select(func.count()).select_from(schema.swaps).where(is_listed)).scalar_one(),
        _sums(connection, schema.fees, schema.fees.c.kind, number),
        _sums(connection, schema.commissions, schema.commissions.c.account, number),
        tuple(_payouts(paid, facts)),
        (*failed_payouts_of(connection, paid), *aborted_payouts(connection, paid, facts)),
        tuple(lines_of_swap(connection, number)),
    )


def _of(connection: Connection, table: Any, number: int) -> list[Record]:
    """Return a request's rows of a table, oldest first, with their times."""
    query = select(table).where(table.c.request == number).order_by(*table.primary_key.columns)
    rows = [dict(row) for row in connection.execute(query.limit(MAX_DETAIL_ROWS)).mappings()]
    return with_times(connection, rows)


def _value(connection: Connection, request: Record) -> int:
    """Return the value of the executed chunks, as `ChunkFact.value` has that of each."""
    chunk = schema.swaps.c
    column = chunk.intermediate
    if STABLE in (request["source"], request["target"]):
        column = chunk.input if request["source"] == STABLE else chunk.output
    sums = exact_sum(column, connection.dialect.name)
    query = select(*sums).where(chunk.request == request["request"], chunk.state == "executed")
    return whole(connection.execute(query).one())


def _took_ms(journey: tuple[Happening, ...], state: JourneyState) -> int | None:
    """Return the time from the deposit to the last step of a swap that has ended well; None for another."""
    began = [step.time for step in journey if step.what == "requested" or step.what.startswith("deposit.")]
    if V2_STATES[state] != "COMPLETED" or not began:
        return None
    return max(step.time for step in journey) - min(began)


def _channel(connection: Connection, request: Record) -> ChannelLine | None:
    if request["opened"] is None:
        return None
    lines = channel_lines(connection, [_channel_id(request)])
    return lines[0] if lines else None


def _channel_id(request: Record) -> ChannelId:
    return ChannelId(request["chain"], request["channel"], request["opened"])


# Journey


def _journey(connection: Connection, request: Record, paid: list[Record]) -> list[Happening]:
    """Return what happened, oldest first; chunks are a list of their own."""
    number = request["request"]
    happenings = [*_opening(connection, request), _happening(request, "requested", asset=request["source"])]
    happenings += [
        _happening(row, f"deposit.{row['state']}") for row in _of(connection, schema.deposits, number)
    ]
    happenings += [
        _happening(row, "completed", chain=None) for row in _of(connection, schema.completions, number)
    ]
    happenings += [_happening(row, f"payout.{row['kind']}.{row['state']}", transaction=None) for row in paid]
    happenings += _sending(connection, paid)
    return sorted(happenings, key=lambda happening: (happening.block, happening.event))


def _happening(row: Record, what: str, **values: Any) -> Happening:
    names = ("block", "event", "time", "chain", "asset", "amount", "transaction", "reason")
    columns = {name: row[name] for name in names if name in row}
    return Happening(what=what, **{**columns, **values})


def _opening(connection: Connection, request: Record) -> Iterator[Happening]:
    if request["opened"] is None:
        return
    table = schema.channels
    conditions = (table.c.chain == request["chain"], table.c.channel == request["channel"])
    query = select(table).where(*conditions, table.c.block == request["opened"]).limit(1)
    rows = [dict(row) for row in connection.execute(query).mappings()]
    for row in with_times(connection, rows):
        yield _happening(row, "opened", asset=row["source"])


def _sending(connection: Connection, paid: list[Record]) -> list[Happening]:
    """Return the broadcasts of payouts, their outcomes, and the rejected transfers."""
    chains = {row["chain"] for row in paid}
    egresses = {(row["chain"], row["egress"]) for row in paid if row["egress"] is not None}
    numbers = [egress for _, egress in egresses]
    rows: list[tuple[str, Record]] = []
    calls: dict[tuple[str, int], str] = {}
    for table, kind in ((schema.broadcasts, "batch"), (schema.failures, "call")):
        for facts in related(connection, table, "egress", numbers, chains).values():
            for row in facts:
                if (row["chain"], row["egress"]) in egresses:
                    calls[row["chain"], row["broadcast"]] = kind
                    rows.append((kind, row))
    outcomes = related(connection, schema.outcomes, "broadcast", [number for _, number in calls], chains)
    for facts in outcomes.values():
        own_outcomes = [row for row in facts if (row["chain"], row["broadcast"]) in calls]
        rows += [(f"{calls[row['chain'], row['broadcast']]}.{row['state']}", row) for row in own_outcomes]
    times = times_of(connection, (row["block"] for _, row in rows))
    return [
        _happening(row | {"time": times[row["block"]]}, name) for name, row in rows[: 4 * MAX_DETAIL_ROWS]
    ]


# Chunks, fees, payouts


def _chunks(connection: Connection, condition: Any) -> Iterator[ChunkFact]:
    table = schema.swaps
    query = select(table).where(condition).order_by(table.c.block, table.c.event).limit(MAX_DETAIL_ROWS)
    rows = [dict(row) for row in connection.execute(query).mappings()]
    for row in with_times(connection, rows):
        yield ChunkFact(**{name: row[name] for name in ChunkFact.__dataclass_fields__})


def _sums(connection: Connection, table: Any, name: Any, number: int) -> tuple[Sum, ...]:
    sums = exact_sum(table.c.amount, connection.dialect.name)
    query = select(name, table.c.asset, *sums).where(table.c.request == number)
    query = query.group_by(name, table.c.asset).order_by(name, table.c.asset)
    rows = connection.execute(query)
    return tuple(Sum(text, asset, whole(parts)) for text, asset, *parts in rows if text is not None)


def _payouts(paid: list[Record], facts: Mapping[tuple[int, int], PayoutFact]) -> Iterator[SwapPayout]:
    names = ("kind", "chain", "asset", "amount", "destination", "reason", "explanation")
    invalid = {(row["chain"], row["egress"]) for row in paid if row["state"] == "invalid"}
    for row in paid:
        if row["state"] == "scheduled" and (row["chain"], row["egress"]) in invalid:
            continue  # its outcome follows
        yield SwapPayout(**{name: row[name] for name in names}, fact=facts[row["block"], row["event"]])
