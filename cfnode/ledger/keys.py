"""Newest change of the key that signs the calls of the EVM vaults, by the books."""

from __future__ import annotations

from sqlalchemy import Connection, and_, or_, select

from cfnode.ledger import schema
from cfnode.swaps.events import KEY_PALLETS
from cfnode.swaps.fate import key_change
from cfnode.swaps.identity import Place

__all__ = ["key_change_of"]

MAX_KEY_EVENTS = 16
"""Events that are read, newest first; a rotation has two."""


def key_change_of(connection: Connection) -> Place | None:
    """Return the place from which on the present key may have signed; None if the books have no rotation."""
    event = schema.events.c
    kinds = [and_(event.pallet == pallet, event.name == name) for name, pallet in KEY_PALLETS.items()]
    query = select(event.block, event.event, event.name).where(or_(*kinds))
    newest = query.order_by(event.block.desc(), event.event.desc()).limit(MAX_KEY_EVENTS)
    rows = connection.execute(newest).all()
    return key_change(((row.block, row.event), row.name) for row in reversed(rows))
