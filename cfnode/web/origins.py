"""Policy of the hosts and origins that a port answers.

A web page in a browser can reach 127.0.0.1. Two checks stop a foreign page. Its Origin is not on the list:
403. (The official node only leaves out the header that lets the page read the answer. But a WebSocket needs
no such header, and a page that opens one could spend the broker's funds.) And a host name that its owner
points at 127.0.0.1 (DNS rebinding) is not among the hosts that this port answers to: those of this machine,
and those of `--rpc-allowed-hosts`. `--rpc-cors=all` turns both checks off. Programs other than browsers send
no Origin and are not affected.

Broker and lp methods spend money, so they check more: they answer a request with an Origin only if the
operator listed it by name. Neither `all` nor the default list counts: any page of `http://localhost:…` may be
one that another page wrote. Nor does an entry that names no host: each page can open a frame with the origin
`null`, and `https://*` is every page.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.web.authority import HostAuthority, OriginPattern, WebOrigin, origin_pattern
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
UNREADABLE = b"The header Host or Origin is malformed, or there are several.\n"
ORIGIN_NOT_NAMED = "broker and lp methods answer web pages only whose origin --rpc-cors lists by name"
_HEADERS = b"content-type, x-chainflip-sdk-version"
_AUTHORIZATION = b", authorization"
"""Header that `*` does not include."""
_VARY = (b"vary", b"origin, access-control-request-method, access-control-request-headers")

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class OriginPolicy:
    """Hosts and origins that are served. `origin_policy` makes it."""

    hosts: frozenset[str]
    """Hosts with their port, or without one for any port; empty: any host."""
    origins: tuple[OriginPattern, ...]
    """Patterns of allowed origins; empty: any."""
    named: tuple[OriginPattern, ...] = ()
    """The origins that the operator listed by the name of a host: they alone may call methods that sign."""

    def refusal(self, host: bytes | None, origin: bytes | None) -> bytes | None:
        """Return why a request with these headers is refused (403), or None.

        They are parsed before anything is compared: text that is not one host, or not one origin, is refused
        whatever is allowed.
        """
        authority = None if host is None else HostAuthority.parse(host)
        if host is not None and authority is None:
            return UNREADABLE
        if self.hosts and (authority is None or self.hosts.isdisjoint((authority.name, authority.text))):
            return HOST_REFUSED
        if origin is None:
            return None
        parsed = WebOrigin.parse(origin)
        if parsed is None:
            return UNREADABLE
        is_listed = not self.origins or any(pattern.matches(parsed) for pattern in self.origins)
        return None if is_listed else ORIGIN_REFUSED

    def spending_refusal(self, origin: bytes | None) -> str | None:
        """Return why broker and lp methods refuse a request with this Origin, or None.

        A program sends no Origin.
        """
        if origin is None:
            return None
        parsed = WebOrigin.parse(origin)
        is_named = parsed is not None and any(pattern.matches(parsed) for pattern in self.named)
        return None if is_named else ORIGIN_NOT_NAMED

    def cors_headers(self, origin: bytes | None) -> Headers:
        """Return the headers that let a page in a browser read the answer."""
        if not self.origins:
            return [(b"access-control-allow-origin", b"*"), _VARY]
        return [_VARY] if origin is None else [(b"access-control-allow-origin", origin), _VARY]

    def preflight_headers(self, origin: bytes | None, *, takes_tokens: bool, further: bytes = b"") -> Headers:
        """Return the answer to a browser that asks before it posts JSON.

        It may post with a bearer token or a `further` header.
        """
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


def origin_policy(cors: tuple[str, ...] | None, further_hosts: tuple[str, ...], port: int) -> OriginPolicy:
    """Return the policy of `--rpc-cors` and `--rpc-allowed-hosts`.

    `cors` None allows local origins, ("all",) any origin. Raises BadFlagError.
    """
    patterns = tuple(origin_pattern(text) for text in cors or () if text != "all")
    host_patterns = tuple(pattern for pattern in patterns if pattern.names_a_host)
    if cors is not None and "all" in cors:
        return OriginPolicy(frozenset(), (), host_patterns)
    origins = tuple(map(origin_pattern, LOCAL_ORIGINS)) if cors is None else patterns
    return OriginPolicy(_hosts(further_hosts, port), origins or (origin_pattern("null"),), host_patterns)


def _hosts(further: tuple[str, ...], port: int) -> frozenset[str]:
    if "all" in further:
        return frozenset()
    own_hosts = (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}")
    hosts = []
    for host in (*own_hosts, *further):
        parsed = HostAuthority.parse(host.encode())
        if parsed is None:
            raise BadFlagError(
                f"--rpc-allowed-hosts: {host!r} is not the name of a host; give node.example, or "
                "node.example:8443 for one port"
            )
        hosts.append(parsed.text)
    return frozenset(hosts)
