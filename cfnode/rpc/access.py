"""What may a request do? One policy decides it for every request: HTTP, WebSocket, pages, health.

It knows four things of a request: the address of the other end, and the headers Host, Origin and
Authorization. Its rules, in their order, are those of `docs/design/access.md`, whose table a test plays
against a running server:

1. Host and Origin must be allowed (`origins.py`): else 403.
2. With a file of tokens (`tokens.py`), a token must be known, and a request without one gets only the methods
   that need none: else 401.
3. Each group of methods is then open or closed. A rule never opens what another one closes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cfnode.node.config import RpcConfig
from cfnode.rpc.forwarded import forwarded_client
from cfnode.rpc.networks import NEARBY, is_within, networks, peer_address
from cfnode.rpc.origins import Headers, origin_policy
from cfnode.rpc.table import Access
from cfnode.rpc.tokens import Group, Tokens

__all__ = ["AccessPolicy", "Refusal", "RequestHeaders", "Verdict", "allows_unsafe", "joined"]

ADDRESS_NOT_LISTED: Final = "--rpc-broker-clients does not list this address"
NO_TOKEN: Final = b"A bearer token is required: send it as Authorization: Bearer TOKEN.\n"
UNKNOWN_TOKEN: Final = b"The bearer token is unknown.\n"
MISSING_GROUP: Final = "a token of the group {} is required (Authorization: Bearer TOKEN)"
EXPOSED: Final = (
    "any client that reaches the port can open deposit channels at the broker's cost and withdraw the fees "
    "that the broker has earned (broker_* methods). Restrict it with --rpc-broker-clients or "
    "--rpc-auth-token-file"
)
_SCHEME: Final = b"bearer "

RequestHeaders = Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP answer instead of anything else."""

    status: int
    text: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one request may do, or one WebSocket, whose handshake is the request."""

    address: str
    """The client's: that of the other end, or the one that a trusted proxy names."""
    refusal: Refusal | None = None
    closed: Mapping[Access, str] = field(default_factory=dict)
    """The groups of methods that are refused, with the reason ("" without one)."""
    is_proxied: bool = False
    """Whether a trusted proxy named the client."""
    is_unlimited: bool = False
    """Whether the rate limit exempts the client."""


class AccessPolicy:
    """The rules of one server. Raises BadFlagError for malformed flags."""

    def __init__(self, config: RpcConfig, port: int, tokens: Tokens | None = None) -> None:
        self.tokens = tokens
        self._config = config
        self._origins = origin_policy(config.cors, config.allowed_hosts, port)
        self._broker = networks("--rpc-broker-clients", config.broker_clients)
        self._unlimited = networks("--rpc-rate-limit-whitelisted-ips", config.rate_limit_whitelist)
        self._proxies = networks("--rpc-trusted-proxies", config.trusted_proxies)
        self._believed = self._proxies or (NEARBY if config.trust_proxy_headers else ())

    def judge(self, peer: str, headers: RequestHeaders, *, is_public: bool = False) -> Verdict:
        """The verdict on a request from `peer`. `is_public`: a health page or a preflight needs no token."""
        origin = headers.get(b"origin")
        forwarded = self._forwarded(peer, headers)
        address = peer if forwarded is None else forwarded
        refused = self._origins.refusal(headers.get(b"host"), origin)
        if refused is not None:
            return Verdict(address, Refusal(403, refused))
        granted = frozenset(Group)
        if self.tokens is not None and not is_public:
            found = _granted(self.tokens, headers.get(b"authorization", b""))
            if isinstance(found, Refusal):
                return Verdict(address, found)
            granted = found
        is_proxied = forwarded is not None
        return Verdict(
            address,
            closed=self._closed(address, is_proxied, origin, granted),
            is_proxied=is_proxied,
            is_unlimited=is_within(address, self._unlimited),
        )

    def cors_headers(self, origin: bytes | None) -> Headers:
        """The headers that let a page in a browser read the answer."""
        return self._origins.cors_headers(origin)

    def preflight_headers(self, origin: bytes | None) -> Headers:
        """The answer to a browser that asks before it posts JSON."""
        return self._origins.preflight_headers(origin, takes_tokens=self.tokens is not None)

    @property
    def exposure(self) -> str | None:
        """What strangers can do with the broker's methods; None if they are closed to them."""
        is_reachable = self._config.external or bool(self._believed)
        needs_token = self.tokens is not None and Group.BROKER in self.tokens.guarded
        return EXPOSED if is_reachable and not self._broker and not needs_token else None

    def _forwarded(self, peer: str, headers: RequestHeaders) -> str | None:
        if not is_within(peer, self._believed):
            return None
        return forwarded_client(headers, lambda hop: is_within(hop, self._proxies))

    def _closed(
        self, address: str, is_proxied: bool, origin: bytes | None, granted: frozenset[Group]
    ) -> Mapping[Access, str]:
        closed: dict[Access, str] = {}
        is_remote = is_proxied and not is_loopback(address)
        if not allows_unsafe(self._config) or (is_remote and self._config.methods == "auto"):
            closed[Access.UNSAFE] = ""
        elif Group.ADMIN not in granted:
            closed[Access.UNSAFE] = MISSING_GROUP.format(Group.ADMIN.value)
        if self._broker and not is_within(address, self._broker):
            closed[Access.BROKER] = ADDRESS_NOT_LISTED
        elif (reason := self._origins.broker_refusal(origin)) is not None:
            closed[Access.BROKER] = reason
        elif Group.BROKER not in granted:
            closed[Access.BROKER] = MISSING_GROUP.format(Group.BROKER.value)
        return closed


def allows_unsafe(config: RpcConfig) -> bool:
    """Whether unsafe methods are answered: with `auto` only while the server listens on loopback alone."""
    return config.methods == "unsafe" or (config.methods == "auto" and not config.external)


def is_loopback(address: str) -> bool:
    """Whether the address is of this machine."""
    parsed = peer_address(address)
    return parsed is not None and parsed.is_loopback


def joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Headers by name; values of the same name are joined with commas (RFC 9110, section 5.3)."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        found[name] = value if name not in found else found[name] + b", " + value
    return found


def _granted(tokens: Tokens, authorization: bytes) -> frozenset[Group] | Refusal:
    """The groups that a request with this Authorization header may call."""
    is_open = frozenset(Group) - tokens.guarded
    if authorization[: len(_SCHEME)].lower() != _SCHEME:
        return is_open if Group.READ in is_open else _unauthorized(NO_TOKEN, b"Bearer")
    token = tokens.find(authorization[len(_SCHEME) :].strip())
    if token is None:
        return _unauthorized(UNKNOWN_TOKEN, b'Bearer error="invalid_token"')
    return is_open | token.groups | {Group.READ}


def _unauthorized(text: bytes, challenge: bytes) -> Refusal:
    return Refusal(401, text, ((b"www-authenticate", challenge),))
