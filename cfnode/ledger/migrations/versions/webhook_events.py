"""Migration 0015: webhooks of channels and deposits, attempts of deliveries, and the rotation of secrets.

Changes and deliveries get their subject, in whose order they are delivered: the channel of the swap, or the
swap itself.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015_webhook_events"
down_revision = "0014_references"

STATE = "swap.state"


def upgrade() -> None:
    """Add the columns and the table, and fill the subjects of what is there."""
    _add_to_webhooks()
    _change_changes()
    _change_deliveries()
    op.create_table(
        "attempts",
        sa.Column("webhook", sa.String(length=20), nullable=False),
        sa.Column("change", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("took_ms", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.String(length=200), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("webhook", "change", "number"),
    )
    op.create_index("attempts_by_webhook_at", "attempts", ["webhook", "at"])


def _add_to_webhooks() -> None:
    op.add_column("webhooks", sa.Column("old_secret", sa.String(length=60), nullable=True))
    for name in ("old_until", "failing_since", "disabled_at"):
        op.add_column("webhooks", sa.Column(name, sa.BigInteger(), nullable=True))


def _change_changes() -> None:
    op.add_column("changes", sa.Column("event", sa.BigInteger(), nullable=True))
    op.add_column("changes", sa.Column("type", sa.String(length=20), nullable=True))
    op.add_column("changes", sa.Column("subject", sa.String(length=80), nullable=True))
    op.add_column("changes", sa.Column("account", sa.String(length=60), nullable=True))
    changes, requests = (
        _table("changes", "type", "subject", "request"),
        _table("requests", "request", "chain", "channel", "opened"),
    )
    text = sa.String(80)
    channel = (
        sa.select(
            sa.cast(requests.c.opened, text)
            .concat("-")
            .concat(requests.c.chain)
            .concat("-")
            .concat(sa.cast(requests.c.channel, text))
        )
        .where(requests.c.request == changes.c.request, requests.c.opened.is_not(None))
        .where(requests.c.channel.is_not(None))
        .limit(1)
        .scalar_subquery()
    )
    swap = sa.literal("swap-").concat(sa.cast(changes.c.request, text))
    op.execute(sa.update(changes).values(type=STATE, subject=sa.func.coalesce(channel, swap)))
    with op.batch_alter_table("changes") as batch:
        batch.alter_column("type", existing_type=sa.String(20), nullable=False)
        batch.alter_column("subject", existing_type=sa.String(80), nullable=False)
        batch.alter_column("request", existing_type=sa.BigInteger(), nullable=True)
    op.create_index("changes_by_subject", "changes", ["subject", "id"])


def _change_deliveries() -> None:
    op.add_column("deliveries", sa.Column("subject", sa.String(length=80), nullable=True))
    deliveries, changes = _table("deliveries", "change", "subject"), _table("changes", "id", "subject")
    subject = sa.select(changes.c.subject).where(changes.c.id == deliveries.c.change).scalar_subquery()
    op.execute(sa.update(deliveries).values(subject=sa.func.coalesce(subject, "")))
    op.drop_index("deliveries_by_webhook_request", "deliveries")
    op.drop_index("deliveries_by_state_next_at", "deliveries")
    with op.batch_alter_table("deliveries") as batch:
        batch.alter_column("subject", existing_type=sa.String(80), nullable=False)
        batch.drop_column("request")
    op.create_index("deliveries_by_webhook_subject", "deliveries", ["webhook", "subject", "state"])
    op.create_index("deliveries_by_webhook_next_at", "deliveries", ["webhook", "state", "next_at"])
    op.create_index("deliveries_by_webhook_state", "deliveries", ["webhook", "state", "change"])


def _table(name: str, *columns: str) -> sa.TableClause:
    return sa.table(name, *(sa.column(column) for column in columns))
