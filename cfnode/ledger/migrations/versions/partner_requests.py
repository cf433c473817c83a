"""Migration 0007: requests of partners, the answers for their channels, and commissions of affiliates."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007_partner_requests"
down_revision = "0006_partners"


def upgrade() -> None:
    """Create the table of idempotent requests, and add the partners' commission of affiliates."""
    op.add_column("partners", sa.Column("affiliate_bps", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("partner_channels", sa.Column("answer", sa.Text(), nullable=True))
    op.create_table(
        "partner_requests",
        sa.Column("partner", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("owner", sa.String(length=32), nullable=False),
        sa.Column("beats", sa.BigInteger(), nullable=False),
        sa.Column("reservation", sa.String(length=32), nullable=False),
        sa.Column("block", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("partner", "key"),
    )
    op.create_index("partner_requests_by_owner", "partner_requests", ["owner"], unique=False)
    op.create_index("partner_requests_by_at", "partner_requests", ["at"], unique=False)
