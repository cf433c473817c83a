"""Which assets can be swapped at the moment, and in which ways?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cfnode.core.assets import ASSETS
from cfnode.node.runtime_api import ApiMissing
from cfnode.rpc.broker_params import write_asset
from cfnode.rpc.cf.method import value

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["network_info"]


async def network_info(node: Node) -> dict[str, Any]:
    """The assets of the runtime; nothing is switched off but what a development chain does not have."""
    block = node.chain.best.hash
    boosted = await _boosted(node, block)
    names = await value(node, block, "cf_supported_assets")
    return {
        "assets": [_asset(name, name in boosted) for name in names if name in ASSETS],
        "cfBrokerCommissionBps": 0,
    }


async def _boosted(node: Node, block: bytes) -> set[str]:
    try:
        pools = await value(node, block, "cf_boost_pools_depth")
    except ApiMissing:
        return set()
    return {pool["asset"] for pool in pools}


def _asset(name: str, boost: bool) -> dict[str, Any]:
    return {
        "asset": write_asset(name),
        "vaultSwapDepositsEnabled": False,
        "depositChannelDepositsEnabled": True,
        "depositChannelCreationEnabled": True,
        "egressEnabled": True,
        "boostDepositsEnabled": boost,
        "livePriceProtectionEnabled": False,
    }
