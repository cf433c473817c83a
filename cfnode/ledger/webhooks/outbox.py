"""Outbox of webhooks: a block's changes of swaps, deposits and channels, noted in its own transaction.

States are those of the report `swaps`. A change has the body that receivers get. A block that is read again,
after a gap was filled, notes only what differs from the newest change up to that block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from sqlalchemy import Connection, func, insert, select

from cfnode.ledger import schema
from cfnode.ledger.block_times import times_of
from cfnode.ledger.decoding import DecodedBlock
from cfnode.ledger.reports import swap_records
from cfnode.ledger.service_tables import changes, deliveries, webhooks
from cfnode.ledger.webhooks.expiries import ChannelExpiries
from cfnode.ledger.webhooks.facts import EXPIRED, FACT_TABLES, channel_changes, fact_changes, subject_of_swap
from cfnode.swaps.documents.webhook import webhook_body

__all__ = ["SWAP_STATE", "WebhookOutbox"]

SWAP_STATE: Final = "swap.state"
"""Type of the changes of swaps' states."""


class WebhookOutbox:
    """The outbox in one transaction, which reads the receivers once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def concerns(self, rows: Mapping[str, Sequence[Any]]) -> bool:
        """Return whether there are receivers, and the rows of a block may change a state for them."""
        return any(rows.get(table) for table in _TABLES) and bool(self._hooks)

    def note(self, block: int, now: int, rows: Mapping[str, Sequence[Any]]) -> None:
        """Store the changes that follow from the rows of a block, which are inserted.

        `now` is in Unix ms. Without effect if there are no webhooks.
        """
        if not self.concerns(rows):
            return
        new_changes = fact_changes(self._connection, rows)
        numbers = _affected(self._connection, rows)
        before = _states(self._connection, numbers, block)
        for record in swap_records(self._connection, sorted(numbers)):
            previous = before.get(record["request"])
            if record["state"] != previous:
                new_changes.append(_change(block, previous, record))
        self._store(new_changes, now)

    def passing(self, block: DecodedBlock, rows: Mapping[str, Sequence[Any]]) -> dict[str, tuple[int, int]]:
        """Return on which chains channels expire in a block, for `note_expired`; none without webhooks."""
        if not self._hooks:
            return {}
        self._expiries.note_opened(rows.get("channels", ()))
        return self._expiries.passing(block)

    def note_expired(self, block: int, now: int, passing: Mapping[str, tuple[int, int]]) -> None:
        """Store the changes of the channels that expire in a block; all channels before it are inserted."""
        expired = self._expiries.expired(passing)
        times = times_of(self._connection, (row["block"] for row in expired))
        rows = [row | {"time": times[row["block"]]} for row in expired]
        self._store(list(channel_changes(self._connection, EXPIRED, rows, block)), now)

    def _store(self, new_changes: list[dict[str, Any]], now: int) -> None:
        """Store changes, which get their numbers here, with their deliveries."""
        if not new_changes:
            return
        newest = self._connection.execute(select(func.max(changes.c.id))).scalar() or 0
        for number, change in enumerate(new_changes, newest + 1):
            change["id"] = number
        self._connection.execute(insert(changes), new_changes)
        self._deliver(new_changes, now)

    def _deliver(self, new_changes: Sequence[Mapping[str, Any]], now: int) -> None:
        """Store a delivery of each change to each receiver of it."""
        numbers = {change["request"] for change in new_changes if change["request"] is not None}
        accounts = _accounts(self._connection, sorted(numbers))
        new_deliveries = [
            {"webhook": hook.id, "change": change["id"], "subject": change["subject"], "state": "pending",
             "attempts": 0, "next_at": now}
            for change in new_changes
            for hook in self._hooks
            if hook.account in (None, change["account"], *accounts.get(change["request"], ()))
        ]  # fmt: skip
        if new_deliveries:
            self._connection.execute(insert(deliveries), new_deliveries)

    @cached_property
    def _expiries(self) -> ChannelExpiries:
        return ChannelExpiries(self._connection)

    @cached_property
    def _hooks(self) -> Sequence[Any]:
        return self._connection.execute(_HOOKS).all()


def _change(block: int, before: str | None, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of `changes`, but for its number; `before` is the state before, None if not known."""
    return {
        "block": block,
        "event": None,
        "type": SWAP_STATE,
        "subject": subject_of_swap(record["channel_id"], record["request"]),
        "request": record["request"],
        "account": record["account"],
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
_TABLES: Final = (*_WITH_REQUEST, *_WITH_EGRESS, "outcomes", *FACT_TABLES)
"""Tables whose rows are changes, or may change the state of a swap."""
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
    query = query.where(
        changes.c.request.in_(numbers), changes.c.block <= block, changes.c.type == SWAP_STATE
    )
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
