"""What may be set about a client, and what does a call know besides its own arguments?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypedDict

from cfnode.sdk.networks import Network, network_named
from cfnode.sdk.record import Record, settle

if TYPE_CHECKING:
    from cfnode.core.scale.metadata import Metadata
    from cfnode.sdk.limits import Environment

__all__ = ["BrokerOptions", "Features", "Options", "OptionsByName", "Session"]

DEFAULT_NETWORK = "perseverance"


@dataclass(frozen=True)
class BrokerOptions(Record):
    """A broker of one's own: its JSON-RPC address, and the commission it takes unless a request says more."""

    url: str = field(repr=False)  # an address may hold a password
    commission_bps: int = 0


@dataclass(frozen=True)
class Features(Record):
    """What is switched on. `dca`: quotes also for swaps in chunks."""

    dca: bool = False


class OptionsByName(TypedDict, total=False):
    """The options as keyword arguments; parts may be records or the documents' JSON."""

    network: str
    broker: BrokerOptions | Mapping[str, Any] | None
    rpc_url: str | None
    backend_url: str | None
    enabled_features: Features | Mapping[str, bool]
    default_refund_addresses: Mapping[str, str]
    timeout: float
    channel_timeout: float


@dataclass(frozen=True)
class Options(Record):
    """The options of a client; all may be left out.

    Without `broker` the network's swap service opens channels. `default_refund_addresses` maps a chain to the
    address that refunds go to where a request names none. `timeout` is for one exchange in all,
    `channel_timeout` for opening a channel, which waits for State Chain blocks; both in seconds.
    """

    network: str = DEFAULT_NETWORK
    broker: BrokerOptions | None = None
    rpc_url: str | None = field(default=None, repr=False)
    backend_url: str | None = field(default=None, repr=False, metadata={"aliases": ("backendServiceUrl",)})
    enabled_features: Features = Features()
    default_refund_addresses: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 30.0
    channel_timeout: float = 120.0

    def replaced(self, named: Mapping[str, Any]) -> Options:
        """These options with some given by their Python names; parts may be records or JSON."""
        unknown = set(named) - {item.name for item in fields(self)}
        if unknown:
            raise TypeError(f"no option {', '.join(sorted(unknown))}")
        changed = replace(self, **named)
        settle(changed)
        return changed


class Session:
    """What calls share: options, clocks, randomness, and what was learnt of the environment."""

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
        self.backend_url = (options.backend_url or self.network.backend_url).rstrip("/")
        self.now_ms = now_ms
        self.monotonic = monotonic
        self.random_bytes = random_bytes
        self.environment: tuple[float, Environment] | None = None
        self.metadata: dict[tuple[str, int], Metadata] = {}
        """Of each node's address and runtime version, once its events have been read."""

    def commission_bps(self, requested: int | None) -> int:
        """The commission of a request: its own (zero counts), else the option's."""
        if requested is not None:
            return requested
        return self.options.broker.commission_bps if self.options.broker else 0
