"""Admission of inbound connections: slots, limits of each address, and eviction.

A *stranger* is a peer that connected to us and is neither reserved nor known to be useful.

1. A connection that is not secured yet is half-open. There are few slots for those, and a new connection
   always gets one: where all are taken, the oldest half-open connection is evicted, of the address that has
   most of them in the network that has most. So a party that holds many slots loses them to all others.
2. A secured connection takes a slot of a peer. Where all are taken, the newest stranger of the network with
   most connections is evicted for one of a network with at least two fewer. Some further slots are kept for
   peers that proved useful before; reserved nodes and nodes that we dialed need no slot.
3. One address of the internet gets a limited number of connections, secured or not.

A network is what one party usually owns: a /24 of IPv4, a /48 of IPv6. Strangers at private addresses or on
this machine share a network like all others, but their addresses have no limit: test chains use them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import trio

from cfnode.core.ip_addresses import network_of, party_of
from cfnode.core.p2p.multiaddr import Multiaddr

__all__ = [
    "MAX_HALF_OPEN_CONNECTIONS",
    "MAX_PER_ADDRESS",
    "USEFUL_SLOTS",
    "ConnectionAdmission",
    "newest_of_largest_network",
    "origin_of",
]

SPARE_CONNECTIONS = 16
"""Connections beyond the slots: for nodes that only send requests, or look for peers."""
MAX_HALF_OPEN_CONNECTIONS = 32
"""Half-open inbound connections."""
MAX_PER_ADDRESS = 5
"""Connections from one address of the internet, or one IPv6 network of 64 bits, which one subscriber has."""
USEFUL_SLOTS = 8
"""Further slots for peers that proved useful before."""


class Candidate(Protocol):
    """A connection that may be evicted: the properties that the decision depends on."""

    @property
    def address(self) -> Multiaddr: ...
    @property
    def inbound(self) -> bool: ...


@dataclass(slots=True, eq=False)
class _HalfOpen:
    network: str
    origin: str
    scope: trio.CancelScope


class ConnectionAdmission:
    """The connection slots of one node.

    `slots`: the number of peer slots. `reserved`, `useful`: live views of the ids of such peers.
    """

    def __init__(self, slots: int, reserved: Container[str], useful: Container[str]) -> None:
        self._slots, self._reserved, self._useful = slots + SPARE_CONNECTIONS, reserved, useful
        self._per_address: Counter[str] = Counter()
        self._half_open: list[_HalfOpen] = []  # the oldest first

    @property
    def pending(self) -> int:
        """The number of half-open connections."""
        return len(self._half_open)

    def at_limit(self, address: Multiaddr) -> bool:
        """Return whether an address has as many inbound connections as it may have."""
        return address.is_global and self._per_address[origin_of(address)] >= MAX_PER_ADDRESS

    @contextmanager
    def counted(self, address: Multiaddr) -> Iterator[None]:
        """Count an inbound connection of an address while the block runs."""
        origin = origin_of(address)
        self._per_address[origin] += 1
        try:
            yield
        finally:
            self._per_address[origin] -= 1
            self._per_address += Counter()  # removes zero counts

    @contextmanager
    def half_open(self, address: Multiaddr) -> Iterator[trio.CancelScope]:
        """Hold a slot for a connection that is being secured; eviction cancels the scope."""
        if len(self._half_open) >= MAX_HALF_OPEN_CONNECTIONS:
            self._evict()
        with trio.CancelScope() as scope:
            entry = _HalfOpen(_network(address), origin_of(address), scope)
            self._half_open.append(entry)
            try:
                yield scope
            finally:
                if entry in self._half_open:
                    self._half_open.remove(entry)

    def _evict(self) -> None:
        network = _most_common(entry.network for entry in self._half_open)
        origin = _most_common(entry.origin for entry in self._half_open if entry.network == network)
        oldest = next(entry for entry in self._half_open if entry.origin == origin)
        self._half_open.remove(oldest)
        oldest.scope.cancel()

    def eviction_for(self, peer: str, address: Multiaddr, others: Mapping[str, Candidate]) -> str | None:
        """Return the peer to evict for a new inbound peer.

        "" if a slot is free; None if the new peer is refused.
        """
        if peer in self._reserved or len(others) < self._slots:
            return ""
        if peer in self._useful and len(others) < self._slots + USEFUL_SLOTS:
            return ""
        strangers = {
            peer_id: candidate.address
            for peer_id, candidate in others.items()
            if candidate.inbound and peer_id not in self._reserved and peer_id not in self._useful
        }
        return newest_of_largest_network(strangers, address)


def newest_of_largest_network(strangers: Mapping[str, Multiaddr], address: Multiaddr) -> str | None:
    """Return the stranger to evict for a newcomer at this address; None if none is evicted.

    `strangers`: addresses by peer id, the newest last.
    """
    counts = Counter(_network(stranger) for stranger in strangers.values())
    largest = max(counts, key=counts.__getitem__, default=None)
    if largest is None or counts[largest] < counts[_network(address)] + 2:
        return None
    return [peer for peer, stranger in strangers.items() if _network(stranger) == largest][-1]


def origin_of(address: Multiaddr) -> str:
    """Return the party whose address this is."""
    return party_of(address.parts[0][1])


def _network(address: Multiaddr) -> str:
    return network_of(address.parts[0][1])


def _most_common(names: Iterator[str]) -> str:
    counts = Counter(names)
    return max(counts, key=counts.__getitem__)
