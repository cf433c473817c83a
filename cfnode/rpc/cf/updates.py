"""The members that identify the block of a subscription's message: hash, number and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.core.aura import AuraError, slot_of
from cfnode.rpc.table.convert import to_hex

if TYPE_CHECKING:
    from cfnode.core.header import Header

__all__ = ["block_update"]

SLOT_DURATION_S: Final = 6


def block_update(header: Header, block_hash: bytes) -> dict[str, Any]:
    """Return the members that identify a message's block; the time is that of its slot, in seconds."""
    try:
        slot = slot_of(header)
    except AuraError:  # genesis has no slot
        slot = 0
    return {
        "block_hash": to_hex(block_hash),
        "block_number": header.number,
        "timestamp": slot * SLOT_DURATION_S,
    }
