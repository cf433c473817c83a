"""Discovery of nodes: named ones, and those that peers name in Kademlia lookups.

The user and the chain spec name reserved nodes and boot nodes; the node finds others by asking connected
peers for the nodes near random positions. On a live chain, private addresses that peers report are ignored.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable

from cfnode.core.p2p import kademlia
from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.kademlia import KnownPeer, Lookup, RoutingTable
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.network.interface import RequestFailed, RequestLimits

__all__ = ["FIND_NODE_LIMITS", "Discovery"]

FIND_NODE_LIMITS = RequestLimits(
    request=1024, response=kademlia.MAX_KADEMLIA_MESSAGE_BYTES, timeout=20.0, concurrent=32, window=256 * 1024
)

Ask = Callable[[str, bytes], Awaitable[bytes]]
"""A function of (peer id, query) that returns the answer; it raises RequestFailed."""


class Discovery:
    """The known addresses of peers. `named`: boot and reserved nodes, which are never forgotten."""

    def __init__(self, own: str, named: Iterable[Multiaddr], *, private: bool) -> None:
        self._table = RoutingTable(own)
        self._own, self._private = own, private
        self._named: dict[str, list[Multiaddr]] = {}
        for address in named:
            self.add_named(address)

    def __len__(self) -> int:
        """Return the number of peers with a known address, named ones included."""
        return len(self._table) + sum(peer not in self._table for peer in self._named)

    def add_named(self, address: Multiaddr) -> None:
        """Add a node that the user names."""
        if address.peer is not None and address.peer != self._own:
            addresses = self._named.setdefault(address.peer, [])
            if address.without_peer not in addresses:
                addresses.append(address.without_peer)

    def remove_named(self, peer: str) -> None:
        """Remove a named node; keep the addresses that other peers reported."""
        self._named.pop(peer, None)

    def learn(self, peer: str, addresses: Iterable[Multiaddr], *, met: bool) -> None:
        """Add a node's addresses, reported by itself over a connection (`met`) or by another peer."""
        usable = [address.without_peer for address in addresses if self._is_usable(address)]
        if usable:
            self._table.add(KnownPeer(peer, tuple(usable[: kademlia.MAX_ADDRESSES_OF_PEER]), met))

    def forget(self, peer: str) -> None:
        """Remove a node that could not be reached, unless it is a named one."""
        self._table.remove(peer)

    def addresses(self, peer: str) -> list[Multiaddr]:
        """Return the known addresses of a peer, those that the user named first."""
        entries = self._table.nearest(kademlia.peer_bytes(peer), 1) if peer in self._table else []
        return [*self._named.get(peer, []), *(address for entry in entries for address in entry.addresses)]

    def candidates(self) -> list[str]:
        """Return all peers that could be dialed: named ones, then met ones, then others.

        The order within the last two groups is random.
        """
        entries = self._table.nearest(secrets.token_bytes(32), len(self._table))
        entries.sort(key=lambda entry: not entry.met)
        return [*self._named, *(entry.peer for entry in entries if entry.peer not in self._named)]

    async def answer(self, peer: str, data: bytes) -> bytes | None:
        """Return the answer to FIND_NODE; None if `data` asks for something else.

        It names the nearest nodes among those that this node has met, so no unverified address.
        """
        target = kademlia.decode_query(data)
        return None if target is None else kademlia.answer(self._table.nearest(target, met=True))

    async def discover(self, connected: Iterable[str], ask: Ask) -> int:
        """Ask connected peers for the nodes near a random position; return the number of new nodes."""
        connected_peers = {peer: KnownPeer(peer, ()) for peer in connected}
        lookup, before = Lookup.start(secrets.token_bytes(32), connected_peers.values()), len(self._table)
        while (candidate := lookup.next()) is not None:
            if candidate.peer not in connected_peers:
                lookup.failed(candidate.peer)  # found but not connected: `dialing.py` may dial it
                continue
            await self._ask(candidate.peer, lookup, ask)
        return len(self._table) - before

    async def _ask(self, peer: str, lookup: Lookup, ask: Ask) -> None:
        try:
            entries = kademlia.decode_answer(await ask(peer, kademlia.query(lookup.target)))
        except (RequestFailed, RemoteError):
            lookup.failed(peer)
            return
        for entry in entries:
            self.learn(entry.peer, entry.addresses, met=False)
        lookup.answered(entries)

    def _is_usable(self, address: Multiaddr) -> bool:
        endpoint = address.endpoint
        if endpoint is None or endpoint.host in ("0.0.0.0", "::"):
            return False
        return self._private or address.is_global
