"""The events of one notification protocol of a network that a test drives."""

from __future__ import annotations

import math
from collections.abc import Callable

import trio

from cfnode.network.interface import NotificationEvent


class EventQueue:
    """Its open peers and its events, for a NotificationProtocol."""

    def __init__(self, name: str, handshake: Callable[[], bytes], capacity: float = math.inf) -> None:
        self.name, self.handshake = name, handshake
        self.sender, self._events = trio.open_memory_channel[NotificationEvent](capacity)
        self.open: set[str] = set()

    @property
    def events(self) -> trio.MemoryReceiveChannel[NotificationEvent]:
        """The events that were not read yet."""
        return self._events

    @property
    def peers(self) -> frozenset[str]:
        """The peers with which the protocol is open."""
        return frozenset(self.open)
