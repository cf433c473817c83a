"""Which strangers are let in, and who makes way for whom?

1. A connection that is not secured yet is half-open. There are few places for those, and a new one always
   gets one: where all are taken, the oldest half-open connection makes way, of the address that has most of
   them in the network that has most. So one that holds many places open loses them to all others.
2. A secured connection takes a place among the peers. Where all are taken, the newest stranger of the
   network that has most connections makes way for one of a network that has two fewer. Some places beyond
   are kept for peers that proved useful before, and reserved nodes and those that we called need none.
3. One address of the internet gets so many connections, secured or not.

A network is what one party usually has: a /24 of IPv4, a /48 of IPv6. Strangers that call from private
addresses or this machine share a network like all others, but have no limit of an address: test chains live
there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Protocol

import trio

from cfnode.core.p2p.multiaddr import Multiaddr

__all__ = ["MAX_PENDING", "MAX_PER_ADDRESS", "USEFUL_PLACES", "Admission", "network_of", "newest_of_crowd",
           "origin_of"]  # fmt: skip

SPARE_CONNECTIONS = 16
"""Connections beyond the slots: for who only asks, or looks for peers."""
MAX_PENDING = 32
"""Half-open connections that strangers began."""
MAX_PER_ADDRESS = 5
"""Connections from one address of the internet, or one IPv6 network of 64 bits, which one subscriber has."""
USEFUL_PLACES = 8
"""Places beyond the others for peers that proved useful before."""


class Guest(Protocol):
    """What has to be known of a connection to compare it with others."""

    @property
    def address(self) -> Multiaddr: ...
    @property
    def inbound(self) -> bool: ...


@dataclass(slots=True, eq=False)
class _HalfOpen:
    network: str
    origin: str
    scope: trio.CancelScope


class Admission:
    """The places of one node. `places`: of secured connections. `reserved`, `useful`: live views."""

    def __init__(self, places: int, reserved: Container[str], useful: Container[str]) -> None:
        self._places, self._reserved, self._useful = places + SPARE_CONNECTIONS, reserved, useful
        self._per_address: Counter[str] = Counter()
        self._half_open: list[_HalfOpen] = []  # the oldest first

    @property
    def pending(self) -> int:
        """How many connections are half-open."""
        return len(self._half_open)

    def crowded(self, address: Multiaddr) -> bool:
        """Whether a stranger's address has all the connections that it may have."""
        return address.is_global and self._per_address[origin_of(address)] >= MAX_PER_ADDRESS

    @contextmanager
    def counted(self, address: Multiaddr) -> Iterator[None]:
        """Count a stranger's connection, from before it is secured, with the others from there."""
        origin = origin_of(address)
        self._per_address[origin] += 1
        try:
            yield
        finally:
            self._per_address[origin] -= 1
            self._per_address += Counter()  # drops what is at zero

    @contextmanager
    def half_open(self, address: Multiaddr) -> Iterator[trio.CancelScope]:
        """Hold a place for a connection that is being secured; cancelled where it has to make way."""
        if len(self._half_open) >= MAX_PENDING:
            self._evict()
        with trio.CancelScope() as scope:
            entry = _HalfOpen(network_of(address), origin_of(address), scope)
            self._half_open.append(entry)
            try:
                yield scope
            finally:
                if entry in self._half_open:
                    self._half_open.remove(entry)

    def _evict(self) -> None:
        network = _heaviest(entry.network for entry in self._half_open)
        origin = _heaviest(entry.origin for entry in self._half_open if entry.network == network)
        oldest = next(entry for entry in self._half_open if entry.origin == origin)
        self._half_open.remove(oldest)
        oldest.scope.cancel()

    def takes(self, peer: str, address: Multiaddr, others: Mapping[str, Guest]) -> str | None:
        """Who has to go for a stranger that called and is secured now: "" where nobody has to, None where it
        is not let in."""
        if peer in self._reserved or len(others) < self._places:
            return ""
        if peer in self._useful and len(others) < self._places + USEFUL_PLACES:
            return ""
        strangers = {
            other: guest.address
            for other, guest in others.items()
            if guest.inbound and other not in self._reserved and other not in self._useful
        }
        return newest_of_crowd(strangers, address)


def newest_of_crowd(strangers: Mapping[str, Multiaddr], address: Multiaddr) -> str | None:
    """Of strangers, the newest last, the one that makes way for another at this address; None for nobody."""
    counts = Counter(network_of(each) for each in strangers.values())
    crowd = max(counts, key=counts.__getitem__, default=None)
    if crowd is None or counts[crowd] < counts[network_of(address)] + 2:
        return None
    return [other for other, each in strangers.items() if network_of(each) == crowd][-1]


def origin_of(address: Multiaddr) -> str:
    """Whose address is it? Of IPv6 the first half tells: whoever has that has all the rest."""
    return _within(address, 32, 64)


def network_of(address: Multiaddr) -> str:
    """The network that the address lies in."""
    return _within(address, 24, 48)


def _within(address: Multiaddr, bits4: int, bits6: int) -> str:
    kind, host = address.parts[0]
    if kind not in ("ip4", "ip6"):
        return host
    return str(ip_network((host, bits6 if kind == "ip6" else bits4), strict=False))


def _heaviest(names: Iterator[str]) -> str:
    counts = Counter(names)
    return max(counts, key=counts.__getitem__)
