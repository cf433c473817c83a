"""Migration 0001: the first tables of the books."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from cfnode.ledger.amounts import Amount

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables of the first version."""
    op.create_table(
        "affiliates",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("broker", sa.String(length=60), nullable=False),
        sa.Column("short_id", sa.BigInteger(), nullable=False),
        sa.Column("account", sa.String(length=60), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("registered", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("block", "event"),
    )
    op.create_index("affiliates_by_broker", "affiliates", ["broker"], unique=False)
    op.create_table(
        "blocks",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("hash", sa.String(length=66), nullable=False),
        sa.Column("parent", sa.String(length=66), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("spec_version", sa.BigInteger(), nullable=False),
        sa.Column("events", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "boosts",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("chain", sa.String(length=12), nullable=False),
        sa.Column("prewitnessed", sa.BigInteger(), nullable=False),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("asset", sa.String(length=12), nullable=True),
        sa.Column("amount", Amount(), nullable=False),
        sa.Column("fee", Amount(), nullable=False),
        sa.PrimaryKeyConstraint("block", "event", "place"),
    )
    op.create_index("boosts_by_chain_prewitnessed", "boosts", ["chain", "prewitnessed"], unique=False)
    op.create_table(
        "broadcasts",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("chain", sa.String(length=12), nullable=False),
        sa.Column("broadcast", sa.BigInteger(), nullable=False),
        sa.Column("egress", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("block", "event", "place"),
    )
    op.create_index("broadcasts_by_chain_broadcast", "broadcasts", ["chain", "broadcast"], unique=False)
    op.create_index("broadcasts_by_chain_egress", "broadcasts", ["chain", "egress"], unique=False)
    op.create_table(
        "channels",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("chain", sa.String(length=12), nullable=False),
        sa.Column("channel", sa.BigInteger(), nullable=False),
        sa.Column("account", sa.String(length=60), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("source", sa.String(length=12), nullable=True),
        sa.Column("target", sa.String(length=12), nullable=True),
        sa.Column("destination", sa.Text(), nullable=True),
        sa.Column("refund_address", sa.Text(), nullable=True),
        sa.Column("commission_bps", sa.BigInteger(), nullable=True),
        sa.Column("boost_bps", sa.BigInteger(), nullable=True),
        sa.Column("opening_fee", Amount(), nullable=True),
        sa.Column("expiry_block", sa.BigInteger(), nullable=True),
        sa.Column("chunks", sa.BigInteger(), nullable=True),
        sa.Column("chunk_interval", sa.BigInteger(), nullable=True),
        sa.Column("min_price", sa.String(length=80), nullable=True),
        sa.Column("retry_blocks", sa.BigInteger(), nullable=True),
        sa.Column("has_message", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("block", "event"),
    )
    op.create_index("channels_by_account", "channels", ["account"], unique=False)
    op.create_index("channels_by_address", "channels", ["address"], unique=False)
    op.create_index("channels_by_chain_channel", "channels", ["chain", "channel"], unique=False)
    op.create_table(
        "checks",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("account", sa.String(length=60), nullable=False),
        sa.Column("asset", sa.String(length=12), nullable=False),
        sa.Column("figure", sa.String(length=20), nullable=False),
        sa.Column("books", Amount(), nullable=False),
        sa.Column("chain", Amount(), nullable=False),
        sa.Column("negative", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("block", "place"),
    )
    op.create_table(
        "commissions",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("account", sa.String(length=60), nullable=False),
        sa.Column("broker", sa.String(length=60), nullable=True),
        sa.Column("request", sa.BigInteger(), nullable=False),
        sa.Column("swap", sa.BigInteger(), nullable=False),
        sa.Column("asset", sa.String(length=12), nullable=False),
        sa.Column("amount", Amount(), nullable=False),
        sa.PrimaryKeyConstraint("block", "event", "place"),
    )
    op.create_index("commissions_by_account", "commissions", ["account"], unique=False)
    op.create_index("commissions_by_request", "commissions", ["request"], unique=False)
    op.create_table(
        "completions",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("request", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=False),
        sa.PrimaryKeyConstraint("block", "event"),
    )
    op.create_index("completions_by_request", "completions", ["request"], unique=False)
    op.create_table(
        "deposits",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("chain", sa.String(length=12), nullable=False),
        sa.Column("channel", sa.BigInteger(), nullable=True),
        sa.Column("account", sa.String(length=60), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("asset", sa.String(length=12), nullable=False),
        sa.Column("amount", Amount(), nullable=False),
        sa.Column("ingress_fee", Amount(), nullable=False),
        sa.Column("boost_fee", Amount(), nullable=False),
        sa.Column("request", sa.BigInteger(), nullable=True),
        sa.Column("prewitnessed", sa.BigInteger(), nullable=True),
        sa.Column("action", sa.String(length=24), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("transaction", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("block", "event"),
    )
    op.create_index("deposits_by_chain_channel", "deposits", ["chain", "channel"], unique=False)
    op.create_index("deposits_by_chain_prewitnessed", "deposits", ["chain", "prewitnessed"], unique=False)
    op.create_index("deposits_by_request", "deposits", ["request"], unique=False)
    op.create_index("deposits_by_transaction", "deposits", ["transaction"], unique=False)
    op.create_table(
        "events",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("pallet", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("block", "event"),
    )
    op.create_index("events_by_pallet_name", "events", ["pallet", "name"], unique=False)
    op.create_table(
        "failures",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("chain", sa.String(length=12), nullable=False),
        sa.Column("asset", sa.String(length=12), nullable=False),
        sa.Column("amount", Amount(), nullable=False),
        sa.Column("destination", sa.Text(), nullable=False),
        sa.Column("broadcast", sa.BigInteger(), nullable=False),
        sa.Column("egress", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("block", "event"),
    )
    op.create_index("failures_by_chain_broadcast", "failures", ["chain", "broadcast"], unique=False)
    op.create_index("failures_by_chain_egress", "failures", ["chain", "egress"], unique=False)
    op.create_table(
        "fees",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("account", sa.String(length=60), nullable=True),
        sa.Column("asset", sa.String(length=12), nullable=False),
        sa.Column("amount", Amount(), nullable=False),
        sa.Column("request", sa.BigInteger(), nullable=True),
        sa.Column("chain", sa.String(length=12), nullable=True),
        sa.Column("channel", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("block", "event", "place"),
    )
    op.create_index("fees_by_account", "fees", ["account"], unique=False)
    op.create_index("fees_by_kind", "fees", ["kind"], unique=False)
    op.create_index("fees_by_request", "fees", ["request"], unique=False)
    op.create_table(
        "gaps",
        sa.Column("first", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("found_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("first"),
    )
    op.create_table(
        "ledger",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
    )
    op.create_index("ledger_name", "ledger", ["name"], unique=True)
    op.create_table(
        "movements",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("account", sa.String(length=60), nullable=False),
        sa.Column("asset", sa.String(length=12), nullable=False),
        sa.Column("credit", sa.Boolean(), nullable=False),
        sa.Column("amount", Amount(), nullable=False),
        sa.Column("balance", Amount(), nullable=False),
        sa.PrimaryKeyConstraint("block", "event"),
    )
    op.create_index("movements_by_account_asset", "movements", ["account", "asset"], unique=False)
    op.create_table(
        "openings",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("account", sa.String(length=60), nullable=False),
        sa.Column("asset", sa.String(length=12), nullable=False),
        sa.Column("amount", Amount(), nullable=False),
        sa.PrimaryKeyConstraint("block", "account", "asset"),
    )
    op.create_table(
        "outcomes",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("chain", sa.String(length=12), nullable=False),
        sa.Column("broadcast", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("transaction", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("block", "event"),
    )
    op.create_index("outcomes_by_chain_broadcast", "outcomes", ["chain", "broadcast"], unique=False)
    op.create_table(
        "payouts",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("chain", sa.String(length=12), nullable=False),
        sa.Column("egress", sa.BigInteger(), nullable=True),
        sa.Column("request", sa.BigInteger(), nullable=True),
        sa.Column("account", sa.String(length=60), nullable=True),
        sa.Column("asset", sa.String(length=12), nullable=False),
        sa.Column("amount", Amount(), nullable=True),
        sa.Column("destination", sa.Text(), nullable=True),
        sa.Column("broadcast", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("block", "event"),
    )
    op.create_index("payouts_by_account", "payouts", ["account"], unique=False)
    op.create_index("payouts_by_chain_egress", "payouts", ["chain", "egress"], unique=False)
    op.create_index("payouts_by_destination", "payouts", ["destination"], unique=False)
    op.create_index("payouts_by_request", "payouts", ["request"], unique=False)
    op.create_table(
        "prices",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("source", sa.String(length=8), nullable=False),
        sa.Column("asset", sa.String(length=12), nullable=False),
        sa.Column("value", sa.String(length=80), nullable=False),
        sa.PrimaryKeyConstraint("block", "event", "place"),
    )
    op.create_table(
        "requests",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("request", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=24), nullable=False),
        sa.Column("account", sa.String(length=60), nullable=True),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("chain", sa.String(length=12), nullable=False),
        sa.Column("channel", sa.BigInteger(), nullable=True),
        sa.Column("source", sa.String(length=12), nullable=False),
        sa.Column("target", sa.String(length=12), nullable=False),
        sa.Column("amount", Amount(), nullable=False),
        sa.Column("destination", sa.Text(), nullable=True),
        sa.Column("refund_address", sa.Text(), nullable=True),
        sa.Column("chunks", sa.BigInteger(), nullable=True),
        sa.Column("chunk_interval", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("block", "event"),
    )
    op.create_index("requests_by_account", "requests", ["account"], unique=False)
    op.create_index("requests_by_chain_channel", "requests", ["chain", "channel"], unique=False)
    op.create_index("requests_by_request", "requests", ["request"], unique=False)
    op.create_table(
        "shares",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("request", sa.BigInteger(), nullable=False),
        sa.Column("account", sa.String(length=60), nullable=False),
        sa.Column("bps", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("block", "event", "place"),
    )
    op.create_index("shares_by_request", "shares", ["request"], unique=False)
    op.create_table(
        "swaps",
        sa.Column("block", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("request", sa.BigInteger(), nullable=True),
        sa.Column("swap", sa.BigInteger(), nullable=False),
        sa.Column("execute_at", sa.BigInteger(), nullable=True),
        sa.Column("source", sa.String(length=12), nullable=True),
        sa.Column("target", sa.String(length=12), nullable=True),
        sa.Column("input", Amount(), nullable=True),
        sa.Column("intermediate", Amount(), nullable=True),
        sa.Column("output", Amount(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("block", "event"),
    )
    op.create_index("swaps_by_request", "swaps", ["request"], unique=False)
    op.create_index("swaps_by_swap", "swaps", ["swap"], unique=False)
