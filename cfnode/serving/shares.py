"""Shares of a port's connections by address, and the choice of connections to refuse or close.

No address may have all connections.

An idle HTTP connection takes no place: when a place is needed, such a connection is closed, of the address
with most connections first, and of those the one that is idle longest. What is left to share are connections
in use:

- Each address has a share of them. This machine has more, and all of them if the server listens for it alone.
  The exempt networks may have all too, such as those of trusted proxies, which connect for many clients.
- When the server is full, an idle WebSocket (or a request whose head is not complete) of the address with
  most makes way for a connection of an address with fewer.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final, Protocol

import trio

from cfnode.core.ip_addresses import party_of
from cfnode.web.networks import Network, is_within

__all__ = ["MIN_IDLE_S", "SHARE", "ConnectionShares"]

log = logging.getLogger("cfnode.serving")

SHARE: Final = 4
"""An address (of IPv6, a network of 64 bits) may have one connection in SHARE: browsers open six, the scripts
of a machine some ten."""
OTHERS: Final = 10
"""One connection in OTHERS of an external port is kept for other machines than this one."""
THIS_MACHINE: Final = frozenset({"127.0.0.1", "::1"})
MIN_IDLE_S: Final = 1.0
"""An HTTP connection that is idle for a shorter time keeps its place: its next request may be on the way."""


class SharedConnection(Protocol):
    """The part of a connection that this module uses."""

    @property
    def address(self) -> str:
        """The address of the other end."""

    @property
    def party(self) -> str:
        """The party that the connection counts for."""

    @property
    def is_idle(self) -> bool:
        """Whether no request is in progress."""

    @property
    def idle_since(self) -> float | None:
        """The time at which an HTTP connection became idle; None for other connections."""

    @property
    def has_unread(self) -> bool:
        """Whether the client has sent bytes that were not received yet; this asks the kernel."""

    def abort(self) -> None:
        """Close the connection now."""


class ConnectionShares:
    """The connection limits of one server. `exempt`: networks that may have all connections."""

    def __init__(self, limit: int, *, is_external: bool, exempt: Sequence[Network] = ()) -> None:
        self._limit = limit
        self._share = max(1, limit // SHARE)
        self._own_share = limit - limit // OTHERS if is_external else limit
        self._exempt = tuple(exempt)

    def admit(self, address: str, served: Collection[SharedConnection]) -> bool:
        """Return whether to serve a connection from `address`.

        An idle one of `served` may be closed for it.
        """
        party = party_of(address)
        counts = Counter(connection.party for connection in served)
        if counts[party] >= self._share_of(address):
            return _close_idle(counts, [connection for connection in served if connection.party == party])
        if len(served) < self._limit:
            return True
        return _close_idle(counts, served) or self._evict(counts, counts[party] + 1, served)

    def _evict(self, counts: Counter[str], minimum: int, served: Collection[SharedConnection]) -> bool:
        """Close an idle connection of the address with most, if it has more than `minimum`.

        Return whether one was closed.
        """
        for party, count in counts.most_common():
            if count <= minimum:
                return False
            idle = next(
                (connection for connection in served if connection.party == party and connection.is_idle),
                None,
            )
            if idle is not None and not self._is_exempt(idle.address) and not _is_here(idle.address):
                log.debug("closing an idle connection of %s to make room", idle.address)
                idle.abort()
                return True
        return False

    def _share_of(self, address: str) -> int:
        if self._is_exempt(address):
            return self._limit
        return self._own_share if _is_here(address) else self._share

    def _is_exempt(self, address: str) -> bool:
        return is_within(address, self._exempt)


def _is_here(address: str) -> bool:
    return party_of(address) in THIS_MACHINE


def _close_idle(counts: Counter[str], connections: Collection[SharedConnection]) -> bool:
    """Close one idle HTTP connection if there is one, and return whether there was."""
    latest = trio.current_time() - MIN_IDLE_S
    idle = sorted(
        (-counts[connection.party], since, number, connection)
        for number, connection in enumerate(connections)
        if (since := connection.idle_since) is not None and since <= latest
    )
    connection = next((connection for *_, connection in idle if not connection.has_unread), None)
    if connection is None:
        return False
    log.debug("closing an idle connection of %s: another client needs its place", connection.address)
    connection.abort()
    return True
