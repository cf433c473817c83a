"""Conversion between encoded addresses of other chains and the form that storage has.

Extrinsics and events have addresses as text or raw bytes (`EncodedAddress`), storage has one form for each
chain (`ForeignChainAddress`). The encoding of a Bitcoin address depends on the network.
"""

from __future__ import annotations

from cfnode.core.addresses import (
    NETWORKS,
    AddressError,
    BitcoinNetwork,
    EncodedAddress,
    ForeignAddress,
    encode_foreign_address,
    foreign_address,
)
from cfnode.devchain.runtime.frame import ErrorSet, PalletStorage

from .environment_storage import EnvironmentStorage

__all__ = ["decoded", "encoded", "network_of"]


def network_of(pallet: PalletStorage) -> BitcoinNetwork:
    """Return the Bitcoin network of the chain that the pallet belongs to."""
    return NETWORKS[pallet.other(EnvironmentStorage).ChainflipNetworkEnvironment.get()]


def encoded(pallet: PalletStorage, address: ForeignAddress) -> EncodedAddress:
    """Return an address as extrinsics and events encode it."""
    return encode_foreign_address(address, network_of(pallet))


def decoded(pallet: PalletStorage, address: EncodedAddress, error: ErrorSet) -> ForeignAddress:
    """Return an address as storage has it. A malformed one fails with `error`, which is the pallet's."""
    try:
        return foreign_address(address, network_of(pallet))
    except AddressError:
        pallet.fail(error)
