"""Time of the block, which the author states once a block.

Timestamp (1): the time comes in milliseconds, by the inherent `timstap0`.
"""

from __future__ import annotations

from collections.abc import Mapping

from cfnode.devchain.runtime.frame import ConstantSet, Origin, Pallet, RuntimeTrap, Value, call, constant
from cfnode.devchain.runtime.frame.calls import PalletCall, split

from .aura import Aura

INHERENT = b"timstap0"
MAX_DRIFT_MS = 30_000


class Timestamp(Pallet):
    """The time of the block."""

    index = 1
    crate = "pallet_timestamp"

    Now = Value[int]("u64")
    DidUpdate = Value[bool]("bool")

    class Constant(ConstantSet):
        """The least time between two blocks."""

        MinimumPeriod = constant("u64", 3_000)

    @call(0, now="Compact<u64>")
    def set(self, origin: Origin, now: int) -> None:
        """Set the time, in milliseconds since 1970. An inherent."""
        origin.ensure_none()
        if self.DidUpdate.exists():
            raise RuntimeTrap("Timestamp must be updated only once in the block")
        previous = self.Now.get()
        if previous and now < previous + self.Constant.MinimumPeriod:
            raise RuntimeTrap(
                "Timestamp must increment by at least <MinimumPeriod> between sequential blocks"
            )
        self.Now.put(now)
        self.DidUpdate.put(True)
        self.other(Aura).check_time(now)

    def on_finalize(self, number: int) -> None:
        """Raise RuntimeTrap if the block has not stated its time."""
        if not self.DidUpdate.take():
            raise RuntimeTrap("Timestamp must be updated once in the block")

    def create_inherent(self, data: Mapping[bytes, bytes]) -> PalletCall | None:
        """Return the call that states the time: the author's, or later if the parent is too near."""
        if INHERENT not in data:
            return None
        previous = self.Now.get()
        proposed = int.from_bytes(data[INHERENT], "little")
        return "set", {"now": max(proposed, previous + self.Constant.MinimumPeriod) if previous else proposed}

    def check_inherent(self, call: PalletCall, data: Mapping[bytes, bytes]) -> None:
        """Raise RuntimeTrap if the stated time is too far ahead of this node's clock."""
        if INHERENT not in data:
            return
        now: int = split(call)[1]["now"]
        own_time = int.from_bytes(data[INHERENT], "little")
        if now > own_time + MAX_DRIFT_MS:
            raise RuntimeTrap(f"the block's time {now} is too far ahead of {own_time}")

    def is_inherent(self, call: PalletCall) -> bool:
        """Return True: `set` is the pallet's only call."""
        return True
