"""Migration 0004: what the status of a swap needs besides the first tables.

These are the channel of a boost, the text of a module error, an index of failed transfers by receiver, and
the amounts that were expected on channels.
"""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

from cfnode.ledger.amounts import Amount

revision = "0004_swap_statuses"
down_revision = "0003"


def upgrade() -> None:
    """Add what swap statuses need: channels of boosts, explanations of payouts, announced deposits."""
    op.add_column("boosts", sa.Column("channel", sa.BigInteger(), nullable=True))
    op.create_index("boosts_by_chain_channel", "boosts", ["chain", "channel"], unique=False)
    op.add_column("payouts", sa.Column("explanation", sa.Text(), nullable=True))
    op.create_index("failures_by_destination", "failures", ["destination"], unique=False)
    op.create_table(
        "expectations",
        sa.Column("chain", sa.String(length=12), nullable=False),
        sa.Column("channel", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("amount", Amount(), nullable=False),
        sa.PrimaryKeyConstraint("chain", "channel", "block"),
    )
    _fill_channels()


def _fill_channels() -> None:
    """Give boosts that are in the books already their channels, from their events."""
    connection = op.get_bind()
    boosts = sa.table("boosts", sa.column("block"), sa.column("event"), sa.column("channel"))
    events = sa.table("events", sa.column("block"), sa.column("event"), sa.column("fields"))
    join = sa.and_(boosts.c.block == events.c.block, boosts.c.event == events.c.event)
    query = sa.select(boosts.c.block, boosts.c.event, events.c.fields).select_from(boosts.join(events, join))
    for block, event, fields in connection.execute(query.distinct()).all():
        channel = json.loads(fields).get("channel_id")
        if channel is not None:
            conditions = (boosts.c.block == block, boosts.c.event == event)
            connection.execute(sa.update(boosts).where(*conditions).values(channel=channel))
