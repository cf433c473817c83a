"""Open deposit channels, which take deposits now, and the time to their end.

They are found by an index of their ends, or, where many are open, in the newest rows, and only the channels
of the page are read as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Final

from sqlalchemy import Connection, Table, and_, func, or_, select

from cfnode.core.assets import CHAINS
from cfnode.ledger import schema
from cfnode.ledger.heights import heights
from cfnode.ledger.service_tables import partner_channels
from cfnode.swaps.identity import ChannelId
from cfnode.swaps.timing import blocks_ms

__all__ = [
    "MAX_COUNTED_CHANNELS",
    "OpenChannel",
    "channel_of",
    "is_before",
    "open_channels",
    "open_count",
    "partners_of",
]

MAX_COUNTED_CHANNELS: Final = 10_000
"""Most open channels that are counted."""
MIN_SCANNED_CHANNELS: Final = 2_000
"""Number of open channels from which on they are read from the newest rows, not by the index of ends."""
PART_CHANNELS: Final = 500
MAX_CHANNEL_PARTS: Final = 20
"""Channels that are read at once, and how often at most, where many are open."""
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OpenChannel:
    """Channel that takes deposits.

    `block` and `event` are those of its opening, `time` is that block's, Unix ms; `left_ms` is the time to
    its end by the usual block times, and `deposits` the number of its deposits.
    """

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


def open_channels(
    connection: Connection, limit: int = 50, before: tuple[int, int] | None = None
) -> list[OpenChannel]:
    """Return at most `limit` open channels, the newest first.

    `before` is block and event of the last channel of the page before.
    """
    chain_heights = heights(connection)
    if open_count(connection, MIN_SCANNED_CHANNELS) < MIN_SCANNED_CHANNELS:
        keys = sorted(key for key in _open_keys(connection, chain_heights) if before is None or key < before)
    else:
        keys = _newest_open(connection, chain_heights, limit, before)[::-1]
    rows = _channels_at(connection, set(keys[-limit:]))
    return _described(connection, [row | {"height": chain_heights[row["chain"]]} for row in rows])


def _channels_at(connection: Connection, keys: set[tuple[int, int]]) -> list[Record]:
    """Return the channels at blocks and events, the newest first.

    They are read by their blocks: SQLite reads a whole table to find pairs of values.
    """
    query = _channels().where(schema.channels.c.block.in_(sorted({block for block, _ in keys})))
    rows = connection.execute(_last_first(query)).mappings()
    return [dict(row) for row in rows if (row["block"], row["event"]) in keys]


def _newest_open(
    connection: Connection, chain_heights: dict[str, int], limit: int, before: tuple[int, int] | None
) -> list[tuple[int, int]]:
    """Return the keys of the newest open channels, read from the table's end."""
    table = schema.channels.c
    query = select(table.block, table.event, table.chain, table.expiry_block)
    query = _last_first(query.where(table.address.is_not(None))).limit(PART_CHANNELS)
    keys: list[tuple[int, int]] = []
    for _ in range(MAX_CHANNEL_PARTS):
        part = query if before is None else query.where(is_before(schema.channels, before))
        rows = connection.execute(part).all()
        keys += [
            (row.block, row.event)
            for row in rows
            if (row.expiry_block or 0) > chain_heights.get(row.chain, 2**63)
        ]
        if len(keys) >= limit or len(rows) < PART_CHANNELS:
            break
        before = (rows[-1].block, rows[-1].event)
    return keys[:limit]


def _last_first(query: Any) -> Any:
    return query.order_by(schema.channels.c.block.desc(), schema.channels.c.event.desc())


def _open_keys(connection: Connection, chain_heights: dict[str, int]) -> list[tuple[int, int]]:
    table = schema.channels.c
    keys: list[tuple[int, int]] = []
    for chain, height in chain_heights.items():
        is_listed = and_(_is_open(chain, height), table.address.is_not(None))
        query = select(table.block, table.event).where(is_listed).limit(MIN_SCANNED_CHANNELS)
        keys += [(row.block, row.event) for row in connection.execute(query)]
    return keys


def open_count(connection: Connection, limit: int = MAX_COUNTED_CHANNELS) -> int:
    """Return how many channels are open, at most `limit`."""
    count = 0
    for chain, height in heights(connection).items():
        open_rows = (
            select(schema.channels.c.expiry_block).where(_is_open(chain, height)).limit(limit).subquery()
        )
        count += connection.execute(select(func.count()).select_from(open_rows)).scalar_one()
    return min(count, limit)


def _is_open(chain: str, height: int) -> Any:
    table = schema.channels.c
    return and_(table.chain == chain, table.expiry_block > height)


def channel_of(connection: Connection, chain: str, number: int) -> OpenChannel | None:
    """Return the open channel with a number on a chain; None if no such channel is open."""
    height = heights(connection).get(chain)
    if height is None or not 0 <= number < 2**63:
        return None
    table = schema.channels.c
    # A sum is no column, so the index of ends, by which all open channels would be read, does not apply.
    is_open = table.expiry_block + 0 > height
    query = _channels().where(table.chain == chain, table.channel == number, is_open)
    row = connection.execute(_last_first(query).limit(1)).mappings().first()
    return None if row is None else _described(connection, [dict(row) | {"height": height}])[0]


def _channels() -> Any:
    table, blocks = schema.channels, schema.blocks.c
    names = [field.name for field in fields(OpenChannel) if field.name in table.c]
    query = select(blocks.time, *(table.c[name] for name in names))
    query = query.join(schema.blocks, blocks.number == table.c.block)
    return query.where(table.c.address.is_not(None))


def is_before(table: Table, key: tuple[int, int]) -> Any:
    """Return the condition that a row's block and event come before those of `key`."""
    block, event = table.c.block, table.c.event
    return and_(block <= key[0], or_(block < key[0], event < key[1]))


def _described(connection: Connection, rows: list[Record]) -> list[OpenChannel]:
    rows = [row for row in rows if row["chain"] in CHAINS]
    keys = [ChannelId(row["chain"], row["channel"], row["block"]) for row in rows]
    partners, paid = partners_of(connection, keys), _deposits(connection, keys)
    names = [field.name for field in fields(OpenChannel)]
    channels = []
    for key, row in zip(keys, rows, strict=True):
        left_ms = blocks_ms(row["chain"], row["expiry_block"] - row["height"])
        values = row | {"partner": partners.get(key), "left_ms": left_ms, "deposits": paid.get(key, 0)}
        channels.append(OpenChannel(**{name: values[name] for name in names}))
    return channels


def _deposits(connection: Connection, channels: list[ChannelId]) -> dict[ChannelId, int]:
    table = schema.deposits.c
    query = select(table.chain, table.channel, table.opened, func.count()).where(
        table.chain.in_(list(CHAINS)),
        table.channel.in_(sorted({channel.number for channel in channels})),
        table.opened.is_not(None),
        table.state.in_(("finalised", "boosted")),
    )
    rows = connection.execute(query.group_by(table.chain, table.channel, table.opened)) if channels else ()
    return {ChannelId(chain, channel, opened): count for chain, channel, opened, count in rows}


def partners_of(connection: Connection, channels: Iterable[ChannelId]) -> dict[ChannelId, str]:
    """Return the partners' names by channel, for the channels that were opened for a partner."""
    table = partner_channels.c
    numbers = sorted({channel.number for channel in channels})
    query = select(table.chain, table.channel, table.opened, table.partner).where(
        table.chain.in_(list(CHAINS)), table.channel.in_(numbers), table.state == "opened"
    )
    rows = connection.execute(query.where(table.opened.is_not(None))) if numbers else ()
    return {ChannelId(row.chain, row.channel, row.opened): row.partner for row in rows}
