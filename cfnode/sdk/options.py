"""Options of a client, and the session that its calls share."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from cfnode.sdk.assets import chain_named
from cfnode.sdk.choices import unknown_value
from cfnode.sdk.errors import ValidationError
from cfnode.sdk.names import ChainName, NetworkName
from cfnode.sdk.networks import Network, network_named
from cfnode.sdk.record import SECRET, GivenRecord, settle
from cfnode.swaps.limits import MAX_COMMISSION_BPS

if TYPE_CHECKING:
    from cfnode.core.scale.metadata import Metadata
    from cfnode.sdk.limits import SwapEnvironment

__all__ = ["BrokerOptions", "ClientSession", "Features", "Options", "checked_commission"]

DEFAULT_NETWORK: NetworkName = "mainnet"


def checked_commission(value: object, field: str, cap: int = MAX_COMMISSION_BPS) -> int:
    """Return a commission in basis points; raise ValidationError above the chain's maximum."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= cap:
        text = f"expected a commission of 0 to {cap} basis points, not {value!r:.40}"
        raise ValidationError.at(field, text)
    return value


@dataclass(frozen=True)
class BrokerOptions(GivenRecord):
    """The caller's own broker: its JSON-RPC address, its default commission, the bearer token it requires.

    `token_file` holds nothing but the token; other users must not be able to read it.
    """

    member_kind: ClassVar[str] = "option"
    url: str = field(repr=False)  # an address may hold a password
    commission_bps: int = 0
    token: str | None = field(default=None, repr=False, metadata=SECRET)
    token_file: str | os.PathLike[str] | None = None


@dataclass(frozen=True)
class Features(GivenRecord):
    """The enabled features; `dca` adds quotes for swaps in chunks."""

    member_kind: ClassVar[str] = "option"
    dca: bool = False


@dataclass(frozen=True)
class Options(GivenRecord):
    """The options of a client; all are optional.

    Without `network` a client uses the main net, where swaps move real money. Without `broker` the network's
    swap service opens channels. On `dev` the node of `rpc_url` is the swap service, too.
    `default_refund_addresses` maps a chain to the refund address for requests without one.
    `timeout` limits one whole exchange, `channel_timeout` the opening of a channel, which waits for State
    Chain blocks; both in seconds. `rpc_token`, or the file `rpc_token_file`, is the bearer token that the
    node of `rpc_url` requires.
    """

    member_kind: ClassVar[str] = "option"
    network: NetworkName = DEFAULT_NETWORK
    broker: BrokerOptions | None = None
    rpc_url: str | None = field(default=None, repr=False)
    backend_url: str | None = field(default=None, repr=False, metadata={"aliases": ("backendServiceUrl",)})
    enabled_features: Features = Features()
    default_refund_addresses: Mapping[ChainName, str] = field(default_factory=dict)
    timeout: float = 30.0
    channel_timeout: float = 120.0
    rpc_token: str | None = field(default=None, repr=False, metadata=SECRET)
    rpc_token_file: str | os.PathLike[str] | None = None

    def replaced(self, named: Mapping[str, Any]) -> Options:
        """Return these options with some replaced by their Python names; parts may be records or JSON."""
        names = [item.name for item in fields(self)]
        for name in named:
            if name not in names:
                raise ValidationError(name, unknown_value("option", name, names))
        options = replace(self, **named)
        settle(options)
        options.check()
        return options

    def refund_address_on(self, chain: str) -> str | None:
        """Return the default refund address of a chain; the option may name the chain in any case."""
        addresses = {
            chain_named(name, name): address for name, address in self.default_refund_addresses.items()
        }
        return addresses.get(chain)

    def check(self) -> None:
        """Raise ValidationError for an invalid value."""
        if self.broker is not None:
            checked_commission(self.broker.commission_bps, "broker.commission_bps")
        for chain in self.default_refund_addresses:
            chain_named(chain, f"default_refund_addresses.{chain}")
        urls = {"rpc_url": self.rpc_url, "backend_url": self.backend_url}
        if self.broker is not None:
            urls["broker.url"] = self.broker.url
        for name, url in urls.items():
            if url is not None and not _is_http(url):  # not quoted, since it may hold a password
                raise ValidationError.at(name, "expected an address that begins with http:// or https://")
        for name in ("timeout", "channel_timeout"):
            if not 0 < (seconds := getattr(self, name)) < math.inf:
                raise ValidationError.at(name, f"expected seconds above 0, not {seconds!r:.40}")


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


class ClientSession:
    """The state that calls share: options, clocks, randomness, and the cached environment."""

    def __init__(
        self,
        options: Options,
        *,
        now_ms: Callable[[], int],
        monotonic: Callable[[], float],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self.options = options
        self.network: Network = network_named(options.network)
        self.rpc_url = options.rpc_url or self.network.rpc_url
        network_backend_url = (
            re.sub("^ws", "http", self.rpc_url) if self.network.is_one_server else self.network.backend_url
        )
        self.backend_url = (options.backend_url or network_backend_url).rstrip("/")
        """A development node is its own swap service."""
        self.now_ms = now_ms
        self.monotonic = monotonic
        self.random_bytes = random_bytes
        self.environment: tuple[float, SwapEnvironment] | None = None
        self.metadata: dict[tuple[str, int], Metadata] = {}
        """The metadata by node address and runtime version, cached for reading events."""

    def commission_bps(self, requested: int | None) -> int:
        """Return the commission of a request: its own (also zero), else that of the options."""
        if requested is not None:
            return requested
        return self.options.broker.commission_bps if self.options.broker else 0
