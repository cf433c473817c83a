"""Who takes part with us, and in which protocols?

Block announces come first: they take the place, an outgoing one for a peer that we called, an incoming one
for one that called us. The other protocols open after them and close with them. What has ended is opened
again, in time. Light nodes, which give nothing and ask for much, have incoming places of their own, as in
Substrate; reserved nodes take none.

Where all incoming places are taken, peers that proved useful before have some beyond, and the newest
stranger of the network with most places makes way for one of a network with two fewer.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping

import trio

from cfnode.core.wire import WireError
from cfnode.core.wire.announces import Handshake, Roles
from cfnode.network.admission import USEFUL_PLACES, newest_of_crowd
from cfnode.network.connection import Connection
from cfnode.network.connections import Peer
from cfnode.network.model import MASTER
from cfnode.network.notifications import Notifications
from cfnode.network.settings import Settings

__all__ = ["Membership"]


class Membership:
    """The notification protocols of one node. `reserved` and `connected` are live views of who is."""

    def __init__(
        self, settings: Settings, reserved: Collection[str], connected: Mapping[str, Peer],
        useful: Container[str] = frozenset(),
    ) -> None:  # fmt: skip
        self.protocols: dict[str, Notifications] = {}
        """By their suffix."""
        self._settings, self._reserved, self._connected = settings, reserved, connected
        self._useful = useful

    def declare(self, protocol: str, added: Notifications) -> None:
        """One more protocol, before the network runs."""
        self.protocols[protocol] = added
        if protocol == MASTER:
            added.on_opened, added.on_closed = self._joined, self._left

    @property
    def _master(self) -> Notifications | None:
        return self.protocols.get(MASTER)

    def holds(self, peer: str) -> bool:
        """Whether the peer takes part, or is about to."""
        return self._master is not None and self._master.holds(peer)

    def opened(self, peer: str) -> frozenset[str]:
        """The protocols that are open with the peer, both ways."""
        return frozenset(name for name, added in self.protocols.items() if peer in added.peers)

    def handshake(self, peer: str) -> bytes:
        """What the peer said when it joined; empty where it has not."""
        return self._master.handshake(peer) if self._master else b""

    @property
    def alone(self) -> bool:
        """Does nobody take part with us?"""
        return not (self._master.peers if self._master else self._connected)

    @property
    def free(self) -> int:
        """Outgoing places; a node without block announces counts the connections."""
        master, connected = self._master, len(self._connected)
        taken = master.count(inbound=False, beside=self._reserved) if master else connected
        return self._settings.out_peers - taken

    def refusal(self, protocol: str, peer: str, handshake: bytes) -> str | None:
        """Why a peer may not open a protocol; None where it may."""
        if self._master is None or self._master.holds(peer):
            return None
        if protocol != MASTER:
            return f"{MASTER} is not open"
        if peer in self._reserved:
            return None
        light = _is_light(handshake)
        taken = self._master.count(
            inbound=True, beside=self._reserved, which=lambda said: _is_light(said) == light
        )
        places = self._settings.in_peers_light if light else self._settings.in_peers
        if taken < places or (peer in self._useful and taken < places + USEFUL_PLACES):
            return None
        if self._evict_for(peer, light):
            return None
        return f"all slots for {'light' if light else 'full'} nodes are taken"

    def _evict_for(self, peer: str, light: bool) -> bool:
        """End it with a stranger of the network that has most places, where the peer's has two fewer."""
        assert self._master is not None
        addresses = {other: each.connection.address for other, each in self._connected.items()}
        strangers = {
            other: addresses[other]
            for other in self._master.strangers(lambda said: _is_light(said) == light)
            if other in addresses and other not in self._reserved and other not in self._useful
        }
        goes = newest_of_crowd(strangers, addresses[peer]) if peer in addresses else None
        if goes is not None:
            self._master.close(goes)
        return goes is not None

    def keep_open(self, connection: Connection) -> None:
        """Block announces where a place is free (who called us opens them itself), the others after them."""
        master, peer = self._master, connection.peer_id
        if master is None:
            return
        if not master.holds(peer):
            if peer in self._reserved or (not connection.inbound and self.free > 0):
                master.open(connection, alone=self.alone)
        elif peer in master.peers:
            self._open_others(connection)

    def _open_others(self, connection: Connection) -> None:
        for protocol, added in self.protocols.items():
            if protocol != MASTER:
                added.open(connection)

    def _joined(self, connection: Connection) -> None:
        if connection.taking_part_since is None:
            connection.taking_part_since = trio.current_time()
        self._open_others(connection)

    def _left(self, connection: Connection) -> None:
        for protocol, added in self.protocols.items():
            if protocol != MASTER:
                added.close(connection.peer_id)
        current = self._connected.get(connection.peer_id)
        if current is not None and current.connection is not connection:
            self.keep_open(current.connection)  # the peer has started anew


def _is_light(handshake: bytes) -> bool:
    try:
        return Handshake.decode(handshake).roles == Roles.LIGHT
    except WireError:
        return False
