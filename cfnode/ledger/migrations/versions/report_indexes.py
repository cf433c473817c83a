"""Migration 0011: indexes by account, and by channel, that continue with block and event.

With them the rows of an account in a period, and the newest opening of a channel, are read in their order
without a sort. Each replaces the index of its first columns alone.
"""

from __future__ import annotations

from alembic import op

revision = "0011_report_indexes"
down_revision = "0010_others_facts"

INDEXES = (
    ("channels", ("account",), ("block", "event")),
    ("channels", ("chain", "channel"), ("block", "event")),
    ("requests", ("account",), ("block", "event")),
    ("fees", ("account",), ("block", "event", "place")),
    ("commissions", ("account",), ("block", "event", "place")),
    ("payouts", ("account",), ("block", "event")),
)
"""Table, columns of the replaced index, and the key that follows them in the new one."""


def upgrade() -> None:
    """Replace the indexes of reports by those that end with the key (block, event)."""
    for table, columns, key in INDEXES:
        op.drop_index(f"{table}_by_{'_'.join(columns)}", table)
        op.create_index(f"{table}_by_{'_'.join(columns + key)}", table, [*columns, *key], unique=False)
