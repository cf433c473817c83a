"""Details of one deposit channel, open or past: its terms, its deposits, and the time that is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, select

from cfnode.ledger import schema
from cfnode.ledger.heights import heights
from cfnode.ledger.partners.channels import reference_of
from cfnode.ledger.search import ChannelLine, channel_lines
from cfnode.ledger.swap_events import SwapEvents
from cfnode.ledger.swap_list import with_times
from cfnode.ledger.webhooks.history import DeliveryLine, lines_of_channel
from cfnode.swaps.identity import ChannelId
from cfnode.swaps.timing import blocks_ms

__all__ = ["ChannelDeposit", "ChannelDetail", "channel_detail"]

MAX_DEPOSITS: Final = 100


@dataclass(frozen=True, slots=True)
class ChannelDeposit:
    """Deposit to a channel; `request` is its swap, and `reason` why there is none."""

    time: int
    block: int
    state: str
    chain: str
    asset: str
    amount: int
    request: int | None
    action: str
    reason: str | None
    transaction: str | None


@dataclass(frozen=True, slots=True)
class ChannelDetail:
    """Everything that the books have of a channel but its swaps, the newest deposit first.

    `left_ms` is the time to its end by the usual block times, None for a channel that takes no deposits any
    more. `expected` is the amount that the swap service's user announced, `reference` the partner's
    own one.
    """

    line: ChannelLine
    left_ms: int | None
    refund_address: str | None
    commission_bps: int | None
    boost_bps: int | None
    opening_fee: int | None
    expiry_block: int | None
    chunks: int | None
    chunk_interval: int | None
    retry_blocks: int | None
    has_message: bool
    expected: int | None
    reference: str | None
    deposits: tuple[ChannelDeposit, ...]
    deliveries: tuple[DeliveryLine, ...]


def channel_detail(connection: Connection, channel: ChannelId) -> ChannelDetail | None:
    """Return the details of a channel; None if the books lack it."""
    lines = channel_lines(connection, [channel]) if channel.number < 2**63 else []
    if not lines:
        return None
    table = schema.channels.c
    conditions = (table.chain == channel.chain, table.channel == channel.number, table.block == channel.block)
    row = dict(connection.execute(select(schema.channels).where(*conditions).limit(1)).mappings().one())
    terms = ("refund_address", "commission_bps", "boost_bps", "opening_fee", "expiry_block", "chunks")
    more_terms = ("chunk_interval", "retry_blocks", "has_message")
    return ChannelDetail(
        lines[0],
        _left_ms(connection, row),
        **{name: row[name] for name in (*terms, *more_terms)},
        expected=SwapEvents(connection).expected(channel),
        reference=reference_of(connection, channel),
        deposits=_deposits(connection, channel),
        deliveries=tuple(lines_of_channel(connection, str(channel))),
    )


def _left_ms(connection: Connection, row: dict[str, Any]) -> int | None:
    height = heights(connection).get(row["chain"])
    if height is None or row["expiry_block"] is None or row["expiry_block"] <= height:
        return None
    return blocks_ms(row["chain"], row["expiry_block"] - height)


def _deposits(connection: Connection, channel: ChannelId) -> tuple[ChannelDeposit, ...]:
    table = schema.deposits.c
    query = select(schema.deposits).where(table.chain == channel.chain, table.channel == channel.number)
    query = query.where(table.opened == channel.block).order_by(table.block.desc(), table.event.desc())
    rows = [dict(row) for row in connection.execute(query.limit(MAX_DEPOSITS)).mappings()]
    names = ChannelDeposit.__dataclass_fields__
    return tuple(
        ChannelDeposit(**{name: row[name] for name in names}) for row in with_times(connection, rows)
    )
