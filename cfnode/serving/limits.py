"""The settings of one listening port: connections that it serves, deadlines, and how it closes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hypercorn.config import Config as HypercornConfig

from cfnode.web.networks import Network

__all__ = ["KEEP_ALIVE_S", "READ_TIMEOUT_S", "REQUEST_HEAD_TIMEOUT_S", "PortLimits", "hypercorn_config"]

REQUEST_HEAD_TIMEOUT_S: Final = 10.0
"""Seconds for the whole head of a request; also the seconds until the first request of a connection."""
KEEP_ALIVE_S: Final = 75.0
"""Seconds that an HTTP connection may be idle: longer than clients and proxies keep theirs, mostly 60 s, so
that they close it, and no request meets a closed connection."""
READ_TIMEOUT_S: Final = 40.0
"""Seconds of silence during a request, or on a WebSocket, which answers a ping each PING_INTERVAL_S."""
PING_INTERVAL_S: Final = 20.0
MAX_REQUEST_HEAD_BYTES: Final = 16 * 1024
"""Bytes of a request's head."""
MAX_REQUESTS: Final = 1_000_000
"""Requests on one connection."""


@dataclass(frozen=True, slots=True)
class PortLimits:
    """The limits of one port. `what` names its connections in the log: "JSON-RPC"."""

    what: str
    log: logging.Logger
    max_connections: int
    is_external: bool
    """Whether other machines reach the port: then this machine leaves them a share of the connections."""
    busy: bytes
    """The text of a 429, for a connection over the limit."""
    exempt: Sequence[Network] = ()
    """Networks that may have all connections, such as those of proxies."""
    max_message: int = 0
    """Bytes of one WebSocket message."""
    grace_s: float = 1.0
    """Seconds for running requests when the port closes."""
    before_grace: Callable[[], Awaitable[None]] | None = None
    """The function that is called when the port closes, before those seconds."""


def hypercorn_config(limits: PortLimits) -> HypercornConfig:
    """Return the settings of hypercorn for a port."""
    settings = HypercornConfig()
    settings.errorlog = logging.getLogger(f"{limits.log.name}.http")
    settings.include_server_header = False
    settings.read_timeout = int(READ_TIMEOUT_S)
    settings.websocket_ping_interval = PING_INTERVAL_S
    settings.websocket_max_message_size = limits.max_message
    settings.keep_alive_timeout = KEEP_ALIVE_S
    settings.keep_alive_max_requests = MAX_REQUESTS
    settings.h11_max_incomplete_size = MAX_REQUEST_HEAD_BYTES
    return settings
