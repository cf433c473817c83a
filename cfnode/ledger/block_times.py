"""Blocks of a period of time, and times of blocks; block times (Unix ms) only grow.

The first block of a period is searched by the times of some blocks at a time, each time among those between
two of them, so the blocks before it are not read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection, bindparam, func, select

from cfnode.ledger import schema

__all__ = ["DAY_MS", "block_range", "blocks_between", "first_since", "times_of"]

DAY_MS: Final = 86_400_000
PROBED_BLOCKS: Final = 16
"""Blocks whose times one step of a search reads: seven steps find a block among 200 million."""


def block_range(connection: Connection) -> tuple[int, int] | None:
    """Return the first and the last block of the books; None for empty books."""
    numbers = schema.blocks.c.number
    first = connection.execute(select(func.min(numbers))).scalar()
    last = connection.execute(select(func.max(numbers))).scalar()
    return None if first is None or last is None else (first, last)


def blocks_between(connection: Connection, start: int | None, end: int | None) -> tuple[int, int]:
    """Return the first block whose time is `start` or later, and the first from there at `end` or later.

    A time of None leaves its side open. Where no such block is in the books, the number after the last one
    stands for it, and 0 in empty books.
    """
    books = block_range(connection)
    if books is None:
        return 0, 0
    first, after = books[0], books[1] + 1
    if start is not None:
        first = first_since(connection, start, first, after)
    return first, after if end is None else first_since(connection, end, first, after)


def first_since(connection: Connection, time: int, low: int, high: int) -> int:
    """Return the first of the blocks from `low` whose time (Unix ms) is `time` or later, else `high`."""
    while low < high:
        step = -(-(high - low) // PROBED_BLOCKS)
        for number, time_of_block in sorted(times_of(connection, range(low, high, step)).items()):
            if time_of_block >= time:
                high = number
                break
            low = number + 1
        if high - low >= step:  # probes are in a gap
            low, high = _halved(connection, time, low, high)
    return low


def _halved(connection: Connection, time: int, low: int, high: int) -> tuple[int, int]:
    """Return the half of a range of blocks in which the first block at or after a time is."""
    blocks, middle = schema.blocks.c, (low + high) // 2
    query = select(blocks.number, blocks.time).where(blocks.number >= middle)
    row = connection.execute(query.order_by(blocks.number).limit(1)).one_or_none()
    if row is None or row.number >= high or row.time >= time:
        return low, middle
    return row.number + 1, high


def times_of(connection: Connection, numbers: Iterable[int]) -> dict[int, int]:
    """Return the times of blocks by number; a join would have PostgreSQL read and sort more than a page."""
    rows = connection.execute(_TIMES, {"numbers": sorted(set(numbers))})
    return {row.number: row.time for row in rows}


_TIMES: Final = select(schema.blocks.c.number, schema.blocks.c.time).where(
    schema.blocks.c.number.in_(bindparam("numbers", expanding=True))
)
