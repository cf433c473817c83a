"""Newest witnessed height of each foreign chain, up to the newest block of the books.

They are one entry of the table `ledger`: a row for each witnessed block would be more than all other rows.
Heights only rise, so books that go back keep them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, bindparam, insert, select, update

from cfnode.ledger import schema
from cfnode.ledger.decoding import DecodedBlock

__all__ = ["heights", "note_heights", "witnessed_in"]

HEIGHTS_ROW: Final = "heights"
_PALLET: Final = "ChainTracking"
_STORED: Final = select(schema.ledger.c.value).where(schema.ledger.c.name == HEIGHTS_ROW)
_CHANGE: Final = (
    update(schema.ledger).where(schema.ledger.c.name == HEIGHTS_ROW).values(value=bindparam("heights"))
)
"""Statements that are made once, since each block needs them."""


def heights(connection: Connection) -> dict[str, int]:
    """Return the last witnessed block of each foreign chain."""
    text = connection.execute(_STORED).scalar()
    by_chain: dict[str, int] = json.loads(text) if text else {}
    return by_chain


def note_heights(connection: Connection, blocks: Sequence[DecodedBlock]) -> None:
    """Store the heights that blocks witness."""
    witnessed = dict[str, int]()
    for block in blocks:
        _add_witnessed(witnessed, block)
    if not witnessed:
        return
    stored = heights(connection)
    merged = stored | {chain: max(height, stored.get(chain, 0)) for chain, height in witnessed.items()}
    if merged == stored:
        return
    value = json.dumps(merged, sort_keys=True)
    if stored:
        connection.execute(_CHANGE, {"heights": value})
    else:
        connection.execute(insert(schema.ledger), {"name": HEIGHTS_ROW, "value": value})


def witnessed_in(block: DecodedBlock) -> dict[str, int]:
    """Return the heights by foreign chain that a block witnesses."""
    witnessed: dict[str, int] = {}
    _add_witnessed(witnessed, block)
    return witnessed


def _add_witnessed(heights_by_chain: dict[str, int], block: DecodedBlock) -> None:
    """Raise the heights by foreign chain to those that a block witnesses; unknown shapes are skipped."""
    for event in block.events:
        if event.name == "ChainStateUpdated" and event.pallet.endswith(_PALLET):
            state = event.fields.get("new_chain_state") if isinstance(event.fields, dict) else None
            height = state.get("block_height") if isinstance(state, dict) else None
            if isinstance(height, int):
                chain = event.pallet.removesuffix(_PALLET)
                heights_by_chain[chain] = max(height, heights_by_chain.get(chain, 0))
