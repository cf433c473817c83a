"""Which requests does this port accept? It checks the Host and Origin headers, and the address for broker
calls.

A web page in a browser can reach 127.0.0.1. Two checks stop a foreign page. Its Origin is not on the list:
403. (The official node only leaves out the header that lets the page read the answer. But a WebSocket needs
no such header, and a page that opens one could spend the broker's funds.) And a host name that its owner
points at 127.0.0.1 (DNS rebinding) is not among the hosts that this port answers to. `--rpc-cors=all` turns
both checks off. Programs other than browsers send no Origin and are not affected.

Broker methods spend money, so they check more: they answer a request with an Origin only if the operator
listed it by name. Neither `all` nor the default list counts: any page of `http://localhost:…` may be one that
somebody else wrote.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

LOCAL_ORIGINS = (
    "http://localhost:*",
    "http://127.0.0.1:*",
    "https://localhost:*",
    "https://127.0.0.1:*",
    "https://polkadot.js.org",
)
HOST_REFUSED = b"Provided Host header is not whitelisted."
ORIGIN_REFUSED = b"Provided Origin is not allowed; see --rpc-cors."
ORIGIN_NOT_NAMED = "broker methods answer web pages only whose origin --rpc-cors lists by name"
ADDRESS_NOT_LISTED = "--rpc-broker-clients does not list this address"

_VARY = (b"vary", b"origin, access-control-request-method, access-control-request-headers")

Headers = list[tuple[bytes, bytes]]
Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class OriginPolicy:
    """Which hosts and origins are served. Made by `origin_policy`."""

    hosts: frozenset[bytes]
    """Values of the Host header; empty: any."""
    origins: tuple[str, ...]
    """Origins, `*` for any port; empty: any."""
    named: tuple[str, ...] = ()
    """The origins that the operator listed, which alone may call broker methods."""

    def refusal(self, host: bytes | None, origin: bytes | None) -> bytes | None:
        """Why a request with these headers is refused (403), or None."""
        if self.hosts and (host is None or host.lower() not in self.hosts):
            return HOST_REFUSED
        if origin is not None and self.origins and not _is_listed(origin, self.origins):
            return ORIGIN_REFUSED
        return None

    def broker_refusal(self, origin: bytes | None) -> str | None:
        """Why broker methods refuse a request with this Origin, or None. A program sends no Origin."""
        return None if origin is None or _is_listed(origin, self.named) else ORIGIN_NOT_NAMED

    def cors_headers(self, origin: bytes | None) -> Headers:
        """The headers that let a page in a browser read the answer."""
        if not self.origins:
            return [(b"access-control-allow-origin", b"*"), _VARY]
        return [_VARY] if origin is None else [(b"access-control-allow-origin", origin), _VARY]

    def preflight_headers(self, origin: bytes | None) -> Headers:
        """The answer to a browser that asks before it posts JSON."""
        anything = not self.origins
        return [
            *self.cors_headers(origin),
            (b"access-control-allow-methods", b"*" if anything else b"GET, POST"),
            (b"access-control-allow-headers", b"*" if anything else b"content-type, x-chainflip-sdk-version"),
            (b"access-control-max-age", b"600"),
        ]


def _is_listed(origin: bytes, patterns: tuple[str, ...]) -> bool:
    text = origin.decode("latin-1").lower()
    return any(_matches(text, pattern) for pattern in patterns)


def _matches(origin: str, pattern: str) -> bool:
    if pattern.endswith(":*"):
        head, _, port = origin.rpartition(":")
        return origin == pattern[:-2] or (head == pattern[:-2] and port.isdigit())
    return fnmatchcase(origin, pattern) if "*" in pattern else origin == pattern


def origin_policy(cors: tuple[str, ...] | None, port: int) -> OriginPolicy:
    """The policy of `--rpc-cors`: None allows local origins, ("all",) any origin."""
    named = tuple(origin.lower().rstrip("/") for origin in cors or () if origin not in ("all", "*"))
    if cors is not None and "all" in cors:
        return OriginPolicy(frozenset(), (), named)
    hosts = (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}")
    origins = LOCAL_ORIGINS if cors is None else tuple(origin.lower().rstrip("/") for origin in cors)
    return OriginPolicy(frozenset(host.encode() for host in hosts), origins or ("null",), named)


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Addresses and networks (CIDR) as given by a flag. Raises ValueError naming the one that is neither."""
    return tuple(ip_network(text, strict=False) for text in texts)


def is_within(address: str, allowed: tuple[Network, ...]) -> bool:
    """Whether the peer's address is in one of the networks; an IPv4 address mapped into IPv6 counts as
    IPv4.
    """
    parsed = peer_address(address)
    return parsed is not None and any(parsed in network for network in allowed)


def peer_address(text: str) -> IPv4Address | IPv6Address | None:
    """A peer's address without its zone, an IPv4 address mapped into IPv6 as IPv4; None for another text."""
    try:
        parsed = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return mapped or parsed


def forwarded_for(value: bytes, peer: str) -> str:
    """The client that a trusted proxy names: the last address of X-Forwarded-For, which the proxy itself
    added.
    """
    last = value.decode("latin-1").rpartition(",")[2].strip()
    try:
        return str(ip_address(last))
    except ValueError:
        return peer
