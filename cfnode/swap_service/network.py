"""Assets that can be swapped now, and in which ways: those with a pool, as far as safe mode allows."""

from __future__ import annotations

import re
from typing import Any, Final

from cfnode.core.assets import ASSETS
from cfnode.core.runtime_api import ApiMissing
from cfnode.swap_service.source import BestBlock

__all__ = ["network_info", "network_status"]

_KNOWN_SINCE: Final = {
    (2, 1): ("Wbtc", "ArbUsdt", "SolUsdt"),
    (2, 2): ("Trx", "TrxUsdt"),
    (2, 3): ("Bnb", "BscUsdt", "Cbbtc"),
}
"""Assets on which older SDKs fail, by the first SDK version that knows them."""
_VERSION: Final = re.compile(r"(\d{1,4})\.(\d{1,4})\.")


async def network_info(block: BestBlock, sdk_version: str) -> dict[str, Any]:
    """Return the assets with a pool that the requesting SDK knows, by variant name.

    The chain's safe mode decides which functions are enabled; boost is enabled if a boost pool has funds.
    """
    boosted = await _boosted(block)
    pools = await block.value("cf_pools")
    swapped = {asset for pair in pools for asset in pair.values()} - _unknown_to(sdk_version)
    switches = await block.value("cf_safe_mode_statuses")
    return {
        "assets": [_asset(name, switches, name in boosted) for name in ASSETS if name in swapped],
        "cfBrokerCommissionBps": 0,
    }


async def network_status(block: BestBlock, sdk_version: str) -> dict[str, Any]:
    """Return the assets of `network_info` in the format of SDK 1.9: lists of names by function."""
    info = await network_info(block, sdk_version)
    assets = info["assets"]

    def named(switch: str) -> list[str]:
        return [asset["asset"] for asset in assets if asset[switch]]

    return {
        "assets": {
            "all": [asset["asset"] for asset in assets],
            "deposit": named("depositChannelDepositsEnabled"),
            "destination": named("egressEnabled"),
        },
        "boostDepositsEnabled": bool(named("boostDepositsEnabled")),
        "cfBrokerCommissionBps": info["cfBrokerCommissionBps"],
    }


def _unknown_to(sdk_version: str) -> set[str]:
    match = _VERSION.match(sdk_version)
    if match is None:
        return set()
    version = int(match[1]), int(match[2])
    return {name for since, names in _KNOWN_SINCE.items() if version < since for name in names}


async def _boosted(block: BestBlock) -> set[str]:
    try:
        pools = await block.value("cf_boost_pools_depth")
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
