"""Which assets can be swapped at the moment, and in which ways?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.assets import ASSETS
from cfnode.node.runtime_api import ApiMissing
from cfnode.rpc.cf.method import value

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["network_info"]

_KNOWN_SINCE: Final = {
    (2, 1): ("Wbtc", "ArbUsdt", "SolUsdt"),
    (2, 2): ("Trx", "TrxUsdt"),
    (2, 3): ("Bnb", "BscUsdt", "Cbbtc"),
}
"""Assets that older SDKs do not know, and fall over, by the version that does."""
_VERSION: Final = re.compile(r"(\d{1,4})\.(\d{1,4})\.")


async def network_info(node: Node, sdk_version: str) -> dict[str, Any]:
    """The assets of the runtime, by variant name, as far as the SDK that asks knows them.

    What is switched on is what the chain's safe mode says, and boost where something has been put up.
    """
    block = node.chain.best.hash
    boosted = await _boosted(node, block)
    names = await value(node, block, "cf_supported_assets")
    switches = await value(node, block, "cf_safe_mode_statuses")
    unknown = _unknown_to(sdk_version)
    return {
        "assets": [
            _asset(name, switches, name in boosted)
            for name in names
            if name in ASSETS and name not in unknown
        ],
        "cfBrokerCommissionBps": 0,
    }


def _unknown_to(sdk_version: str) -> set[str]:
    found = _VERSION.match(sdk_version)
    if found is None:
        return set()
    version = int(found[1]), int(found[2])
    return {name for since, names in _KNOWN_SINCE.items() if version < since for name in names}


async def _boosted(node: Node, block: bytes) -> set[str]:
    try:
        pools = await value(node, block, "cf_boost_pools_depth")
    except ApiMissing:
        return set()
    return {pool["asset"] for pool in pools}


def _asset(name: str, switches: dict[str, Any], boosted: bool) -> dict[str, Any]:
    chain = ASSETS[name].chain.lower()
    deposits = switches[f"ingress_egress_{chain}"]
    return {
        "asset": name,
        "vaultSwapDepositsEnabled": deposits["vault_deposit_witnessing_enabled"],
        "depositChannelDepositsEnabled": deposits["deposit_channel_witnessing_enabled"],
        "depositChannelCreationEnabled": deposits["deposit_channel_creation_enabled"],
        "egressEnabled": switches[f"broadcast_{chain}"]["egress_witnessing_enabled"],
        "boostDepositsEnabled": boosted and deposits["boost_deposits_enabled"],
        "livePriceProtectionEnabled": False,
    }
