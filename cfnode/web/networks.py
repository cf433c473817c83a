"""Addresses and networks (CIDR) that a flag lists, of IPv4 and IPv6."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final

from cfnode.core.ip_addresses import peer_address

__all__ = ["NEARBY", "BadFlagError", "Network", "is_loopback", "is_within", "networks"]

Network = IPv4Network | IPv6Network


class BadFlagError(Exception):
    """Error for a malformed value of a flag; the text names the flag, the value and what it takes."""

    exit_code = 2


def networks(flag: str, texts: Iterable[str]) -> tuple[Network, ...]:
    """Return the addresses and networks that `flag` lists. Raise BadFlagError."""
    try:
        return tuple(ip_network(text, strict=False) for text in texts)
    except ValueError as error:
        raise BadFlagError(f"{flag}: {error}; give addresses or networks like 10.0.0.0/8") from None


def is_within(address: str, allowed: tuple[Network, ...]) -> bool:
    """Return whether the address is in one of the networks.

    An IPv4 address mapped into IPv6 counts as IPv4.
    """
    parsed = peer_address(address) if allowed else None
    return parsed is not None and any(parsed in network for network in allowed)


def is_loopback(address: str) -> bool:
    """Return whether the address is of this machine."""
    parsed = peer_address(address)
    return parsed is not None and parsed.is_loopback


NEARBY: Final = networks(
    "",
    [
        "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16",
        "::1", "fc00::/7", "fe80::/10",
    ],
)  # fmt: skip
"""Networks where a proxy of one's own usually runs: this machine, private networks and links."""
