"""Which hosts and origins does this port answer?

A web page in a browser can reach 127.0.0.1. Two checks stop a foreign page. Its Origin is not on the list:
403. (The official node only leaves out the header that lets the page read the answer. But a WebSocket needs
no such header, and a page that opens one could spend the broker's funds.) And a host name that its owner
points at 127.0.0.1 (DNS rebinding) is not among the hosts that this port answers to: those of this machine,
and those of `--rpc-allowed-hosts`. `--rpc-cors=all` turns both checks off. Programs other than browsers send
no Origin and are not affected.

Broker and lp methods spend money, so they check more: they answer a request with an Origin only if the
operator listed it by name. Neither `all` nor the default list counts: any page of `http://localhost:…` may be
one that somebody else wrote. Nor does an entry that names no host: each page can open a frame with the origin
`null`, and `https://*` is every page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from cfnode.web.networks import BadFlagError

__all__ = ["Headers", "OriginPolicy", "origin_policy"]

LOCAL_ORIGINS = (
    "http://localhost:*",
    "http://127.0.0.1:*",
    "https://localhost:*",
    "https://127.0.0.1:*",
    "https://polkadot.js.org",
)
HOST_REFUSED = b"Provided Host header is not whitelisted."
ORIGIN_REFUSED = b"Provided Origin is not allowed; see --rpc-cors."
ORIGIN_NOT_NAMED = "broker and lp methods answer web pages only whose origin --rpc-cors lists by name"
_NAME: Final = r"(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\])"
_HOST: Final = re.compile(rf"{_NAME}(?::[0-9]{{1,5}})?")
_NAMED_ORIGIN: Final = re.compile(rf"[a-z][a-z0-9+.-]*://(?:\*\.)?{_NAME}(?::(?:[0-9]{{1,5}}|\*))?")
"""An origin with the name of a host; `*` may be its first label, or its port."""

_HEADERS = b"content-type, x-chainflip-sdk-version"
_AUTHORIZATION = b", authorization"
"""`*` does not include it."""
_VARY = (b"vary", b"origin, access-control-request-method, access-control-request-headers")

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class OriginPolicy:
    """Which hosts and origins are served. Made by `origin_policy`."""

    hosts: frozenset[bytes]
    """Values of the Host header, with their port, or without one for any port; empty: any host."""
    origins: tuple[str, ...]
    """Origins, `*` for any port; empty: any."""
    named: tuple[str, ...] = ()
    """The origins that the operator listed by the name of a host: they alone may call methods that sign."""

    def refusal(self, host: bytes | None, origin: bytes | None) -> bytes | None:
        """Why a request with these headers is refused (403), or None."""
        if self.hosts and (host is None or self.hosts.isdisjoint(_forms(host.lower()))):
            return HOST_REFUSED
        if origin is not None and self.origins and not _is_listed(origin, self.origins):
            return ORIGIN_REFUSED
        return None

    def spending_refusal(self, origin: bytes | None) -> str | None:
        """Why broker and lp methods refuse a request with this Origin, or None. A program sends no Origin."""
        return None if origin is None or _is_listed(origin, self.named) else ORIGIN_NOT_NAMED

    def cors_headers(self, origin: bytes | None) -> Headers:
        """The headers that let a page in a browser read the answer."""
        if not self.origins:
            return [(b"access-control-allow-origin", b"*"), _VARY]
        return [_VARY] if origin is None else [(b"access-control-allow-origin", origin), _VARY]

    def preflight_headers(self, origin: bytes | None, *, takes_tokens: bool, further: bytes = b"") -> Headers:
        """The answer to a browser that asks before it posts JSON, perhaps with a bearer token or a `further`
        header."""
        anything = not self.origins
        return [
            *self.cors_headers(origin),
            (b"access-control-allow-methods", b"*" if anything else b"GET, POST"),
            (
                b"access-control-allow-headers",
                (b"*" if anything else _HEADERS) + _AUTHORIZATION * takes_tokens + further,
            ),
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


def origin_policy(cors: tuple[str, ...] | None, further_hosts: tuple[str, ...], port: int) -> OriginPolicy:
    """The policy of `--rpc-cors` (None allows local origins, ("all",) any origin) and `--rpc-allowed-hosts`.

    Raises BadFlagError.
    """
    listed = tuple(_without_slash(origin.lower()) for origin in cors or ())
    named = tuple(origin for origin in listed if _NAMED_ORIGIN.fullmatch(origin))
    if cors is not None and "all" in cors:
        return OriginPolicy(frozenset(), (), named)
    origins = LOCAL_ORIGINS if cors is None else listed
    return OriginPolicy(_hosts(further_hosts, port), origins or ("null",), named)


def _without_slash(origin: str) -> str:
    return origin if origin.endswith("://") else origin.rstrip("/")


def _hosts(further: tuple[str, ...], port: int) -> frozenset[bytes]:
    if "all" in further:
        return frozenset()
    own = (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}")
    for host in further:
        if _HOST.fullmatch(host.lower()) is None:
            raise BadFlagError(
                f"--rpc-allowed-hosts: {host!r} is not the name of a host; give node.example, or "
                "node.example:8443 for one port"
            )
    return frozenset(host.lower().encode() for host in (*own, *further))


def _forms(host: bytes) -> tuple[bytes, bytes]:
    """A Host header as it is, and without its port."""
    name, _, port = host.rpartition(b":")
    return host, name if name and port.isdigit() else host
