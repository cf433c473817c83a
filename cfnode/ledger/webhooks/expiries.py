"""Channels that expire in a block, for webhooks: those whose last block the witnessed height has passed.

For each chain the next height at which a channel expires is looked up once a transaction, so that most blocks
need no look-up. Heights only rise, also when the books go back: no channel expires twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sqlalchemy import Connection, and_, func, literal, or_, select, union_all

from cfnode.ledger import schema
from cfnode.ledger.decoding import DecodedBlock
from cfnode.ledger.heights import heights, witnessed_in
from cfnode.ledger.rows.known import OTHER

__all__ = ["ChannelExpiries"]

_NEVER: Final = 2**63
Record = dict[str, Any]
_channel = schema.channels.c


class ChannelExpiries:
    """Expiries in one transaction, whose blocks come in order."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._heights = heights(connection)
        self._next: dict[str, int] | None = None

    def note_opened(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Note the channels that a block opens, by their rows."""
        for row in rows:
            end = row.get("expiry_block")
            if self._next is not None and end is not None:
                self._next[row["chain"]] = min(end, self._next.get(row["chain"], _NEVER))

    def passing(self, block: DecodedBlock) -> dict[str, tuple[int, int]]:
        """Return the chains on which a channel expires in a block, each with the heights before and after."""
        risen: dict[str, tuple[int, int]] = {}
        for chain, height in witnessed_in(block).items():
            before = self._heights.get(chain)
            if before is None:
                self._heights[chain], self._next = height, None
            elif height > before:
                risen[chain] = before, height
        if not risen:
            return {}
        if self._next is None:
            self._next = self._next_ends()
        ends = self._next
        self._heights |= {chain: height for chain, (_, height) in risen.items()}
        return {chain: span for chain, span in risen.items() if ends.get(chain, _NEVER) < span[1]}

    def expired(self, passing: Mapping[str, tuple[int, int]]) -> list[Record]:
        """Return the rows of the channels that expire between heights, in the order of their openings."""
        self._next = None
        spans = [
            and_(_channel.chain == chain, _channel.expiry_block >= before, _channel.expiry_block < height)
            for chain, (before, height) in passing.items()
        ]
        query = select(schema.channels).where(or_(*spans), _channel.kind != OTHER)
        rows = self._connection.execute(query.order_by(_channel.block, _channel.event)).mappings()
        return [dict(row) for row in rows]

    def _next_ends(self) -> dict[str, int]:
        """Return the next end of a channel of each chain."""
        parts = [
            select(literal(chain), func.min(_channel.expiry_block)).where(
                _channel.chain == chain, _channel.expiry_block >= height
            )
            for chain, height in self._heights.items()
        ]
        rows = self._connection.execute(union_all(*parts)) if parts else ()
        return {chain: end for chain, end in rows if end is not None}
