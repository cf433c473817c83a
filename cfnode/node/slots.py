"""May a block of this slot follow that parent, now? Aura: one author a slot, slots never go back."""

from __future__ import annotations

import time

from cfnode.core.aura import SLOT_MS, AuraError, slot_of
from cfnode.core.grandpa import scheduled_change
from cfnode.core.header import Header
from cfnode.core.scale import ScaleError
from cfnode.node import chain_errors as refused

__all__ = ["check_slot", "present_slot"]


def present_slot() -> int:
    """The slot of this moment."""
    return time.time_ns() // 1_000_000 // SLOT_MS


def check_slot(header: Header, parent_slot: int | None, now: int) -> None:
    """The header's digest can be read, its slot is later than the parent's (None: genesis has none), and at
    most one beyond the present one. Raises BadDigest or SlotRefused.
    """
    try:
        slot = slot_of(header)
        scheduled_change(header)
    except (AuraError, ScaleError) as error:
        raise refused.BadDigest(str(error)) from error
    if parent_slot is not None and slot <= parent_slot:
        raise refused.SlotRefused(f"slot {slot} is not later than its parent's, {parent_slot}")
    if slot > now + 1:
        raise refused.SlotRefused(f"slot {slot} lies in the future: the present one is {now}")
