"""What may a client do, by its address? Its address decides on broker methods and on the rate limit."""

from __future__ import annotations

from dataclasses import replace

from cfnode.node.config import RpcConfig
from cfnode.rpc.access import ADDRESS_NOT_LISTED, forwarded_for, is_within, networks
from cfnode.rpc.dispatch import Client
from cfnode.rpc.rate_limit import RateLimiter


class BadNetworkError(Exception):
    """A flag's value is neither an address nor a network."""

    exit_code = 2


class Peers:
    """The rules of one server. Raises BadNetworkError for malformed flags."""

    def __init__(self, config: RpcConfig) -> None:
        self._rate_limit = config.rate_limit
        self._trusts_proxies = config.trust_proxy_headers
        try:
            self._unlimited = networks(config.rate_limit_whitelist)
            self._broker = networks(config.broker_clients)
        except ValueError as error:
            raise BadNetworkError(
                f"--rpc-rate-limit-whitelisted-ips, --rpc-broker-clients: {error}; "
                "give addresses or networks like 10.0.0.0/8"
            ) from None

    def client(self, address: str) -> Client:
        """A new connection from an address."""
        throttle = None
        if self._rate_limit and not is_within(address, self._unlimited):
            throttle = RateLimiter(self._rate_limit).wait
        return Client(address=address, broker_refusal=self._broker_refusal(address), throttle=throttle)

    def behind_proxy(self, client: Client, forwarded: bytes | None) -> Client:
        """The client behind a trusted proxy; the connection's own client if proxies are not trusted."""
        if forwarded is None or not self._trusts_proxies:
            return client
        address = forwarded_for(forwarded, client.address)
        return replace(
            client,
            address=address,
            broker_refusal=self._broker_refusal(address),
            throttle=None if is_within(address, self._unlimited) else client.throttle,
        )

    def _broker_refusal(self, address: str) -> str | None:
        is_allowed = not self._broker or is_within(address, self._broker)
        return None if is_allowed else ADDRESS_NOT_LISTED
