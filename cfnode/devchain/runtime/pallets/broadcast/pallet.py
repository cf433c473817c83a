"""Broadcaster pallets of all chains.

Transactions for the EVM chains are built and signed here. On the others broadcasts are counted, with their
attempts and outcomes, and have no bytes.
"""

from __future__ import annotations

from cfnode.devchain.runtime.chains import CHAIN_INSTANCES

from .broadcaster import Broadcaster
from .evm import EvmBroadcaster

__all__ = ["BROADCASTERS", "Broadcaster", "EvmBroadcaster"]


def _made(name: str) -> type[Broadcaster]:
    chain = CHAIN_INSTANCES[name]
    kind: type[Broadcaster] = EvmBroadcaster if chain.is_evm else Broadcaster
    members = {
        "index": chain.broadcaster_index,
        "chain": chain,
        "names": chain.names,
        "__doc__": kind.__doc__,
    }
    return type(f"{name}Broadcaster", (kind,), members)


BROADCASTERS: dict[str, type[Broadcaster]] = {name: _made(name) for name in CHAIN_INSTANCES}
"""Broadcaster pallets by chain, in the order of their hooks."""
