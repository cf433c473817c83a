"""Random small books: few blocks, with gaps and equal times, and few numbers, which many facts share."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st
from sqlalchemy import Boolean, Column, Table, delete, insert

from cfnode.ledger import schema
from cfnode.ledger.amounts import Amount
from cfnode.ledger.database import Database
from cfnode.ledger.heights import HEIGHTS_ROW

__all__ = ["ACCOUNTS", "CHAINS", "HEIGHT", "NUMBERS", "RandomBooks", "fill", "random_books", "times"]

ACCOUNTS: Final = ("cFa", "cFb")
CHAINS: Final = ("Ethereum", "Bitcoin")
NUMBERS: Final = range(1, 4)
HEIGHT: Final = 100
"""The last witnessed block of each foreign chain."""
MAX_TIME: Final = 12
TABLES: Final = {
    "channels": ("swap", "liquidity", "other"),
    "deposits": ("finalised", "boosted", "failed"),
    "requests": ("Regular", "NetworkFee"),
    "swaps": ("scheduled", "executed", "aborted"),
    "completions": ("",),
    "fees": ("network", "broker", "egress", "refund", "ingress"),
    "commissions": ("",),
    "payouts": ("swap", "refund", "withdrawal"),
    "broadcasts": ("",),
    "outcomes": ("sent", "success", "aborted", "expired", "signed"),
    "failures": ("",),
    "unread": ("",),
}
"""Tables of facts, and the kinds or states of their rows."""
PAYOUTS: Final = ("scheduled", "ignored", "invalid", "credited")
Rows = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class RandomBooks:
    """Blocks (number and time, Unix ms), and the rows of each table of facts."""

    blocks: tuple[tuple[int, int], ...]
    rows: Rows


def times() -> st.SearchStrategy[int]:
    """Return times before, at, between and after those of the blocks."""
    return st.integers(-1, MAX_TIME + 1)


@st.composite
def random_books(draw: st.DrawFn) -> RandomBooks:
    """Return books of up to 12 blocks and 40 facts; some have no fact, or no block."""
    least = draw(st.sampled_from((0, 3, 6)))
    steps = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 2)), min_size=least, max_size=12))
    number, time, blocks = draw(st.integers(0, 5)), draw(st.integers(0, 3)), []
    for further, later in steps:
        number, time = number + further, min(time + later, MAX_TIME)
        blocks.append((number, time))
    count = draw(st.sampled_from((0, 10, 30)))
    facts = draw(st.lists(_fact(), min_size=count, max_size=40)) if blocks else []
    rows: Rows = defaultdict(list)
    for event, (name, place, fact) in enumerate(facts):
        row = {"block": blocks[place % len(blocks)][0], "event": event, **fact}
        rows[name] += _rows(schema.metadata.tables[name], row)
    return RandomBooks(tuple(blocks), rows)


@st.composite
def _fact(draw: st.DrawFn) -> tuple[str, int, dict[str, Any]]:
    """Return a table, the place of the block, and values of columns that some tables have."""
    name = draw(st.sampled_from(tuple(TABLES)))
    kind, number = draw(st.sampled_from(TABLES[name])), st.sampled_from(NUMBERS)
    fact: dict[str, Any] = {"kind": kind, "state": kind, "chain": draw(st.sampled_from(CHAINS))}
    if name == "payouts":
        fact["state"] = draw(st.sampled_from(PAYOUTS))
    fact |= {
        field: draw(number) for field in ("request", "channel", "egress", "broadcast", "amount", "output")
    }
    fact["account"] = draw(st.sampled_from(ACCOUNTS))
    fact["expiry_block"] = draw(st.sampled_from((None, HEIGHT, HEIGHT + 1, HEIGHT + 50)))
    fact["address"] = draw(st.sampled_from((None, "address")))
    fact["opened"] = draw(st.sampled_from((None, *range(1, 9))))
    fact["places"] = draw(st.integers(1, 2))
    return name, draw(st.integers(0, 11)), fact


def _rows(table: Table, fact: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a fact: two in some tables whose key has a place."""
    row = {column.name: fact.get(column.name, _least(column)) for column in table.columns}
    if "place" not in table.c:
        return [row]
    return [row | {"place": place} for place in range(fact["places"])]


def _least(column: Column[Any]) -> Any:
    if column.nullable:
        return None
    if isinstance(column.type, Boolean):
        return False
    return 0 if isinstance(column.type, Amount) or column.type.python_type is int else ""


def fill(database: Database, books: RandomBooks) -> None:
    """Make these the only rows of the books."""
    blocks = [
        {"number": number, "hash": f"0x{number:064x}", "parent": f"0x{number - 1:064x}", "time": time,
         "spec_version": 1, "events": 0}
        for number, time in books.blocks
    ]  # fmt: skip
    heights = "{" + ", ".join(f'"{chain}": {HEIGHT}' for chain in CHAINS) + "}"
    with database.writing() as connection:
        for name in ("ledger", "blocks", *TABLES):
            connection.execute(delete(schema.metadata.tables[name]))
        connection.execute(insert(schema.ledger), {"name": HEIGHTS_ROW, "value": heights})
        for name, rows in {"blocks": blocks, **books.rows}.items():
            if rows:
                connection.execute(insert(schema.metadata.tables[name]), rows)
