"""Search of the books for a partner's channel whose answer was lost. Functions block.

A channel of the books that has the terms of the request, and that no program here has recorded, is the lost
one: if there are several, they are equal but for their addresses. If `REQUEST_LIFETIME_BLOCKS` blocks are in
the books without it, no channel was opened, and none will be: its transaction was valid for fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlalchemy import Connection, and_, exists, func, select

from cfnode.ledger import schema
from cfnode.ledger.service_tables import partner_channels
from cfnode.ledger.swap_events import SwapEvents
from cfnode.swaps.events import Name
from cfnode.swaps.record import Entry

__all__ = ["REQUEST_LIFETIME_BLOCKS", "is_past", "lost_channel"]

REQUEST_LIFETIME_BLOCKS: Final = 600
"""Blocks (an hour of them) after which a request that was sent cannot be executed any more.

A transaction of a node is valid for 128 blocks, and may have waited in the node before it was signed.
"""
FORK_BLOCKS: Final = 100
"""Blocks before the head that a fork may replace."""
MAX_COMPARED_CHANNELS: Final = 1_000
"""Most channels of the books that are compared with a request."""

Terms = Mapping[str, Any]
Matches = Callable[[Terms], bool]


def lost_channel(
    connection: Connection, head: int, source: str, target: str, matches: Matches
) -> Entry | None:
    """Return the opening of the first unrecorded channel that `matches`, sent when the best block was `head`.

    Only channels from `source` to `target` are compared; None if none matches.
    """
    after = head - FORK_BLOCKS
    opened, expected = schema.channels.c, schema.expectations.c
    conditions = (
        expected.chain == opened.chain,
        expected.channel == opened.channel,
        expected.block == opened.block,
    )
    query = select(opened.chain, opened.channel, opened.block, opened.event)
    query = query.where(opened.block > after, opened.kind == "swap")
    query = query.where(opened.source == source, opened.target == target, ~exists().where(and_(*conditions)))
    events = SwapEvents(connection)
    for chain, channel, *place in connection.execute(
        query.order_by(opened.block, opened.event).limit(MAX_COMPARED_CHANNELS)
    ):
        for event in events.find("channel", chain, channel):
            if event.place == tuple(place) and matches(event.fields):
                return event
    return None


def is_past(connection: Connection, head: int) -> bool:
    """Return whether the books would have a channel that was requested at the broker's `head`.

    That is so if they have all `REQUEST_LIFETIME_BLOCKS` blocks since, no unread event among them that opens
    a channel, and the broker's channels.
    """
    after, last = head - FORK_BLOCKS, head + REQUEST_LIFETIME_BLOCKS
    newest = connection.execute(select(func.max(schema.blocks.c.number))).scalar()
    if newest is None or newest < last:
        return False
    gaps, unread = schema.gaps.c, schema.unread.c
    missing = select(gaps.first).where(gaps.first <= last, gaps.last > after)
    strange = select(unread.block).where(
        unread.name == Name.SWAP_CHANNEL, unread.block > after, unread.block <= last
    )
    if connection.execute(missing).first() or connection.execute(strange).first():
        return False
    return _are_the_brokers(connection)


def _are_the_brokers(connection: Connection) -> bool:
    """Return whether the books have the broker's channels.

    Books of all accounts have them; those of chosen accounts if one recorded channel is in them.
    """
    table = schema.ledger.c
    if connection.execute(select(table.value).where(table.name == "accounts")).scalar() == "all":
        return True
    opened, recorded = schema.channels.c, partner_channels.c
    conditions = (
        recorded.chain == opened.chain,
        recorded.channel == opened.channel,
        recorded.opened == opened.block,
    )
    query = select(opened.block).join(partner_channels, and_(*conditions))
    return connection.execute(query.where(recorded.state == "opened").limit(1)).first() is not None
