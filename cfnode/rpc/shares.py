"""Which connection is refused or closed when there are too many? No address may have all connections.

Each address has a share of the connections. This machine itself (127.0.0.1 and ::1) and the networks in
--rpc-rate-limit-whitelisted-ips, such as a proxy for many clients, may have all. When the server is full, an
idle connection of the address with most is closed for a connection of an address with fewer.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection
from typing import Final, Protocol

from cfnode.node.config import RpcConfig
from cfnode.rpc.networks import is_within, networks, peer_address

__all__ = ["SHARE", "Shares"]

log = logging.getLogger("cfnode.rpc")

SHARE: Final = 4
"""An address may have one connection in SHARE: browsers open six, the scripts of a machine some ten."""
THIS_MACHINE: Final = frozenset({"127.0.0.1", "::1"})


class Served(Protocol):
    """The part of a connection that this module uses."""

    @property
    def address(self) -> str:
        """The address of the other end."""

    @property
    def is_idle(self) -> bool:
        """Whether no request is in progress."""

    def abort(self) -> None:
        """Close it now."""


class Shares:
    """The connection limits of one server."""

    def __init__(self, config: RpcConfig) -> None:
        self._limit = config.max_connections
        self._share = max(1, config.max_connections // SHARE)
        self._exempt = networks("--rpc-rate-limit-whitelisted-ips", config.rate_limit_whitelist)

    def admit(self, address: str, served: Collection[Served]) -> bool:
        """Whether to serve a connection from `address`; an idle one of `served` may be closed for it."""
        counts = Counter(connection.address for connection in served)
        if counts[address] >= self._share and not self._is_exempt(address):
            return False
        if len(served) < self._limit:
            return True
        return self._evict(counts, counts[address] + 1, served)

    def _evict(self, counts: Counter[str], minimum: int, served: Collection[Served]) -> bool:
        """Close an idle connection of the address with most, if it has more than `minimum`."""
        for address, count in counts.most_common():
            if count <= minimum:
                return False
            idle = next((each for each in served if each.address == address and each.is_idle), None)
            if idle is not None and not self._is_exempt(address):
                log.debug("closing an idle connection of %s to make room", address)
                idle.abort()
                return True
        return False

    def _is_exempt(self, address: str) -> bool:
        return str(peer_address(address)) in THIS_MACHINE or is_within(address, self._exempt)
