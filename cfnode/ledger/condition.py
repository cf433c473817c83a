"""Condition of the books: newest block, gaps, unread events, and the last comparison with the chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, func, select

from cfnode.ledger import schema
from cfnode.ledger.amounts import exact_sum, whole
from cfnode.ledger.balances import Difference
from cfnode.ledger.books import ALL_ACCOUNTS, Gap
from cfnode.ledger.service_tables import partner_channels

__all__ = ["ChainComparison", "Condition", "condition", "spent_by_partner"]

MAX_REPORTED_ROWS: Final = 100
"""Most gaps, and most differences, that are returned."""


@dataclass(frozen=True, slots=True)
class ChainComparison:
    """The last comparison with the chain.

    `at` is the clock's, Unix ms; `compared` are figures, of which `count` differ.
    """

    block: int
    at: int
    compared: int
    count: int
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition of the books: their chain, accounts and blocks, and what they lack.

    `accounts` is empty for all accounts, `first` their first block, `unread` the number of unread events;
    `time` is that of the newest block, Unix ms.
    """

    network: str
    genesis: str
    accounts: tuple[str, ...]
    first: int
    block: int
    time: int
    gaps: tuple[Gap, ...]
    unread: int
    checked: ChainComparison | None


def condition(connection: Connection) -> Condition | None:
    """Return the condition of the books; None for empty books."""
    table, blocks, gap = schema.ledger.c, schema.blocks.c, schema.gaps.c
    entries = {row.name: row.value for row in connection.execute(select(table.name, table.value))}
    newest = select(blocks.number, blocks.time).order_by(blocks.number.desc()).limit(1)
    tip = connection.execute(newest).first()
    if tip is None:
        return None
    gaps = select(gap.first, gap.last).order_by(gap.first).limit(MAX_REPORTED_ROWS)
    accounts = entries.get("accounts", ALL_ACCOUNTS)
    return Condition(
        entries.get("network", ""),
        entries.get("genesis", ""),
        () if accounts == ALL_ACCOUNTS else tuple(accounts.split(",")),
        connection.execute(select(func.min(blocks.number))).scalar_one() + 1,
        tip.number,
        tip.time,
        tuple(Gap(*row) for row in connection.execute(gaps)),
        connection.execute(select(func.count()).select_from(schema.unread)).scalar_one(),
        _checked(connection, entries.get("checked")),
    )


def _checked(connection: Connection, text: str | None) -> ChainComparison | None:
    parts = (text or "").split()
    if len(parts) != 4:
        return None
    block, compared, count, checked_at = map(int, parts)
    table = schema.checks.c
    query = select(table.account, table.asset, table.figure, table.books, table.chain, table.negative)
    rows = connection.execute(
        query.where(table.block == block).order_by(table.place).limit(MAX_REPORTED_ROWS)
    )
    differences = tuple(
        Difference(row.account, row.asset, row.figure, -row.books if row.negative else row.books, row.chain)
        for row in rows
    )
    return ChainComparison(block, checked_at, compared, count, differences)


def spent_by_partner(
    connection: Connection, month: str, partner: str | None = None
) -> dict[str, tuple[int, int]]:
    """Return by partner the cost and the number of its channels of a month (`2026-11`); of one, or of all.

    Costs are in smallest units of FLIP; channels that are being opened count.
    """
    table = partner_channels.c
    sums = exact_sum(table.cost, connection.dialect.name)
    query = select(table.partner, func.count(), *sums).where(table.month == month, table.state != "released")
    if partner is not None:
        query = query.where(table.partner == partner)
    rows = connection.execute(query.group_by(table.partner))
    return {name: (whole(parts), count) for name, count, *parts in rows}
