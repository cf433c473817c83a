"""What does a WebSocket connection hold between its calls, besides subscriptions?

Some methods belong together: one begins something, others ask about it or end it. What was begun lives here,
under the id that the client was given, and ends with the connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import trio

from cfnode.rpc.pins import Pins

Job = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ConnectionState:
    """The things of one connection by their ids, as one of its calls sees them."""

    pins: Pins
    """The blocks that all connections of the server hold on to."""
    follows: dict[str, object] = field(default_factory=dict)
    """chainHead_v1_follow: a `cfnode.rpc.v1.follow.Follow` for each head that the client follows."""
    broadcasts: dict[str, trio.CancelScope] = field(default_factory=dict)
    """transaction_v1_broadcast: the transactions that are kept in the pool."""
    later: list[Job] = field(default_factory=list)
    """What a call begins: it runs beside the connection once the call's answer is on its way."""

    def beginning(self, later: list[Job]) -> ConnectionState:
        """The same things, for a call that puts its jobs into `later`."""
        return replace(self, later=later)
