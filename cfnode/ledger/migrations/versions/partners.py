"""Migration 0006: tables of partners with their keys, and of their channels; no facts of the chain."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from cfnode.ledger.amounts import Amount

revision = "0006_partners"
down_revision = "0005_webhooks"


def upgrade() -> None:
    """Create the tables of partners and their channels."""
    op.create_table(
        "partners",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("key_id", sa.String(length=12), nullable=False),
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("commission_bps", sa.BigInteger(), nullable=False),
        sa.Column("affiliate", sa.String(length=60), nullable=True),
        sa.Column("assets", sa.Text(), nullable=True),
        sa.Column("rate", sa.BigInteger(), nullable=False),
        sa.Column("full_at", sa.BigInteger(), nullable=False),
        sa.Column("budget", Amount(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index("partners_by_key_id", "partners", ["key_id"], unique=True)
    op.create_table(
        "partner_channels",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("partner", sa.String(length=64), nullable=False),
        sa.Column("month", sa.String(length=7), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("cost", Amount(), nullable=False),
        sa.Column("chain", sa.String(length=12), nullable=True),
        sa.Column("channel", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "partner_channels_by_partner_month", "partner_channels", ["partner", "month"], unique=False
    )
    op.create_index(
        "partner_channels_by_chain_channel", "partner_channels", ["chain", "channel"], unique=False
    )
