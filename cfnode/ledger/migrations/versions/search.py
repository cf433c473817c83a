"""Migration 0012: indexes by which a swap is found from an address, a transaction, or a partner's key."""

from __future__ import annotations

from alembic import op

revision = "0012_search"
down_revision = "0011_report_indexes"


def upgrade() -> None:
    """Create the indexes of the search for addresses, transactions and idempotency keys."""
    op.create_index("channels_by_destination", "channels", ["destination", "block", "event"])
    op.create_index("requests_by_destination", "requests", ["destination", "block", "event"])
    op.create_index("requests_by_refund_address", "requests", ["refund_address", "block", "event"])
    op.create_index("outcomes_by_transaction", "outcomes", ["transaction"])
    op.create_index("partner_requests_by_key", "partner_requests", ["key"])
