"""Migration 0016: a second key of partners while one is replaced, and their requests by day."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016_partner_keys"
down_revision = "0015_webhook_events"


def upgrade() -> None:
    """Add the columns of the old key, and the table of requests."""
    op.add_column("partners", sa.Column("old_key_id", sa.String(length=12), nullable=True))
    op.add_column("partners", sa.Column("old_key_hash", sa.String(length=64), nullable=True))
    op.add_column("partners", sa.Column("old_until", sa.BigInteger(), nullable=True))
    op.create_index("partners_by_old_key_id", "partners", ["old_key_id"])
    op.create_table(
        "partner_days",
        sa.Column("partner", sa.String(length=64), nullable=False),
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("code", sa.String(length=40), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("partner", "day", "code"),
    )
