"""Rows of a table of facts in a range of blocks, read in pages, in the order of their keys.

A page begins behind the key of the row before it, which an index finds, so a row is read once and memory does
not grow with the range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, Table, tuple_

__all__ = ["FACT_PAGE_ROWS", "pages"]

FACT_PAGE_ROWS: Final = 1_000
"""Rows that are read at once."""
_MAX_INDEX: Final = 2**31 - 1
"""Highest index of an event, and highest place."""


def pages(
    connection: Connection, table: Table, query: Select[Any], blocks: tuple[int, int]
) -> Iterator[Sequence[Row[Any]]]:
    """Yield the rows of a query of a table in pages: those from the first of `blocks` up to the second.

    The query selects the columns of the table's key by their names. The second of the blocks is left out.
    """
    first, end = blocks
    keys = list(table.primary_key.columns)
    query = query.where(table.c.block < end).order_by(*keys).limit(FACT_PAGE_ROWS)
    after: tuple[int, ...] = (first - 1, *(_MAX_INDEX for _ in keys[1:]))
    count = FACT_PAGE_ROWS if first < end else 0
    while count == FACT_PAGE_ROWS:
        rows = connection.execute(query.where(tuple_(*keys) > tuple_(*after))).all()
        count = len(rows)
        if rows:
            yield rows
            after = tuple(getattr(rows[-1], key.name) for key in keys)
