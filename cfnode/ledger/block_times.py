"""Binary search for the first block at or after a time; block times only grow."""

from __future__ import annotations

from sqlalchemy import Connection, select

from cfnode.ledger import schema

__all__ = ["DAY_MS", "first_since"]

DAY_MS = 86_400_000


def first_since(connection: Connection, time: int, low: int, high: int) -> int:
    """Return the first of the blocks from `low` whose time (Unix ms) is `time` or later, else `high`."""
    blocks = schema.blocks.c
    while low < high:
        middle = (low + high) // 2
        query = select(blocks.number, blocks.time).where(blocks.number >= middle)
        found = connection.execute(query.order_by(blocks.number).limit(1)).one_or_none()
        if found is None or found.number >= high or found.time >= time:
            high = middle
        else:
            low = found.number + 1
    return low
