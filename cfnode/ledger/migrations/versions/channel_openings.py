"""Migration 0009: the block that opened the channel of each fact.

The chain gives the number of a channel out again: a fact belongs to the newest opening of its number at or
before it. Each fact gets the block of that opening, and the account of that channel: an earlier version may
have taken an older one. Totals of days, which follow from them, are counted anew.
"""

from __future__ import annotations

import json
import re
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0009_channel_openings"
down_revision = "0008_day_totals"

FACTS = ("deposits", "boosts", "requests", "fees")
_ID = re.compile(r"([0-9]{1,10})-[A-Za-z]+-[0-9]{1,18}")
MARGIN_MS = 60_000
"""Milliseconds that the clock of a service may be ahead of the chain's."""


def upgrade() -> None:
    """Add the opening block to facts of channels, and fill it from the channels of the books."""
    for name in (*FACTS, "partner_channels"):
        op.add_column(name, sa.Column("opened", sa.BigInteger(), nullable=True))
    op.add_column("expectations", sa.Column("time", sa.BigInteger(), nullable=True))
    op.add_column("expectations", sa.Column("opening", sa.Text(), nullable=True))
    with op.batch_alter_table("changes") as batch:
        batch.alter_column("state", existing_type=sa.String(12), type_=sa.String(20), existing_nullable=False)
    for name in FACTS:
        _fill(_table(name))
    for name in ("deposits", "fees"):
        _give_to_owner(_table(name))
    _fill_partners()
    op.execute("DELETE FROM day_totals")
    op.execute("DELETE FROM ledger WHERE name = 'totals'")


def _table(name: str) -> Any:
    columns = ("block", "event", "kind", "chain", "channel", "opened", "account", "time", "number")
    return sa.table(name, *(sa.column(column) for column in columns))


def _fill(facts: Any) -> None:
    """Give facts their openings: the newest of their channel's number at or before each."""
    opened = _table("channels")
    is_before = sa.or_(
        opened.c.block < facts.c.block,
        sa.and_(opened.c.block == facts.c.block, opened.c.event <= facts.c.event),
    )
    newest = (
        sa.select(opened.c.block)
        .where(opened.c.chain == facts.c.chain, opened.c.channel == facts.c.channel, is_before)
        .order_by(opened.c.block.desc(), opened.c.event.desc())
        .limit(1)
        .scalar_subquery()
    )
    op.execute(sa.update(facts).where(facts.c.channel.is_not(None)).values(opened=newest))


def _give_to_owner(facts: Any) -> None:
    """Give deposits, and the fees charged for these, the account of their channel."""
    opened = _table("channels")
    conditions = (
        opened.c.chain == facts.c.chain,
        opened.c.channel == facts.c.channel,
        opened.c.block == facts.c.opened,
    )
    owner = sa.select(opened.c.account).where(*conditions).limit(1).scalar_subquery()
    op.execute(sa.update(facts).where(facts.c.opened.is_not(None)).values(account=owner))


def _fill_partners() -> None:
    """Give partners' channels their openings: by the partner's answer, else the first since the request."""
    connection = op.get_bind()
    table = sa.table(
        "partner_channels",
        *(sa.column(column) for column in ("id", "chain", "channel", "opened", "at", "answer", "state")),
    )
    rows = connection.execute(sa.select(table).where(table.c.state == "opened")).all()
    for row in rows:
        block = _answered(row.answer) if row.answer else _first_since(row.chain, row.channel, row.at)
        if block is not None:
            op.execute(sa.update(table).where(table.c.id == row.id).values(opened=block))


def _answered(answer: str) -> int | None:
    document = json.loads(answer)
    match = _ID.fullmatch(str(document.get("id"))) if isinstance(document, dict) else None
    return None if match is None else int(match[1])


def _first_since(chain: str, channel: int, at: int) -> int | None:
    opened, blocks = _table("channels"), _table("blocks")
    query = sa.select(opened.c.block).join(blocks, blocks.c.number == opened.c.block)
    query = query.where(opened.c.chain == chain, opened.c.channel == channel).order_by(opened.c.block)
    since = query.where(blocks.c.time >= at - MARGIN_MS).limit(1)
    block: int | None = op.get_bind().execute(since).scalar()
    return block
