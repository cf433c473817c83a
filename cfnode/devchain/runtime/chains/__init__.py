"""The foreign chains: all that one is to the runtime stands in its file.

Block times are the nominal ones from which the main net's genesis took its channel lifetimes of 24 hours.
"""

from __future__ import annotations

from .arbitrum import ARBITRUM
from .assethub import ASSETHUB
from .bitcoin import BITCOIN
from .bsc import BSC
from .chain import DOLLAR, AssetTerms, ChainFamily, ChainInstance
from .contracts import EvmAddresses
from .costs import FeeData, TrackedData
from .ethereum import ETHEREUM
from .polkadot import POLKADOT
from .solana import SOLANA
from .tron import TRON

__all__ = [
    "ASSET_TERMS",
    "CHAIN_INSTANCES",
    "DOLLAR",
    "AssetTerms",
    "ChainFamily",
    "ChainInstance",
    "EvmAddresses",
    "FeeData",
    "TrackedData",
]

_LISTED = (
    ETHEREUM,
    POLKADOT,
    BITCOIN,
    ARBITRUM,
    SOLANA,
    ASSETHUB,
    TRON,
    BSC,
)
CHAIN_INSTANCES: dict[str, ChainInstance] = {chain.name: chain for chain in _LISTED}
"""The chains of all releases by name, in the order of the chain pallets' hooks."""

ASSET_TERMS: dict[str, AssetTerms] = {
    name: terms for chain in CHAIN_INSTANCES.values() for name, terms in chain.assets.items()
}
"""The assets of all chains by name."""
