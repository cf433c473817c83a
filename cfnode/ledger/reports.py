"""Reports of a period: channels, swaps, fees, commissions, payouts and unread events, one record each.

Amounts are integers in smallest units. States are derived here from the facts of several tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, bindparam, select

from cfnode.ledger import schema
from cfnode.ledger.block_times import blocks_between, times_of
from cfnode.ledger.database import Database
from cfnode.ledger.pages import pages
from cfnode.swaps.genesis_events import NO_CALL
from cfnode.swaps.identity import ChannelId
from cfnode.swaps.journey import Journey, JourneyState, JourneyStep, PayoutKind, PayoutStep, payout_state

__all__ = [
    "REPORTS",
    "PayoutFact",
    "Period",
    "channel_records",
    "channel_text",
    "payout_facts",
    "related",
    "report",
    "swap_records",
    "swap_state",
]

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Period:
    """Period of block times in Unix ms: from `start` up to, and without, `end`. None: open."""

    start: int | None = None
    end: int | None = None


def report(database: Database, name: str, period: Period, account: str | None = None) -> Iterator[Record]:
    """Yield the records of a report, oldest first, of one account if it is given.

    Blocks: call it in a thread.
    """
    table, describe = REPORTS[name]
    query = select(table)
    if account is not None and "account" in table.c:
        query = query.where(table.c.account == account)
    with database.reading() as connection:
        blocks = blocks_between(connection, period.start, period.end)
        for rows in pages(connection, table, query, blocks):
            times = times_of(connection, (row.block for row in rows))
            yield from describe(connection, [row._asdict() | {"time": times[row.block]} for row in rows])


def related(
    connection: Connection, table: Table, column: str, values: list[Any], chains: Iterable[str] = ()
) -> dict[Any, list[Record]]:
    """Return the rows of a table by the value of a column, in the order of their keys.

    Numbers that each foreign chain counts for itself need the `chains`, with which the indexes begin.
    """
    by_value: dict[Any, list[Record]] = defaultdict(list)
    keys = sorted({value for value in values if value is not None})
    if not keys:
        return by_value
    of_chains = sorted(set(chains))
    query = _related(table, column, of_chains=bool(of_chains))
    names = table.columns.keys()
    for row in connection.execute(query, {"keys": keys, **({"chains": of_chains} if of_chains else {})}):
        record = dict(zip(names, row, strict=True))  # a third of the time of a row's own mapping
        by_value[record[column]].append(record)
    return by_value


@cache
def _related(table: Table, column: str, *, of_chains: bool) -> Select[Any]:
    """Return the query of `related`, which is made once."""
    query = select(table).where(table.c[column].in_(bindparam("keys", expanding=True)))
    if of_chains:
        query = query.where(table.c.chain.in_(bindparam("chains", expanding=True)))
    return query.order_by(*table.primary_key.columns)


# Channels


def channel_text(chain: str, number: int | None, opened: int | None) -> str | None:
    """Return the id of the channel that a fact belongs to; None if the books lack its opening."""
    return None if number is None or opened is None else str(ChannelId(chain, number, opened))


def channel_records(connection: Connection, rows: list[Record]) -> Iterator[Record]:
    """Yield the records of rows of `channels`, which have their times."""
    chains = {row["chain"] for row in rows}
    deposits = related(connection, schema.deposits, "channel", [row["channel"] for row in rows], chains)
    shared = ("block", "time", "kind", "chain", "channel", "account", "address", "source", "target")
    terms = ("destination", "commission_bps", "boost_bps", "opening_fee", "expiry_block")
    for row in rows:
        if row["kind"] == "other":
            continue
        channel_deposits = [
            deposit
            for deposit in deposits[row["channel"]]
            if (deposit["chain"], deposit["opened"]) == (row["chain"], row["block"])
            and deposit["state"] in ("finalised", "boosted")
        ]
        channel = channel_text(row["chain"], row["channel"], row["block"])
        values = {name: row[name] for name in (*shared, *terms)}
        yield values | {"channel_id": channel, "deposits": len(channel_deposits)}


# Swaps


def swap_records(connection: Connection, numbers: list[int]) -> Iterator[Record]:
    """Yield the records of swap requests, by their numbers, as the report `swaps` has them."""
    rows = connection.execute(_REQUESTS, {"numbers": numbers}).mappings()
    yield from _swaps(connection, [dict(row) for row in rows])


_REQUESTS: Final = (
    select(schema.blocks.c.time, schema.requests)
    .join(schema.blocks, schema.blocks.c.number == schema.requests.c.block)
    .where(schema.requests.c.request.in_(bindparam("numbers", expanding=True)))
    .order_by(*schema.requests.primary_key.columns)
)


def _swaps(connection: Connection, rows: list[Record]) -> Iterator[Record]:
    numbers = [row["request"] for row in rows]
    chunks = related(connection, schema.swaps, "request", numbers)
    completions = related(connection, schema.completions, "request", numbers)
    fees = related(connection, schema.fees, "request", numbers)
    payouts = related(connection, schema.payouts, "request", numbers)
    states = _payout_states(connection, [payout for group in payouts.values() for payout in group])
    for row in rows:
        number = row["request"]
        executed = [chunk for chunk in chunks[number] if chunk["state"] == "executed"]
        swap_payouts = [payout for payout in payouts[number] if payout["kind"] in ("swap", "refund")]
        shared = ("block", "time", "request", "kind", "account", "chain", "channel", "source", "target")
        yield {name: row[name] for name in shared} | {
            "channel_id": channel_text(row["chain"], row["channel"], row["opened"]),
            "input": row["amount"],
            "output": sum(chunk["output"] for chunk in executed),
            "chunks": len(executed),
            "state": swap_state(
                completions[number], [(payout["kind"], states[_key(payout)]) for payout in swap_payouts]
            ),
            "paid": _leaving(swap_payouts, PayoutKind.OUTPUT),
            "refunded": _leaving(swap_payouts, PayoutKind.REFUND),
            "network_fee": _sum(fees[number], "network"),
            "broker_fee": _sum(fees[number], "broker"),
            "egress_fee": _sum(fees[number], "egress", row["target"]),
            "refund_fee": _sum(fees[number], "refund") + _sum(fees[number], "egress", row["source"]),
            "destination": row["destination"],
        }


def swap_state(completions: list[Record], payouts: list[tuple[str, JourneyState]]) -> JourneyState:
    """Return the state of a swap, by its ends and its payouts: kind and state of each."""
    journey = Journey(JourneyState.SWAPPING)
    if completions:
        journey.receive(JourneyStep.ENDED)
    for kind, state in payouts:
        journey.receive_payout(PayoutKind(kind), state)
    return journey.state


def _leaving(payouts: list[Record], kind: PayoutKind) -> int:
    """Return the sum of a kind of payouts, without those that are too small or whose message is invalid."""
    of_kind = [
        payout
        for payout in payouts
        if payout["kind"] == kind and payout["state"] in ("scheduled", "credited")
    ]
    refused = {(payout["chain"], payout["egress"]) for payout in payouts if payout["state"] == "invalid"}
    return sum(
        payout["amount"] or 0 for payout in of_kind if (payout["chain"], payout["egress"]) not in refused
    )


def _sum(rows: list[Record], kind: str, asset: str | None = None) -> int:
    return sum(row["amount"] for row in rows if row["kind"] == kind and asset in (None, row["asset"]))


# Fees


def _fees(connection: Connection, rows: list[Record]) -> Iterator[Record]:
    names = ("block", "time", "kind", "account", "asset", "amount", "request", "chain", "channel")
    for row in rows:
        channel = channel_text(row["chain"], row["channel"], row["opened"])
        yield {name: row[name] for name in names} | {"channel_id": channel}


def _commissions(connection: Connection, rows: list[Record]) -> Iterator[Record]:
    for row in rows:
        names = ("block", "time", "account", "broker", "asset", "amount", "request", "swap")
        yield {name: row[name] for name in names}


# Payouts


def _payouts(connection: Connection, rows: list[Record]) -> Iterator[Record]:
    facts, invalid = payout_facts(connection, rows), _invalid(connection, rows)
    shared = ("block", "time", "kind", "chain", "egress", "request", "account", "asset", "amount")
    for row in rows:
        if row["state"] == "invalid":
            continue  # the outcome of a payout that has its record
        fact, end = facts[_key(row)], invalid.get((row["chain"], row["egress"]))
        yield {name: row[name] for name in shared} | {
            "state": fact.state if end is None else JourneyState.INVALID,
            "destination": row["destination"],
            "broadcast": fact.broadcast,
            "transaction": fact.transaction,
            "recovery": None if fact.recovery == NO_CALL else fact.recovery,
            "reason": row["reason"] if end is None else end["reason"],
        }


def _invalid(connection: Connection, rows: list[Record]) -> dict[tuple[str, int], Record]:
    """Return the outcomes of those payouts whose message cannot be sent, by chain and egress."""
    numbers, chains = [row["egress"] for row in rows], {row["chain"] for row in rows}
    groups = related(connection, schema.payouts, "egress", numbers, chains).values()
    outcomes = [record for group in groups for record in group if record["state"] == "invalid"]
    return {(record["chain"], record["egress"]): record for record in outcomes}


@dataclass(frozen=True, slots=True)
class PayoutFact:
    """Outcome of a payout; `recovery` is the broadcast id of the call that pays a failed one again."""

    state: JourneyState
    broadcast: int | None = None
    transaction: str | None = None
    recovery: int | None = None


def _key(row: Record) -> tuple[int, int]:
    return row["block"], row["event"]


def _payout_states(connection: Connection, rows: list[Record]) -> dict[tuple[int, int], JourneyState]:
    return {key: fact.state for key, fact in payout_facts(connection, rows).items()}


def payout_facts(connection: Connection, rows: list[Record]) -> dict[tuple[int, int], PayoutFact]:
    """Return the outcomes of payouts (rows of their table), by block and event."""
    numbers, chains = [row["egress"] for row in rows], {row["chain"] for row in rows}
    in_batches = related(connection, schema.broadcasts, "egress", numbers, chains)
    failures = related(connection, schema.failures, "egress", numbers, chains)
    broadcasts = [
        record["broadcast"]
        for by_egress in (in_batches, failures)
        for records in by_egress.values()
        for record in records
    ]
    broadcasts += [row["broadcast"] for row in rows]
    outcomes = related(connection, schema.outcomes, "broadcast", broadcasts, chains)
    facts = {}
    for row in rows:
        egress, chain = row["egress"], row["chain"]
        own_broadcasts = [record["broadcast"] for record in in_batches[egress] if record["chain"] == chain]
        broadcast = own_broadcasts[-1] if own_broadcasts else row["broadcast"]
        failed = [record["broadcast"] for record in failures[egress] if record["chain"] == chain]
        chain_outcomes = [record for record in outcomes[broadcast] if record["chain"] == chain]
        call = [record for record in outcomes[failed[-1]] if record["chain"] == chain] if failed else []
        facts[_key(row)] = _payout_fact(row["state"], broadcast, chain_outcomes, failed, call)
    return facts


def _payout_fact(
    state: str, broadcast: int | None, outcomes: list[Record], failed: list[int], call: list[Record]
) -> PayoutFact:
    """Return the outcome of a payout.

    `outcomes` are those of its transaction, `failed` the broadcasts of the calls in its place, and `call` the
    outcomes of the last of these.
    """
    steps = [PayoutStep(state)]
    if state != "scheduled" or broadcast is None:
        return PayoutFact(payout_state(steps))
    steps.append(PayoutStep.BATCHED)
    steps += [_OUTCOMES[outcome["state"]] for outcome in outcomes if outcome["state"] in _OUTCOMES]
    transaction = next(
        (outcome["transaction"] for outcome in outcomes if outcome["state"] == "success"), None
    )
    if failed:
        steps.append(PayoutStep.TRANSFER_REJECTED)
    if any(outcome["state"] == "expired" for outcome in call):
        steps.append(PayoutStep.CALL_EXPIRED)
    return PayoutFact(payout_state(steps), broadcast, transaction, failed[-1] if failed else None)


_OUTCOMES: Final = {
    "sent": PayoutStep.SENT,
    "success": PayoutStep.SUCCEEDED,
    "aborted": PayoutStep.ABORTED,
    "expired": PayoutStep.CALL_EXPIRED,
}
"""The step of a payout that an outcome of its transaction states."""


# Events of an unknown shape


def _unread(connection: Connection, rows: list[Record]) -> Iterator[Record]:
    for row in rows:
        shared = {name: row[name] for name in ("block", "time", "event")}
        yield shared | {
            "kind": f"{row['pallet']}.{row['name']}",
            "reason": row["reason"],
            "fields": row["fields"],
        }


REPORTS: Final[dict[str, tuple[Table, Callable[[Connection, list[Record]], Iterator[Record]]]]] = {
    "swaps": (schema.requests, _swaps),
    "channels": (schema.channels, channel_records),
    "fees": (schema.fees, _fees),
    "commissions": (schema.commissions, _commissions),
    "payouts": (schema.payouts, _payouts),
    "unread": (schema.unread, _unread),
}
