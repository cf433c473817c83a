"""Migration 0008: the totals of each day, and an index of channels by chain and expiry block."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008_day_totals"
down_revision = "0007_partner_requests"


def upgrade() -> None:
    """Create the table of daily totals, and the index by which open channels are found."""
    op.create_table(
        "day_totals",
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("measure", sa.String(length=20), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("asset", sa.String(length=12), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("amount", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("day", "measure", "name", "asset"),
    )
    op.create_index("channels_by_chain_expiry_block", "channels", ["chain", "expiry_block"], unique=False)
