"""Migration 0010: removal of other accounts' facts from books of chosen accounts.

It removes the facts that no event of the chosen accounts explains. An earlier version kept the changes of
FLIP of both sides of an event, and took the withdrawal of any liquidity provider for one of the accounts that
had a debit in the block.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0010_others_facts"
down_revision = "0009_channel_openings"


def upgrade() -> None:
    """Remove holdings and payouts of accounts that the books do not follow."""
    connection, ledger = op.get_bind(), _table("ledger", "name", "value")
    tracked = connection.execute(sa.select(ledger.c.value).where(ledger.c.name == "accounts")).scalar()
    if tracked is None or tracked == "all":
        return
    affiliates = _table("affiliates", "account")
    accounts = {*tracked.split(","), *connection.execute(sa.select(affiliates.c.account)).scalars()}
    both_sides = _holdings.c.kind.in_(("rebalanced", "reward"))
    is_others = sa.and_(both_sides, _holdings.c.account.not_in(sorted(accounts)))
    for row in connection.execute(sa.select(_holdings).where(is_others)).all():
        _leave_out(connection, _holdings, row)
    for payout in _without_debit(connection):
        forget_payout(connection, payout)


def _table(name: str, *columns: str) -> Any:
    return sa.table(name, *(sa.column(column) for column in columns))


_KEY = ("block", "event")
_events = _table("events", *_KEY)
_fees = _table("fees", *_KEY, "kind", "amount")
_payouts = _table("payouts", *_KEY, "kind", "chain", "egress", "account", "asset", "amount")
_holdings = _table("holdings", *_KEY, "place", "account", "kind")
_broadcasts = _table("broadcasts", *_KEY, "place", "chain", "broadcast", "egress")
_failures = _table("failures", *_KEY, "chain", "broadcast", "egress")
_outcomes = _table("outcomes", *_KEY, "chain", "broadcast")
_movements = _table("movements", *_KEY, "account", "asset", "credit", "amount")


def _without_debit(connection: Any) -> list[Any]:
    """Return the withdrawals of liquidity whose last debit before, in their block, is of another amount.

    The debit of the right account is of the withdrawn amount and its fee.
    """
    withdrawals = []
    for row in connection.execute(sa.select(_payouts).where(_payouts.c.kind == "liquidity")).all():
        debits = sa.select(_movements.c.asset, _movements.c.amount, _movements.c.account).where(
            _movements.c.block == row.block,
            _movements.c.event < row.event,
            _movements.c.credit.is_(sa.false()),
        )
        last_debit = connection.execute(debits.order_by(_movements.c.event.desc()).limit(1)).first()
        is_at_event = (_fees.c.block == row.block, _fees.c.event == row.event)
        fees = sum(
            int(fee) for fee in connection.execute(sa.select(_fees.c.amount).where(*is_at_event)).scalars()
        )
        if last_debit is None or (last_debit.asset, int(last_debit.amount)) != (
            row.asset,
            int(row.amount) + fees,
        ):
            withdrawals.append(row)
    return withdrawals


def forget_payout(connection: Any, payout: Any) -> None:
    """Delete a payout, and the facts that the books have only because of it."""
    for table in (_payouts, _fees, _events):
        _delete(table, payout)
    same_egress = (_broadcasts.c.chain == payout.chain, _broadcasts.c.egress == payout.egress)
    for row in connection.execute(sa.select(_broadcasts).where(*same_egress)).all():
        if not _leave_out(connection, _broadcasts, row):
            _delete(_events, row)
        _forget_broadcast(connection, row.chain, row.broadcast)
    failed = (_failures.c.chain == payout.chain, _failures.c.egress == payout.egress)
    for row in connection.execute(sa.select(_failures).where(*failed)).all():
        _delete(_failures, row)
        _delete(_events, row)
        _forget_broadcast(connection, row.chain, row.broadcast)


def _delete(table: Any, row: Any) -> None:
    op.execute(sa.delete(table).where(table.c.block == row.block, table.c.event == row.event))


def _leave_out(connection: Any, table: Any, row: Any) -> int:
    """Delete one of an event's rows, renumber the places of the others, and return how many are left."""
    is_at_event = (table.c.block == row.block, table.c.event == row.event)
    account = (table.c.account == row.account,) if "account" in table.c else (table.c.egress == row.egress,)
    op.execute(sa.delete(table).where(*is_at_event, *account))
    places_left = (
        connection.execute(sa.select(table.c.place).where(*is_at_event).order_by(table.c.place))
        .scalars()
        .all()
    )
    for place, old_place in enumerate(places_left):
        op.execute(sa.update(table).where(*is_at_event, table.c.place == old_place).values(place=place))
    return len(places_left)


def _forget_broadcast(connection: Any, chain: str, broadcast: int) -> None:
    """Delete the outcomes of a broadcast, unless it carries another payout of the books."""
    for table in (_broadcasts, _failures):
        same_broadcast = (table.c.chain == chain, table.c.broadcast == broadcast)
        if connection.execute(sa.select(table.c.block).where(*same_broadcast).limit(1)).first() is not None:
            return
    same_broadcast = (_outcomes.c.chain == chain, _outcomes.c.broadcast == broadcast)
    for row in connection.execute(sa.select(_outcomes).where(*same_broadcast)).all():
        _delete(_outcomes, row)
        _delete(_events, row)
