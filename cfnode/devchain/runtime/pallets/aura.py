"""Aura slots and their authorities, and the check of a block's slot and time.

Aura (12): authorities take turns, one slot of 6 s each. The slot stands in the header's pre-runtime digest.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.core.aura import ENGINE, SLOT_MS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.frame import ConstantSet, Pallet, RuntimeTrap, Value, constant

from .system import System


class Aura(Pallet):
    """Slots and their authorities."""

    index = 12

    Authorities = Value[Sequence[bytes]]("BoundedVec<aura::Public>")
    CurrentSlot = Value[int]("Slot")

    class Constant(ConstantSet):
        """Constants of slots."""

        SlotDuration = constant("u64", SLOT_MS)

    def genesis(self, config: DevGenesis) -> None:
        """Store the Aura keys of the first authorities."""
        self.Authorities.put([authority.aura for authority in config.authorities])

    def on_initialize(self, number: int) -> None:
        """Store the slot of the block's digest. Raises RuntimeTrap if it does not increase."""
        slot = self.slot_of_digest()
        if slot is None:
            return
        if slot <= self.CurrentSlot.get():
            raise RuntimeTrap(f"Slot must increase: {slot} does not follow {self.CurrentSlot.get()}")
        self.CurrentSlot.put(slot)

    def slot_of_digest(self) -> int | None:
        """Return the slot in the header's pre-runtime digest, or None."""
        for item in self.other(System).Digest.get().logs:
            match item:
                case values.DigestItemPreRuntime((engine, slot)) if engine == ENGINE:
                    return int.from_bytes(slot, "little")
        return None

    def check_time(self, now: int) -> None:
        """Raise RuntimeTrap if the block's time (milliseconds) lies outside of its slot."""
        if self.slot_of_digest() is not None and now // SLOT_MS != self.CurrentSlot.get():
            raise RuntimeTrap(f"Timestamp slot must match `CurrentSlot`: {now} ms lies in {now // SLOT_MS}")

    def author_index(self) -> int:
        """Return the index of the authority whose slot this is."""
        return self.CurrentSlot.get() % (len(self.Authorities.get()) or 1)
