"""Peer-to-peer networking of the node with trio, over the connection machines of `core`."""

from cfnode.network.model import (
    Closed,
    Network,
    NotificationLimits,
    NotificationProtocol,
    Opened,
    PeerInfo,
    Received,
    RequestFailed,
    RequestLimits,
)
from cfnode.network.service import Service
from cfnode.network.settings import Settings
from cfnode.network.transport import DialError

__all__ = [
    "Closed",
    "DialError",
    "Network",
    "NotificationLimits",
    "NotificationProtocol",
    "Opened",
    "PeerInfo",
    "Received",
    "RequestFailed",
    "RequestLimits",
    "Service",
    "Settings",
]
