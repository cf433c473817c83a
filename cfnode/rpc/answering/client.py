"""The client and the node of a call, as far as the dispatcher knows them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from cfnode.node.readiness import Health, Impediment
from cfnode.rpc.table.connection_state import ConnectionState
from cfnode.rpc.table.rows import Access, Subscription
from cfnode.serving.memory_budget import MemoryBudget

__all__ = ["RpcClient", "ServedNode"]


class ServedNode(Protocol):
    """The part of a node that the server itself uses; handlers use more."""

    def health(self) -> Health:
        """Return the number of peers and the sync status."""

    @property
    def impediments(self) -> list[Impediment]:
        """The reasons why the node is not ready; empty when it is ready."""

    @property
    def syncing(self) -> str | None:
        """The phase of syncing; None when the node has caught up with the chain."""


@dataclass
class RpcClient:
    """One connection, as far as calls depend on it."""

    address: str = ""
    protocol: str = "http"
    closed: Mapping[Access, str] = field(default_factory=dict)
    """The groups of methods that refuse its calls, with the reason ("" without one)."""
    subscribe: Callable[[Subscription, list[Any]], Awaitable[str]] | None = None
    """The function that opens a subscription and returns its id.

    None where the transport has no subscriptions (HTTP).
    """
    unsubscribe: Callable[[str], bool] | None = None
    throttle: Callable[[], Awaitable[bool]] | None = None
    """The function that waits until the rate limit allows one more call, and returns whether it waited.

    None without a limit.
    """
    memory: MemoryBudget | None = None
    """The memory held for the connection."""
    connection: ConnectionState | None = None
    """The state between calls; None where each call is on its own (HTTP)."""
