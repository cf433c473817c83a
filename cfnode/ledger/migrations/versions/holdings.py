"""Migration 0003: changes of FLIP on the State Chain other than credits and debits, in their own table."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from cfnode.ledger.amounts import Amount

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table of changes of FLIP holdings."""
    op.create_table(
        "holdings",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("account", sa.String(length=60), nullable=False),
        sa.Column("asset", sa.String(length=12), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("credit", sa.Boolean(), nullable=False),
        sa.Column("amount", Amount(), nullable=False),
        sa.PrimaryKeyConstraint("block", "event", "place"),
    )
    op.create_index("holdings_by_account_asset", "holdings", ["account", "asset"], unique=False)
