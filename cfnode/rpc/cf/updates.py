"""Which block is a message of? The members that every subscription's messages begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.core.aura import AuraError, slot_of
from cfnode.rpc.convert import to_hex

if TYPE_CHECKING:
    from cfnode.core.header import Header

__all__ = ["block_update"]

SLOT_SECONDS: Final = 6


def block_update(header: Header, block_hash: bytes) -> dict[str, Any]:
    """The members that say which block a message is of; the time is that of its slot, in seconds."""
    try:
        slot = slot_of(header)
    except AuraError:  # genesis has none
        slot = 0
    return {
        "block_hash": to_hex(block_hash),
        "block_number": header.number,
        "timestamp": slot * SLOT_SECONDS,
    }
