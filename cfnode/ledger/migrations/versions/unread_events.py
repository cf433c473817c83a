"""Migration 0002: a table of the events whose fields the ledger cannot read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the table of unread events."""
    op.create_table(
        "unread",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("pallet", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("block", "event"),
    )
    op.create_index("unread_by_pallet_name", "unread", ["pallet", "name"], unique=False)
