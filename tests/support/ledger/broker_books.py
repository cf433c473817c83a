"""Books of a month made by hand: a swap with its fees, commissions and payouts, and prices of the pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Table, insert

from cfnode.ledger import schema
from cfnode.ledger.database import Database
from tests.support.ledger.blocks import NOVEMBER, block_rows

__all__ = ["BROKER", "DAYS", "HOSTILE", "fill_books", "put", "sqrt_price"]

BROKER: Final = "cFNG3nBroker"
DAYS: Final = 30
ETHER: Final = 10**18
HOSTILE: Final = (
    '=HYPERLINK("http://x.example","y")',
    "+1,2",
    "-1",
    "@SUM(A1)",
    "\tcell",
    'a "quoted", text',
    "two\nlines",
    "\\ and ; | and #",
)
"""Texts that a spreadsheet or a journal could take for more than a text."""


def sqrt_price(dollars: int, decimals: int) -> str:
    """Return the square root of a pool's price: whole dollars for a whole unit with these decimals."""
    from math import isqrt

    return str(isqrt(dollars * 10**6 * 2**192 // 10**decimals))


def put(database: Database, table: Table, *rows: Mapping[str, Any]) -> None:
    """Insert rows; what a row lacks is the least of its column's kind."""
    full = [
        {column.name: row.get(column.name, _least(column)) for column in table.columns} | dict(row)
        for row in rows
    ]
    with database.writing() as connection:
        connection.execute(insert(table), full)


def _least(column: Any) -> Any:
    if column.nullable:
        return None
    return "" if "CHAR" in str(column.type) or "TEXT" in str(column.type) else 0


def fill_books(database: Database) -> None:
    """Fill books with a block a day from 1 November 2026 on, number = day; the last is of 1 December.

    Day 2: ETH is $2,000. Day 3: a swap of 3 ETH to 0.1 BTC through $6,000, with all that follows. Day 10: a
    fee in ETH without a price of that block, and one in FLIP, of which no price is known. Day 20: a
    withdrawal.
    """
    database.migrate()
    day_ms = 86_400_000
    with database.writing() as connection:
        times = {number: NOVEMBER.start + (number - 1) * day_ms for number in range(DAYS + 2)}
        connection.execute(insert(schema.blocks), block_rows(times))
    price = {"event": 0, "place": 0, "source": "pool", "asset": "Eth", "value": sqrt_price(2_000, 18)}
    put(database, schema.prices, price | {"block": 2}, price | {"block": 2, "place": 1, "source": "oracle"})
    put(database, schema.prices, price | {"block": 3, "asset": "Btc", "value": sqrt_price(60_000, 8)})
    request = {"block": 3, "event": 1, "request": 7, "kind": "Regular", "account": BROKER,
               "chain": "Ethereum", "source": "Eth", "target": "Btc", "amount": 3 * ETHER,
               "destination": HOSTILE[0]}  # fmt: skip
    put(database, schema.requests, request)
    chunk = {"block": 3, "event": 2, "state": "executed", "request": 7, "swap": 8, "source": "Eth",
             "target": "Btc", "input": 3 * ETHER, "intermediate": 6_000_000_000, "output": 10**7}  # fmt: skip
    put(database, schema.swaps, chunk)
    fee = {"event": 3, "request": 7, "account": BROKER, "asset": "Usdc", "amount": 6_000_001}
    put(
        database,
        schema.fees,
        fee | {"block": 3, "kind": "network"},
        fee | {"block": 3, "event": 4, "kind": "ingress", "asset": "Eth", "amount": 10**15 + 1},
        fee | {"block": 10, "kind": "transaction", "request": None, "asset": "Eth", "amount": ETHER},
        fee | {"block": 10, "event": 4, "kind": "opening", "request": None, "asset": "Flip", "amount": 5},
        fee | {"block": 20, "kind": "egress", "request": None, "amount": 500_000},
    )
    part = {"block": 3, "event": 2, "account": BROKER, "broker": BROKER, "request": 7, "swap": 8,
            "asset": "Usdc", "amount": 12_000_000}  # fmt: skip
    put(database, schema.commissions, part, part | {"place": 1, "account": "cFother", "amount": 1})
    payout = {"block": 3, "state": "scheduled", "chain": "Bitcoin", "egress": 5, "request": 7,
              "account": BROKER, "asset": "Btc"}  # fmt: skip
    put(
        database,
        schema.payouts,
        *(
            payout | {"event": 10 + place, "kind": "swap", "amount": 1_000 + place, "destination": text}
            for place, text in enumerate(HOSTILE)
        ),
        payout | {"event": 30, "kind": "rejection", "amount": None},
        payout | {"block": 20, "event": 4, "kind": "withdrawal", "request": None, "asset": "Usdc",
                  "amount": 11_500_000, "destination": "0xab"},
    )  # fmt: skip
