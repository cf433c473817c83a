"""IP addresses of clients and peers, and the party that each counts for.

A limit for each address would be no limit for IPv6, where one subscriber has a network of 64 bits to choose
from. So limits, shares and rates count by party: an address of IPv4, or such a network of IPv6.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

__all__ = ["network_of", "party_of", "peer_address"]

PARTY_BITS_IPV6: Final = 64
NETWORK_BITS_IPV4: Final = 24
NETWORK_BITS_IPV6: Final = 48


def peer_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address without its zone; None for another text.

    An IPv4 address mapped into IPv6 is returned as IPv4.
    """
    try:
        parsed = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return mapped or parsed


def party_of(text: str) -> str:
    """Return the address, or for IPv6 its network of 64 bits; of this machine the address itself.

    A text that is no address is returned unchanged.
    """
    parsed = peer_address(text)
    if isinstance(parsed, IPv6Address) and not parsed.is_loopback:
        return str(ip_network((parsed, PARTY_BITS_IPV6), strict=False))
    return text if parsed is None else str(parsed)


def network_of(text: str) -> str:
    """Return the network that one operator usually has: a /24 of IPv4 or a /48 of IPv6.

    A text that is no address is returned unchanged.
    """
    parsed = peer_address(text)
    if parsed is None:
        return text
    bits = NETWORK_BITS_IPV6 if isinstance(parsed, IPv6Address) else NETWORK_BITS_IPV4
    return str(ip_network((parsed, bits), strict=False))
