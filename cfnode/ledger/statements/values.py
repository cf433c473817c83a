"""Values of lines in dollars, or in a currency by its rates.

1. A swap is worth the USDC that it was, or went through: the pools' prices of the swap itself.
2. USDC counts as dollars.
3. Another amount has the price of its asset's pool at its block, else the newest price before, of at most
   `MAX_PRICE_AGE_BLOCKS` blocks. The books have the prices of the assets that a block moves.

Values are in millionths, which are USDC's smallest units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, bindparam, select

from cfnode.core.amm import price_of
from cfnode.ledger import schema
from cfnode.ledger.day_totals import STABLE
from cfnode.ledger.statements.rates import DOLLARS, ExchangeRates

__all__ = ["VALUE_DECIMALS", "Valued", "Valuer", "currency_of"]

VALUE_DECIMALS: Final = 6
MAX_PRICE_AGE_BLOCKS: Final = 100_800
"""A week of blocks of six seconds."""
_prices = schema.prices.c
Valued = tuple[int | None, str | None]


def currency_of(rates: ExchangeRates | None) -> str:
    """Return the currency of values: dollars without rates."""
    return DOLLARS if rates is None else rates.currency


class Valuer:
    """Values of the rows of a table, read page after page, by block."""

    def __init__(self, connection: Connection, rates: ExchangeRates | None) -> None:
        self._connection, self._rates = connection, rates
        self._at: dict[tuple[int, str], int] = {}
        self._newest: dict[str, tuple[int, int, int | None]] = {}
        """By asset: the block up to which prices were looked for, block and square root of the newest one."""

    def read(self, rows: Sequence[Any]) -> None:
        """Read the prices of a page's rows at their blocks."""
        blocks = {row.block for row in rows if _needs_price(row)}
        query = select(_prices.block, _prices.asset, _prices.value)
        query = query.where(_prices.block.in_(sorted(blocks)), _prices.source == "pool")
        self._at.clear()
        for block, asset, value in self._connection.execute(query) if blocks else ():
            self._at[block, asset] = int(value)

    def value(self, row: Any, time: int) -> Valued:
        """Return the value of a row of a read page, and what it follows from: swap, usdc or pool.

        None for both without a price. Raises LedgerError if the rates lack the day.
        """
        dollars, source = self._dollars(row)
        if dollars is not None and self._rates is not None:
            dollars = self._rates.of_dollars(dollars, time)
        return dollars, source

    def _dollars(self, row: Any) -> Valued:
        if row.usdc is not None:
            return row.usdc, "swap"
        if row.amount is None:
            return None, None
        if row.asset == STABLE:
            return row.amount, "usdc"
        root = self._at.get((row.block, row.asset))
        root = self._before(row.asset, row.block) if root is None else root
        return (None, None) if root is None else (row.amount * price_of(root) >> 128, "pool")

    def _before(self, asset: str, block: int) -> int | None:
        """Return the newest price before a block; blocks that were searched are not searched again."""
        lowest = max(block - MAX_PRICE_AGE_BLOCKS, 0)
        searched, found_block, root = self._newest.get(asset, (-1, -1, None))
        limits = {"asset": asset, "searched": max(searched, lowest - 1), "until": block}
        newest = self._connection.execute(_NEWEST, limits).first()
        if newest is not None:
            found_block, root = newest.block, int(newest.value)
        self._newest[asset] = (block, found_block, root)
        return root if root is not None and found_block >= lowest else None


_NEWEST: Final = (
    select(_prices.block, _prices.value)
    .where(_prices.source == "pool", _prices.asset == bindparam("asset"))
    .where(_prices.block > bindparam("searched"), _prices.block <= bindparam("until"))
    .order_by(_prices.block.desc())
    .limit(1)
)
"""The newest price of an asset in a range of blocks."""


def _needs_price(row: Any) -> bool:
    return row.usdc is None and row.amount is not None and row.asset != STABLE
