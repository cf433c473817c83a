"""Whom could we call?

Boot nodes and reserved nodes are given; everybody else is found by asking connected peers for the nodes near
random places (Kademlia). Known nodes are dialed while slots are free, each at most so often as its failures
allow. A live chain takes no private addresses from strangers.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable

from cfnode.core.p2p import kademlia
from cfnode.core.p2p.errors import RemoteError
from cfnode.core.p2p.kademlia import KnownPeer, Lookup, RoutingTable
from cfnode.core.p2p.multiaddr import Multiaddr
from cfnode.network.model import RequestFailed, RequestLimits

__all__ = ["LIMITS", "Discovery"]

LIMITS = RequestLimits(
    request=1024, response=kademlia.MAX_MESSAGE, timeout=20.0, concurrent=32, window=256 * 1024
)

Ask = Callable[[str, bytes], Awaitable[bytes]]
"""(peer id, query) to the answer; raises RequestFailed."""


class Discovery:
    """The address book. `given`: boot and reserved nodes, which are never forgotten."""

    def __init__(self, own: str, given: Iterable[Multiaddr], *, private: bool) -> None:
        self._table = RoutingTable(own)
        self._own, self._private = own, private
        self._given: dict[str, list[Multiaddr]] = {}
        for address in given:
            self.give(address)

    def give(self, address: Multiaddr) -> None:
        """The user names a node."""
        if address.peer is not None and address.peer != self._own:
            known = self._given.setdefault(address.peer, [])
            if address.without_peer not in known:
                known.append(address.without_peer)

    def take_back(self, peer: str) -> None:
        """The user names it no longer; what others say of it stays."""
        self._given.pop(peer, None)

    def learn(self, peer: str, addresses: Iterable[Multiaddr], *, met: bool) -> None:
        """A node listens there, as it says itself when we meet it, or as another one says."""
        useful = [address.without_peer for address in addresses if self._useful(address)]
        if useful:
            self._table.add(KnownPeer(peer, tuple(useful[: kademlia.MAX_ADDRESSES]), met))

    def forget(self, peer: str) -> None:
        """The node could not be reached."""
        self._table.remove(peer)

    def addresses(self, peer: str) -> list[Multiaddr]:
        """Where the peer is said to be; those given by the user first."""
        known = self._table.nearest(kademlia.peer_bytes(peer), 1) if peer in self._table else []
        return [*self._given.get(peer, []), *(address for entry in known for address in entry.addresses)]

    def candidates(self) -> list[str]:
        """All peers that could be dialed: the given ones, those we have met, others; each in random order."""
        found = self._table.nearest(secrets.token_bytes(32), len(self._table))
        found.sort(key=lambda entry: not entry.met)
        return [*self._given, *(entry.peer for entry in found if entry.peer not in self._given)]

    async def answer(self, peer: str, data: bytes) -> bytes | None:
        """Serve FIND_NODE truthfully: the nearest nodes that we have met ourselves."""
        target = kademlia.decode_query(data)
        return None if target is None else kademlia.answer(self._table.nearest(target, met=True))

    async def look_around(self, connected: Iterable[str], ask: Ask) -> int:
        """Ask connected peers for the nodes near a random place; how many were new."""
        live = {peer: KnownPeer(peer, ()) for peer in connected}
        lookup, before = Lookup.start(secrets.token_bytes(32), live.values()), len(self._table)
        while (asked := lookup.next()) is not None:
            if asked.peer not in live:
                lookup.failed(asked.peer)  # found, not connected: the dialer will see to it
                continue
            await self._ask(asked.peer, lookup, ask)
        return len(self._table) - before

    async def _ask(self, peer: str, lookup: Lookup, ask: Ask) -> None:
        try:
            found = kademlia.decode_answer(await ask(peer, kademlia.query(lookup.target)))
        except (RequestFailed, RemoteError):
            lookup.failed(peer)
            return
        for entry in found:
            self.learn(entry.peer, entry.addresses, met=False)
        lookup.answered(found)

    def _useful(self, address: Multiaddr) -> bool:
        endpoint = address.endpoint
        if endpoint is None or endpoint.host in ("0.0.0.0", "::"):
            return False
        return self._private or address.is_global
