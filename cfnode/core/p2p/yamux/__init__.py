"""Yamux: many streams over one connection (libp2p specs, "yamux")."""

from cfnode.core.p2p.yamux.events import (
    DataReceived,
    Event,
    GoneAway,
    Pong,
    StreamEnded,
    StreamOpened,
    StreamReset,
    WindowGrown,
)
from cfnode.core.p2p.yamux.frames import PROTOCOL_ERROR
from cfnode.core.p2p.yamux.session import INITIAL_WINDOW, YamuxSession

__all__ = [
    "INITIAL_WINDOW",
    "PROTOCOL_ERROR",
    "DataReceived",
    "Event",
    "GoneAway",
    "Pong",
    "StreamEnded",
    "StreamOpened",
    "StreamReset",
    "WindowGrown",
    "YamuxSession",
]
