"""Outbox of webhooks: a block's changes of swaps' states, noted in the block's own transaction.

States are those of the report `swaps`. A change has the body that receivers get. A block that is read again,
after a gap was filled, notes only what differs from the newest change up to that block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from sqlalchemy import Connection, func, insert, select

from cfnode.ledger import schema
from cfnode.ledger.reports import swap_records
from cfnode.ledger.service_tables import changes, deliveries, webhooks
from cfnode.swaps.documents.webhook import webhook_body

__all__ = ["WebhookOutbox"]


class WebhookOutbox:
    """The outbox in one transaction, which reads the receivers once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def concerns(self, rows: Mapping[str, Sequence[Any]]) -> bool:
        """Return whether there are receivers, and the rows of a block may change a state for them."""
        return any(rows.get(table) for table in _TABLES) and bool(self._hooks)

    def note(self, block: int, now: int, rows: Mapping[str, Sequence[Any]]) -> None:
        """Store the changes of swaps' states that follow from the rows of a block, which are inserted.

        `now` is in Unix ms. Without effect if there are no webhooks.
        """
        numbers = _affected(self._connection, rows) if self.concerns(rows) else set()
        if not numbers:
            return
        before = _states(self._connection, numbers, block)
        newest = self._connection.execute(select(func.max(changes.c.id))).scalar() or 0
        new_changes = []
        for record in swap_records(self._connection, sorted(numbers)):
            previous = before.get(record["request"])
            if record["state"] != previous:
                newest += 1
                new_changes.append(_change(newest, block, previous, record))
        if new_changes:
            self._connection.execute(insert(changes), new_changes)
            self._deliver(new_changes, now)

    def _deliver(self, new_changes: Sequence[Mapping[str, Any]], now: int) -> None:
        """Store a delivery of each change to each receiver of it."""
        accounts = _accounts(self._connection, [change["request"] for change in new_changes])
        new_deliveries = [
            {"webhook": hook.id, "change": change["id"], "request": change["request"], "state": "pending",
             "attempts": 0, "next_at": now}
            for change in new_changes
            for hook in self._hooks
            if hook.account is None or hook.account in accounts[change["request"]]
        ]  # fmt: skip
        if new_deliveries:
            self._connection.execute(insert(deliveries), new_deliveries)

    @cached_property
    def _hooks(self) -> Sequence[Any]:
        return self._connection.execute(_HOOKS).all()


def _change(number: int, block: int, before: str | None, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of `changes`; `before` is the state before, None if it is not known."""
    return {
        "id": number,
        "block": block,
        "request": record["request"],
        "state": record["state"],
        "body": webhook_body(record, before, block),
    }


def _affected(connection: Connection, rows: Mapping[str, Sequence[Any]]) -> set[int]:
    """Return the swap requests whose state the rows of a block may change."""
    numbers = {row["request"] for table in _WITH_REQUEST for row in rows.get(table, ())}
    egresses = {(row["chain"], row["egress"]) for table in _WITH_EGRESS for row in rows.get(table, ())}
    broadcasts = {(row["chain"], row["broadcast"]) for row in rows.get("outcomes", ())}
    for table in (schema.broadcasts, schema.failures):
        egresses |= set(_looked_up(connection, table.c, "broadcast", "egress", broadcasts))
    by_payout = _looked_up(connection, schema.payouts.c, "egress", "request", egresses)
    return {number for number in (*numbers, *(number for _, number in by_payout)) if number is not None}


_WITH_REQUEST: Final = ("requests", "completions", "payouts")
_WITH_EGRESS: Final = ("broadcasts", "failures")
_TABLES: Final = (*_WITH_REQUEST, *_WITH_EGRESS, "outcomes")
"""Tables whose rows may change the state of a swap."""
_HOOKS: Final = select(webhooks.c.id, webhooks.c.account)


def _looked_up(
    connection: Connection, columns: Any, key: str, value: str, pairs: Iterable[tuple[str, int | None]]
) -> list[tuple[str, int]]:
    """Return chain and value of the rows of a table by chain and key."""
    by_chain: dict[str, list[int]] = {}
    for chain, number in pairs:
        if number is not None:
            by_chain.setdefault(chain, []).append(number)
    return [
        (chain, column_value)
        for chain, numbers in by_chain.items()
        for column_value in connection.execute(
            select(columns[value]).where(columns.chain == chain, columns[key].in_(numbers))
        ).scalars()
    ]


def _states(connection: Connection, numbers: set[int], block: int) -> dict[int, str]:
    """Return the newest stored state of swaps, up to a block."""
    query = select(changes.c.request, changes.c.state)
    query = query.where(changes.c.request.in_(numbers), changes.c.block <= block)
    rows = connection.execute(query.order_by(changes.c.block, changes.c.id))
    return {row.request: row.state for row in rows}


def _accounts(connection: Connection, numbers: list[int]) -> dict[int, set[str]]:
    """Return the accounts that have a share in each swap."""
    accounts: dict[int, set[str]] = {number: set() for number in numbers}
    for table in (schema.requests.c, schema.shares.c):
        query = select(table.request, table.account).where(table.request.in_(numbers))
        for row in connection.execute(query):
            accounts[row.request].add(row.account)
    return accounts
