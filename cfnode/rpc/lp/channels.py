"""`lp_get_open_swap_channels`: the open deposit channels of swaps on five chains.

No runtime API returns them with their destination asset, so they are read from the storage of the
IngressEgress pallets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.core.addresses import address_to_text, encode_foreign_address
from cfnode.core.assets import CHAINS
from cfnode.core.scale import NotInMetadataError
from cfnode.core.state import BlockState
from cfnode.node.threads import convert_in_thread
from cfnode.rpc.cf.method import address_network
from cfnode.rpc.lp.rows import reading
from cfnode.rpc.substrate.storage import all_pairs, in_state
from cfnode.rpc.table.blocks import AT
from cfnode.rpc.table.broker_params import write_asset

if TYPE_CHECKING:
    from cfnode.node.node import Node

LISTED: Final = ("Ethereum", "Bitcoin", "Polkadot", "Arbitrum", "Solana")


async def open_swap_channels(node: Node, at: bytes | None) -> dict[str, list[dict[str, Any]]]:
    """Return the open deposit channels of swaps, by chain, at a block (default: the last finalized one)."""
    block = node.chain.finalized.hash if at is None else at
    return {chain.lower(): await _channels(node, block, chain) for chain in LISTED}


async def _channels(node: Node, block: bytes, chain: str) -> list[dict[str, Any]]:
    metadata = (await node.chain.runtime_at(block)).metadata
    try:
        item = metadata.storage(f"{chain}IngressEgress", "DepositChannelLookup")
    except NotInMetadataError:  # a runtime without the chain
        return []
    network = await address_network(node, block)

    def walk(state: BlockState) -> list[tuple[bytes, bytes]]:
        return all_pairs(state, item.prefix)

    def write(pairs: list[tuple[bytes, bytes]]) -> list[dict[str, Any]]:
        decoded = (item.decode(stored) for _, stored in pairs)
        return [channel for details in decoded if (channel := _swap_channel(details)) is not None]

    def _swap_channel(details: dict[str, Any]) -> dict[str, Any] | None:
        kind, action = details["action"]
        if kind != "Swap":
            return None
        channel = details["deposit_channel"]
        address = CHAINS[chain].address, channel["address"]
        return {
            "deposit_address": address_to_text(encode_foreign_address(address, network)),
            "source_asset": write_asset(channel["asset"]),
            "destination_asset": write_asset(action["destination_asset"]),
        }

    pairs = await in_state(node, block, walk)
    return await convert_in_thread(write, pairs)


METHODS: Final = (reading("lp_get_open_swap_channels", open_swap_channels, AT),)
