"""Migration 0013: removal of swaps and deposits of other accounts' channels from books of chosen accounts.

The chain gives the number of a channel out again, also to an account that the books do not keep. An earlier
version did not store that opening, and took the new channel's deposits for those of the account's own
channel. Their events tell them apart: a swap names its broker, liquidity its provider, and a deposit the
block of the foreign chain, which is after the expiry of the account's channel.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

from cfnode.core import ss58
from cfnode.ledger.migrations.versions.others_facts import forget_payout

revision = "0013_strangers_swaps"
down_revision = "0012_search"

_KEY = ("block", "event")
_OF_REQUESTS = ("requests", "shares", "swaps", "completions", "fees", "commissions", "payouts")
_AT_DEPOSITS = ("deposits", "boosts", "fees", "payouts")


def upgrade() -> None:
    """Remove swaps and deposits of channels of accounts that the books do not follow."""
    connection, ledger = op.get_bind(), _table("ledger", "name", "value")
    tracked = connection.execute(sa.select(ledger.c.value).where(ledger.c.name == "accounts")).scalar()
    if tracked is None or tracked == "all":
        return
    affiliates = _table("affiliates", "account")
    accounts = {*tracked.split(","), *connection.execute(sa.select(affiliates.c.account)).scalars()}
    ours = [ss58.decode(account)[1].hex() for account in accounts]
    requests = sorted(_strangers_requests(connection, ours))
    deposits = list(_strangers_deposits(connection, ours, set(requests)))
    if not requests and not deposits:
        return
    for payout in _rows_of(connection, _payouts, requests):
        forget_payout(connection, payout)
    for name in _OF_REQUESTS:
        for row in _rows_of(connection, _table(name, *_KEY, "request"), requests):
            _delete((name, "events"), row)
    for row in deposits:
        _delete((*_AT_DEPOSITS, "events"), row)
    for name in ("deliveries", "changes"):
        table = _table(name, "request")
        op.execute(sa.delete(table).where(table.c.request.in_(requests)))
    op.execute("DELETE FROM day_totals")
    op.execute("DELETE FROM ledger WHERE name = 'totals'")


def _table(name: str, *columns: str) -> Any:
    return sa.table(name, *(sa.column(column) for column in columns))


_events = _table("events", *_KEY, "fields")
_payouts = _table("payouts", *_KEY, "kind", "chain", "egress", "request")
_facts = ("chain", "channel", "opened", "request")


def _rows_of(connection: Any, table: Any, requests: list[int]) -> list[Any]:
    """Return the rows of swap requests."""
    query = sa.select(table).where(table.c.request.in_(requests))
    return list(connection.execute(query.order_by(table.c.block, table.c.event)).all())


def _read(connection: Any, table: Any) -> Iterator[tuple[Any, str, Any]]:
    """Yield the facts of channels in a table, with their events' fields as text and decoded."""
    is_event = sa.and_(_events.c.block == table.c.block, _events.c.event == table.c.event)
    query = sa.select(table, _events.c.fields).join(_events, is_event).where(table.c.channel.is_not(None))
    for row in connection.execute(query.order_by(table.c.block, table.c.event)).all():
        yield row, row.fields, json.loads(row.fields)


def _strangers_requests(connection: Any, ours: list[str]) -> set[int]:
    """Return the swap requests of channels whose broker is another account."""
    strangers = set()
    for row, text, fields in _read(connection, _table("requests", *_KEY, "channel", "request")):
        origin = fields["origin"][1] if isinstance(fields["origin"], list) else {}
        broker = origin.get("broker_id") if isinstance(origin, dict) else None
        if broker is not None and not any(account in text for account in ours):
            strangers.add(row.request)
    return strangers


def _strangers_deposits(connection: Any, ours: list[str], requests: set[int]) -> Iterator[Any]:
    """Yield the deposits to channels of other accounts."""
    channels = _table("channels", "block", "chain", "channel", "kind", "expiry_block")
    opened = {
        (row.chain, row.channel, row.block): row for row in connection.execute(sa.select(channels)).all()
    }
    for row, text, fields in _read(connection, _table("deposits", *_KEY, *_facts, "action")):
        channel = opened.get((row.chain, row.channel, row.opened))
        if channel is None or channel.kind == "other" or any(account in text for account in ours):
            continue
        height = fields.get("block_height")
        is_late = isinstance(height, int) and height > (channel.expiry_block or height)
        is_providers = row.action == "LiquidityProvision" and channel.kind != "account"
        if row.request in requests or is_providers or is_late:
            yield row


def _delete(tables: tuple[str, ...], row: Any) -> None:
    for name in tables:
        table = _table(name, *_KEY)
        op.execute(sa.delete(table).where(table.c.block == row.block, table.c.event == row.event))
