"""Openings of the channels that facts name, for facts that were written before their channel."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, select, tuple_, update

from cfnode.ledger import schema

__all__ = ["note_openings"]

FACTS: Final = (schema.deposits, schema.boosts, schema.requests, schema.fees)


def note_openings(connection: Connection, since: int) -> None:
    """Set the opening of each fact from a block on: the newest of its channel's number at or before it."""
    opened = schema.channels.c
    for facts in FACTS:
        fact = facts.c
        newest = (
            select(opened.block)
            .where(opened.chain == fact.chain, opened.channel == fact.channel)
            .where(tuple_(opened.block, opened.event) <= tuple_(fact.block, fact.event))
            .order_by(opened.block.desc(), opened.event.desc())
            .limit(1)
            .scalar_subquery()
        )
        changed = update(facts).where(fact.block >= since, fact.channel.is_not(None))
        connection.execute(changed.values(opened=newest))
