"""Migration 0014: the partner's own reference of each channel, which is kept with the channel."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014_references"
down_revision = "0013_strangers_swaps"


def upgrade() -> None:
    """Add the reference to partners' channels, from the requests that are still there."""
    op.add_column("partner_channels", sa.Column("reference", sa.String(length=200), nullable=True))
    op.create_index("partner_channels_by_reference", "partner_channels", ["reference"])
    channels = sa.table("partner_channels", sa.column("id"), sa.column("reference"))
    requests = sa.table("partner_requests", sa.column("key"), sa.column("reservation"))
    connection = op.get_bind()
    for key, reservation in connection.execute(sa.select(requests.c.key, requests.c.reservation)).all():
        changed = sa.update(channels).where(channels.c.id == reservation)
        connection.execute(changed.values(reference=key))
