"""How does a pallet read and write the addresses of other chains?

Extrinsics and events have them as text or raw bytes (`EncodedAddress`), the runtime keeps them in one form
for each chain (`ForeignChainAddress`). What a Bitcoin address is depends on the network.
"""

from __future__ import annotations

from cfnode.core.addresses import (
    NETWORKS,
    AddressError,
    EncodedAddress,
    ForeignAddress,
    Network,
    encode_foreign_address,
    foreign_address,
)
from cfnode.devchain.runtime.frame import ErrorSet, PalletStorage

from .environment_storage import EnvironmentStorage

__all__ = ["decoded", "encoded", "network_of"]


def network_of(pallet: PalletStorage) -> Network:
    """The Bitcoin network of the chain that the pallet belongs to."""
    return NETWORKS[pallet.other(EnvironmentStorage).ChainflipNetworkEnvironment.get()]


def encoded(pallet: PalletStorage, address: ForeignAddress) -> EncodedAddress:
    """An address as extrinsics and events have it."""
    return encode_foreign_address(address, network_of(pallet))


def decoded(pallet: PalletStorage, address: EncodedAddress, error: ErrorSet) -> ForeignAddress:
    """An address as the runtime keeps it; what is none fails with this error of the pallet's."""
    try:
        return foreign_address(address, network_of(pallet))
    except AddressError:
        pallet.fail(error)
