"""Checks of a block's slot: later than its parent's, and not in the future.

In Aura each slot has one author, and the slots of a chain only increase.

There are two checks: any peer can write a slot into a header, so the present time is compared only with the
slot of a header whose seal is valid.
"""

from __future__ import annotations

import time

from cfnode.core.aura import SLOT_MS, AuraError, slot_of
from cfnode.core.grandpa import scheduled_change
from cfnode.core.header import Header
from cfnode.core.scale import ScaleError
from cfnode.node.chain import errors as refused

__all__ = ["check_digest", "check_time", "present_slot"]


def present_slot() -> int:
    """Return the slot of this moment."""
    return time.time_ns() // 1_000_000 // SLOT_MS


def check_digest(header: Header, parent_slot: int | None) -> None:
    """Check that the digest is well-formed and its slot later than the parent's.

    `parent_slot`: None if the parent is the genesis block, which has no slot. Raise BadDigest or BadSlot.
    """
    try:
        slot = slot_of(header)
        scheduled_change(header)
    except (AuraError, ScaleError) as error:
        raise refused.BadDigest(str(error)) from error
    if parent_slot is not None and slot <= parent_slot:
        raise refused.BadSlot(f"slot {slot} is not later than its parent's, {parent_slot}")


def check_time(header: Header, now: int) -> None:
    """Check that the slot of a sealed header is at most one after the present one. Raise FutureSlot."""
    slot = slot_of(header)
    if slot > now + 1:
        raise refused.FutureSlot(f"slot {slot} lies in the future: the present one is {now}")
