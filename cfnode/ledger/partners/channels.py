"""Channels of a partner: those that were opened for it, each by its identity. Functions block."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, bindparam, select

from cfnode.ledger.database import Database
from cfnode.ledger.service_tables import partner_channels
from cfnode.swaps.identity import ChannelId

__all__ = ["has_channel", "is_at", "is_channel", "reference_of"]


def has_channel(database: Database, partner: str, channel: ChannelId) -> bool:
    """Return whether a channel was opened for a partner."""
    key = {"chain": channel.chain, "channel": channel.number, "opened": channel.block}
    with database.reading() as connection:
        return connection.execute(_OF_PARTNER, {"partner": partner, **key}).first() is not None


def reference_of(connection: Connection, channel: ChannelId) -> str | None:
    """Return the partner's own reference of a channel: the Idempotency-Key of its request."""
    query = select(partner_channels.c.reference).where(is_channel(channel)).limit(1)
    reference: str | None = connection.execute(query).scalar()
    return reference


def is_channel(channel: ChannelId) -> ColumnElement[bool]:
    """Return the condition that a row of `partner_channels` is an opened channel's."""
    table = partner_channels.c
    conditions = (
        table.chain == channel.chain,
        table.channel == channel.number,
        table.opened == channel.block,
    )
    return and_(*conditions, table.state == "opened")


_OF_PARTNER: Final = select(partner_channels.c.id).where(
    *(partner_channels.c[name] == bindparam(name) for name in ("partner", "chain", "channel", "opened")),
    partner_channels.c.state == "opened",
)


def is_at(columns: Any) -> ColumnElement[bool]:
    """Return the condition that a row of `partner_channels` is the channel of a fact.

    `columns` are those of the fact's table.
    """
    table = partner_channels.c
    conditions = (
        table.chain == columns.chain,
        table.channel == columns.channel,
        table.opened == columns.opened,
    )
    return and_(*conditions, table.state == "opened")
