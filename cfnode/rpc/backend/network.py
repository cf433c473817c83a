"""Which assets can be swapped at the moment, and in which ways?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

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

    Nothing is switched off but what a development chain does not have.
    """
    block = node.chain.best.hash
    boosted = await _boosted(node, block)
    names = await value(node, block, "cf_supported_assets")
    unknown = _unknown_to(sdk_version)
    return {
        "assets": [_asset(name, name in boosted) for name in names if name not in unknown],
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


def _asset(name: str, boost: bool) -> dict[str, Any]:
    return {
        "asset": name,
        "vaultSwapDepositsEnabled": False,
        "depositChannelDepositsEnabled": True,
        "depositChannelCreationEnabled": True,
        "egressEnabled": True,
        "boostDepositsEnabled": boost,
        "livePriceProtectionEnabled": False,
    }
