"""The state of a WebSocket connection between its calls: follows, and broadcasts of transactions.

Some methods belong together: one starts an operation, others query it or stop it. A started operation is kept
here under the id that the client received, and ends with the connection. Subscriptions are in the session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import trio

from cfnode.rpc.table.pins import Pins

Job = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A transaction that is kept in the pool until `scope` is cancelled."""

    tx_hash: bytes
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)


@dataclass(frozen=True, slots=True)
class ConnectionState:
    """The operations of one connection by their ids, as one of its calls sees them."""

    pins: Pins
    """The pinned blocks of all connections of the server."""
    follows: dict[str, object] = field(default_factory=dict)
    """The follows of chainHead_v1_follow, each a `cfnode.rpc.v1.follow.Follow`, by id."""
    broadcasts: dict[str, Broadcast] = field(default_factory=dict)
    """The transactions that transaction_v1_broadcast keeps in the pool, by id."""
    later: list[Job] = field(default_factory=list)
    """Jobs that a call has created; the session starts them after it has queued the call's answer."""

    def with_jobs(self, later: list[Job]) -> ConnectionState:
        """Return this state for a call that puts its jobs into `later`."""
        return replace(self, later=later)
