"""What does a WebSocket connection keep between its calls, besides subscriptions? Follows and broadcasts.

Some methods belong together: one starts an operation, others query it or stop it. A started operation is kept
here under the id that the client received, and ends with the connection.
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
    """chainHead_v1_follow: a `cfnode.rpc.v1.follow.Follow` for each head that the client follows."""
    broadcasts: dict[str, Broadcast] = field(default_factory=dict)
    """transaction_v1_broadcast: the transactions that are kept in the pool."""
    later: list[Job] = field(default_factory=list)
    """Jobs that a call has created; the session starts them after it has queued the call's answer."""

    def with_jobs(self, later: list[Job]) -> ConnectionState:
        """The same state, for a call that puts its jobs into `later`."""
        return replace(self, later=later)
