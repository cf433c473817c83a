"""Which channels has a partner? Those that were opened for it. Functions block."""

from __future__ import annotations

from sqlalchemy import select

from cfnode.ledger.database import Database
from cfnode.ledger.service_tables import partner_channels

__all__ = ["answer_of"]


def answer_of(database: Database, partner: str, chain: str, channel: int) -> str | None:
    """The answer that the partner got for a channel; None if it is not the partner's."""
    table = partner_channels.c
    query = select(table.answer).where(table.partner == partner, table.state == "opened")
    query = query.where(table.chain == chain, table.channel == channel)
    with database.reading() as connection:
        return connection.execute(query.order_by(table.at.desc()).limit(1)).scalar()
