"""The access policy of the JSON-RPC port: what a request may do, over HTTP and WebSocket.

The policy knows four things of a request: the address of the other end, and the headers Host, Origin and
Authorization. Its rules, in their order, are those of `docs/design/access.md`, whose table a test plays
against a running server:

1. Host and Origin must be allowed (`origins.py`); otherwise the answer is 403.
2. With a file of tokens (`tokens.py`), a token must be known, and a request without one gets only the methods
   that need none; otherwise the answer is 401.
3. Each group of methods is then open or closed. A rule never opens what another one closes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cfnode.node.config import RpcConfig
from cfnode.rpc.port.forwarded import forwarded_client
from cfnode.rpc.table.rows import Access
from cfnode.web.bearer import HttpRefusal, RequestHeaders, granted_groups, joined
from cfnode.web.networks import NEARBY, is_loopback, is_within, networks
from cfnode.web.origins import Headers, origin_policy
from cfnode.web.tokens import Group, Tokens

__all__ = ["AccessDecision", "AccessPolicy", "HttpRefusal", "RequestHeaders", "allows_unsafe", "joined"]

ADDRESS_NOT_LISTED: Final = "--rpc-broker-clients does not list this address"
MISSING_GROUP: Final = "a token of the group {} is required (Authorization: Bearer TOKEN)"
_RESTRICT: Final = "Restrict it with --rpc-broker-clients or --rpc-auth-token-file"
EXPOSED: Final = {
    Access.BROKER: "any client that reaches the port can open deposit channels at the broker's cost and "
    f"withdraw the fees that the broker has earned (broker_* methods). {_RESTRICT}",
    Access.LP: "any client that reaches the port can withdraw the assets of the liquidity provider, and "
    f"change its orders (lp_* methods). {_RESTRICT}",
}
_GROUPS: Final = {Access.BROKER: Group.BROKER, Access.LP: Group.LP}


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """Rights of one request, or of one WebSocket, whose handshake is the request."""

    address: str
    """The client's address: that of the other end, or the one that a trusted proxy names."""
    refusal: HttpRefusal | None = None
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
        self._spenders = networks("--rpc-broker-clients", config.broker_clients)
        self._unlimited = networks("--rpc-rate-limit-whitelisted-ips", config.rate_limit_whitelist)
        self._proxies = networks("--rpc-trusted-proxies", config.trusted_proxies)
        self._believed = self._proxies or (NEARBY if config.trust_proxy_headers else ())

    def judge(self, peer: str, headers: RequestHeaders, *, is_public: bool = False) -> AccessDecision:
        """Return the verdict on a request from `peer`.

        `is_public`: a health page or a preflight needs no token.
        """
        origin = headers.get(b"origin")
        forwarded = self._forwarded(peer, headers)
        address = peer if forwarded is None else forwarded
        refused = self._origins.refusal(headers.get(b"host"), origin)
        if refused is not None:
            return AccessDecision(address, HttpRefusal(403, refused))
        granted = frozenset(Group)
        if self.tokens is not None and not is_public:
            judgement = granted_groups(self.tokens, headers.get(b"authorization", b""))
            if isinstance(judgement, HttpRefusal):
                return AccessDecision(address, judgement)
            granted = judgement
        is_proxied = forwarded is not None
        return AccessDecision(
            address,
            closed=self._closed(address, is_proxied, origin, granted),
            is_proxied=is_proxied,
            is_unlimited=is_within(address, self._unlimited),
        )

    def cors_headers(self, origin: bytes | None) -> Headers:
        """Return the headers that let a page in a browser read the answer."""
        return self._origins.cors_headers(origin)

    def preflight_headers(self, origin: bytes | None) -> Headers:
        """Return the headers for a browser that asks before it posts JSON."""
        return self._origins.preflight_headers(origin, takes_tokens=self.tokens is not None)

    def exposure(self, access: Access) -> str | None:
        """Return what strangers can do with the methods of a signing account.

        None if the methods are closed to them.
        """
        is_reachable = self._config.external or bool(self._believed)
        needs_token = self.tokens is not None and _GROUPS[access] in self.tokens.guarded
        return EXPOSED[access] if is_reachable and not self._spenders and not needs_token else None

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
        for access, group in _GROUPS.items():
            if self._spenders and not is_within(address, self._spenders):
                closed[access] = ADDRESS_NOT_LISTED
            elif (reason := self._origins.spending_refusal(origin)) is not None:
                closed[access] = reason
            elif group not in granted:
                closed[access] = MISSING_GROUP.format(group.value)
        return closed


def allows_unsafe(config: RpcConfig) -> bool:
    """Return whether unsafe methods are answered.

    With `auto` they are only while the server listens on loopback alone.
    """
    return config.methods == "unsafe" or (config.methods == "auto" and not config.external)
