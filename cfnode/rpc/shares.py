"""Whose connection is one too many? One address may not have them all.

An address has a share of the connections; this machine itself (127.0.0.1 and ::1), and networks that
--rpc-rate-limit-whitelisted-ips names, such as a proxy that speaks for many, may have all. When there is no
place left, an idle connection of the address with most makes way for one of an address with fewer.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection
from ipaddress import ip_address
from typing import Final, Protocol

from cfnode.node.config import RpcConfig
from cfnode.rpc.access import is_within, networks

__all__ = ["SHARE", "Shares"]

log = logging.getLogger("cfnode.rpc")

SHARE: Final = 4
"""An address may have one in so many of all connections: browsers open six, scripts of a machine some ten."""
THIS_MACHINE: Final = frozenset({"127.0.0.1", "::1"})


class Served(Protocol):
    """A connection, as far as it matters here."""

    @property
    def address(self) -> str:
        """The address of the other end."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way for it."""

    def abort(self) -> None:
        """Close it now."""


class Shares:
    """The rule of one server."""

    def __init__(self, config: RpcConfig) -> None:
        self._places = config.max_connections
        self._share = max(1, config.max_connections // SHARE)
        self._exempt = networks(config.rate_limit_whitelist)

    def admit(self, address: str, served: Collection[Served]) -> bool:
        """Whether a connection from an address is served beside these; one of them may be closed for it."""
        counts = Counter(connection.address for connection in served)
        if counts[address] >= self._share and not self._is_exempt(address):
            return False
        if len(served) < self._places:
            return True
        return self._makes_way(counts, counts[address] + 1, served)

    def _makes_way(self, counts: Counter[str], least: int, served: Collection[Served]) -> bool:
        """Close an idle connection of the address with most, if that has more than `least`."""
        for address, count in counts.most_common():
            if count <= least:
                return False
            idle = next((each for each in served if each.address == address and each.is_idle), None)
            if idle is not None and not self._is_exempt(address):
                log.debug("an idle connection of %s makes way", address)
                idle.abort()
                return True
        return False

    def _is_exempt(self, address: str) -> bool:
        try:
            parsed = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        mapped = getattr(parsed, "ipv4_mapped", None)
        return str(mapped or parsed) in THIS_MACHINE or is_within(address, self._exempt)
