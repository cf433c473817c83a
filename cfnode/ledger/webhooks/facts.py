"""Changes of channels and deposits for webhooks: opened and expired; seen, confirmed, boosted and rejected.

Each follows from a row of one table. A deposit is seen, before it is confirmed, only where it may be boosted:
the chain has no other event of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Table, select

from cfnode.ledger import schema
from cfnode.ledger.block_times import times_of
from cfnode.ledger.reports import channel_records, channel_text
from cfnode.ledger.rows.known import OTHER
from cfnode.ledger.service_tables import changes
from cfnode.swaps.documents.webhook import channel_body, deposit_body

__all__ = ["EXPIRED", "FACT_TABLES", "OPENED", "channel_changes", "fact_changes", "subject_of_swap"]

OPENED: Final = "channel.opened"
EXPIRED: Final = "channel.expired"
FACT_TABLES: Final = ("channels", "deposits", "boosts")
"""Tables whose rows are changes of channels and deposits."""
_DEPOSITS: Final = {
    "finalised": "deposit.confirmed",
    "repaid": "deposit.confirmed",
    "boosted": "deposit.boosted",
    "failed": "deposit.rejected",
}
"""Type of the change that a deposit of each state is."""
_SEEN: Final = "deposit.seen"
_MEMBERS: Final = (
    *("time", "chain", "account", "address", "asset", "amount", "ingress_fee", "boost_fee"),
    *("request", "action", "reason", "transaction"),
)
Record = dict[str, Any]


def subject_of_swap(channel: str | None, request: int) -> str:
    """Return the subject of a swap: the id of its channel, or its own number."""
    return f"swap-{request}" if channel is None else channel


def fact_changes(connection: Connection, rows: Mapping[str, Sequence[Any]]) -> list[Record]:
    """Return the changes that rows are, which are in their tables, in the order of their events.

    Those that are noted already, by an earlier reading of their block, are left out.
    """
    records = [
        *_opened(connection, _stored(connection, schema.channels, rows)),
        *_of_deposits(connection, _stored(connection, schema.deposits, rows)),
        *_seen(connection, _stored(connection, schema.boosts, rows)),
    ]
    known = _noted(connection, {change["subject"] for change in records})
    fresh = [change for change in records if _key(change) not in known]
    return sorted(fresh, key=lambda change: (change["block"], change["event"]))


def channel_changes(connection: Connection, kind: str, rows: list[Record], block: int) -> Iterator[Record]:
    """Yield a change of each channel, in a block; rows of `channels`, with the times of their openings."""
    for row, record in zip(rows, channel_records(connection, rows), strict=True):
        yield {
            "block": block,
            "event": row["event"],
            "type": kind,
            "subject": record["channel_id"],
            "request": None,
            "account": row["account"],
            "state": kind.partition(".")[2],
            "body": channel_body(kind, record, block),
        }


def _stored(connection: Connection, table: Table, rows: Mapping[str, Sequence[Any]]) -> list[Record]:
    """Return the stored rows, with their times, whose places rows of a block have."""
    places = {(row["block"], row["event"]) for row in rows.get(table.name, ())}
    if not places:
        return []
    blocks = sorted({block for block, _ in places})
    query = select(table).where(table.c.block.in_(blocks)).order_by(*table.primary_key.columns)
    records = [dict(row) for row in connection.execute(query).mappings()]
    times = times_of(connection, blocks)
    return [row | {"time": times[row["block"]]} for row in records if (row["block"], row["event"]) in places]


def _opened(connection: Connection, rows: list[Record]) -> Iterator[Record]:
    for row in rows:
        if row["kind"] != OTHER:
            yield from channel_changes(connection, OPENED, [row], row["block"])


def _of_deposits(connection: Connection, rows: list[Record]) -> Iterator[Record]:
    for row in rows:
        yield _of_deposit(_DEPOSITS[row["state"]], row)


def _seen(connection: Connection, rows: list[Record]) -> Iterator[Record]:
    """Yield the unconfirmed deposits whose boost found no liquidity; a boosted one has its own row."""
    seen = [row for row in rows if row["state"] == "refused" and row["opened"] is not None]
    owners = _channels(connection, {(row["chain"], row["channel"], row["opened"]) for row in seen})
    for row in seen:
        channel = owners.get((row["chain"], row["channel"], row["opened"]))
        if channel is not None:
            shared = {"account": channel["account"], "address": channel["address"]}
            yield _of_deposit(_SEEN, row | shared)


def _channels(connection: Connection, keys: Iterable[tuple[str, int, int]]) -> dict[Any, Record]:
    """Return the rows of channels that are the books' own, by chain, number and block."""
    table, channels = schema.channels.c, {}
    for chain, number, block in keys:
        conditions = (table.chain == chain, table.channel == number, table.block == block)
        query = select(schema.channels).where(*conditions, table.kind != OTHER)
        for row in connection.execute(query).mappings():
            channels[chain, number, block] = dict(row)
    return channels


def _of_deposit(kind: str, row: Record) -> Record:
    channel, request = channel_text(row["chain"], row["channel"], row["opened"]), row.get("request")
    subject = channel
    if subject is None:
        lone = f"deposit-{row['block']}-{row['event']}"
        subject = lone if request is None else subject_of_swap(None, request)
    record = {name: row.get(name) for name in _MEMBERS} | {"channel_id": channel}
    return {
        "block": row["block"],
        "event": row["event"],
        "type": kind,
        "subject": subject,
        "request": request,
        "account": row["account"],
        "state": kind.partition(".")[2],
        "body": deposit_body(kind, record, row["block"]),
    }


def _noted(connection: Connection, subjects: set[str]) -> set[tuple[str, int, int]]:
    """Return type and place of each change of a channel or a deposit that subjects have already."""
    if not subjects:
        return set()
    query = select(changes.c.type, changes.c.block, changes.c.event)
    query = query.where(changes.c.subject.in_(sorted(subjects)), changes.c.event.is_not(None))
    return {(row.type, row.block, row.event) for row in connection.execute(query)}


def _key(change: Record) -> tuple[str, int, int]:
    return change["type"], change["block"], change["event"]
