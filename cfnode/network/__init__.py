"""Peer-to-peer networking of the node with trio, over the connection machines of `core`."""

from cfnode.network.interface import (
    Closed,
    NotificationLimits,
    NotificationProtocol,
    PeerInfo,
    PeerNetwork,
    ProtocolOpened,
    Received,
    RequestFailed,
    RequestLimits,
)
from cfnode.network.service import NetworkService
from cfnode.network.settings import NetworkSettings
from cfnode.network.transport import DialError

__all__ = [
    "Closed",
    "DialError",
    "NetworkService",
    "NetworkSettings",
    "NotificationLimits",
    "NotificationProtocol",
    "PeerInfo",
    "PeerNetwork",
    "ProtocolOpened",
    "Received",
    "RequestFailed",
    "RequestLimits",
]
