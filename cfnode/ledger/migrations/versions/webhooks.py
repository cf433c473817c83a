"""Migration 0005: tables of webhooks, changes of swaps' states, and deliveries; no facts of the chain."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005_webhooks"
down_revision = "0004_swap_statuses"


def upgrade() -> None:
    """Create the tables of webhooks, changes of state, and deliveries."""
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(length=20), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.String(length=60), nullable=False),
        sa.Column("account", sa.String(length=60), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "changes",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("block", sa.BigInteger(), nullable=False),
        sa.Column("request", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("changes_by_request", "changes", ["request", "id"], unique=False)
    op.create_table(
        "deliveries",
        sa.Column("webhook", sa.String(length=20), nullable=False),
        sa.Column("change", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("request", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=True),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.String(length=200), nullable=True),
        sa.PrimaryKeyConstraint("webhook", "change"),
    )
    op.create_index("deliveries_by_state_next_at", "deliveries", ["state", "next_at"], unique=False)
    op.create_index(
        "deliveries_by_webhook_request", "deliveries", ["webhook", "request", "state"], unique=False
    )
