"""Events of a block in today's form, whatever release of the chain has executed it."""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.core.addresses import NETWORKS, BitcoinNetwork
from cfnode.core.block import BlockRef
from cfnode.core.scale.metadata import Metadata
from cfnode.core.state import BlockState
from cfnode.node.chain.block_events import BlockEvent
from cfnode.node.chain.view import ChainView
from cfnode.swaps.genesis_events import is_genesis_release, todays_events

__all__ = ["events_of", "network_in"]


async def events_of(chain: ChainView, block: BlockRef) -> Sequence[BlockEvent]:
    """Return the events of a block. Raises UnknownBlock, StateDiscarded, RuntimeCallError or ScaleError."""
    metadata = (await chain.runtime_executing(block.hash)).metadata
    events = (await chain.events(block.hash)).all
    if not is_genesis_release(metadata):
        return events
    named = [(event.pallet, event.name, event.fields) for event in events]
    return [BlockEvent(*event) for event in todays_events(named, block.number)]


def network_in(metadata: Metadata, state: BlockState) -> BitcoinNetwork:
    """Return the network to which the addresses of a chain belong. Raises ScaleError."""
    item = metadata.storage("Environment", "ChainflipNetworkEnvironment")
    return NETWORKS[str(item.decode(state.get(item.key())))]
