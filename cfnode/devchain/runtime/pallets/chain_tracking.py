"""Height and transaction fees of each foreign chain.

‹Chain›ChainTracking (pallet_cf_chain_tracking). On the main net the authorities vote on what they see; here
the height follows the block's timestamp at the chain's nominal block time, so that every importer of a block
comes to the same height, and fees stay as genesis has them, times the multiplier that governance sets.
"""

from __future__ import annotations

from dataclasses import replace

from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import TrackedData
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.frame import ErrorSet, EventSet, OptionalValue, Origin, Value, call, event
from cfnode.devchain.runtime.pallets.chain_pallet import ChainPallet, per_chain
from cfnode.devchain.runtime.pallets.timestamp import Timestamp

__all__ = ["CHAIN_TRACKING", "ChainTracking"]

FIXED_ONE = 10**18


class ChainTracking(ChainPallet):
    """Height and fees of one chain. Heights are always multiples of its witness period."""

    crate = "pallet_cf_chain_tracking"

    CurrentChainState = OptionalValue[values.ChainState]("ChainState")
    FeeMultiplier = Value[int]("FixedU128", default=FIXED_ONE)

    class Event(EventSet):
        """Events of a chain's height and fees."""

        ChainStateUpdated = event(0, new_chain_state="ChainState")
        FeeMultiplierUpdated = event(1, new_fee_multiplier="FixedU128")

    class Error(ErrorSet):
        """Errors of reported heights."""

        StaleDataSubmitted = "The submitted data is too old."
        InvalidBlockHeight = "Block height must be a multiple of the witness period"

    @call(1, new_fee_multiplier="FixedU128")
    def update_fee_multiplier(self, origin: Origin, new_fee_multiplier: int) -> None:
        """Take so many times what the chain's transactions are thought to cost. Governance."""
        origin.ensure_governance()
        self.FeeMultiplier.put(new_fee_multiplier)
        self.deposit(self.Event.FeeMultiplierUpdated, new_fee_multiplier=new_fee_multiplier)

    def genesis(self, config: DevGenesis) -> None:
        """Store the chain's fees; the height follows once a block has a time."""
        self.CurrentChainState.put(values.ChainState(block_height=0, tracked_data=self.chain.tracked_data))

    def height(self) -> int:
        """Return the chain's height as of the parent block; in the first block its own."""
        state = self.CurrentChainState.get()
        return (state and state.block_height) or self._height_now()

    def tracked_data(self) -> TrackedData:
        """Return what is known of the chain's fees."""
        return self.CurrentChainState.known().tracked_data

    def on_finalize(self, number: int) -> None:
        """Raise the height to that of the block's timestamp."""
        state, height = self.CurrentChainState.get(), self._height_now()
        if state is None or height <= state.block_height:
            return
        state = replace(state, block_height=height)
        self.CurrentChainState.put(state)
        self.deposit(self.Event.ChainStateUpdated, new_chain_state=state)

    def _height_now(self) -> int:
        return self.chain.height_at(self.other(Timestamp).Now.get()) if self.chain.tracked else 0


CHAIN_TRACKING = per_chain(ChainTracking, lambda chain: chain.tracking_index)
