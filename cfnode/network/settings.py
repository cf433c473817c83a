"""Settings of the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cfnode.core.p2p.multiaddr import Multiaddr

__all__ = ["NetworkSettings"]


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Addresses, known nodes, slots and names. `genesis` and `fork_id` are part of the protocols' names."""

    genesis: bytes
    fork_id: str | None = None
    listen: Sequence[Multiaddr] = ()
    public: Sequence[Multiaddr] = ()
    """Addresses to announce, in addition to those that we listen at."""
    boot_nodes: Sequence[Multiaddr] = ()
    reserved_nodes: Sequence[Multiaddr] = ()
    reserved_only: bool = False
    in_peers: int = 32
    in_peers_light: int = 100
    """Slots of inbound light nodes; they take none of the others."""
    out_peers: int = 8
    agent: str = "cfnode"
    private_addresses: bool = False
    """Whether private addresses that peers report are dialed: on development and local chains."""

    useful_peers: Path | None = None
    """The file of peers that proved useful; None: the peers are forgotten when the node stops."""

    @property
    def named_peers(self) -> frozenset[str]:
        """The peers that the user or the chain spec names."""
        return frozenset(address.peer for address in (*self.boot_nodes, *self.reserved_nodes) if address.peer)

    def protocol(self, suffix: str) -> str:
        """Return the full name of a protocol of this chain."""
        return "/".join(["", self.genesis.hex(), *([self.fork_id] if self.fork_id else []), suffix])
