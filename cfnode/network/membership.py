"""Membership: which connected nodes are peers, and the notification protocols open with each.

Block announces make a connected node a *peer*. They take a slot: an outgoing one for a node that we dialed,
an incoming one for a node that dialed us. The other protocols open after them and close with them. A protocol
that has ended is opened again, after a pause. Light nodes, which serve nothing and request much, have
incoming slots of their own, as in Substrate; reserved nodes take none.

Where all incoming slots are taken, peers that proved useful before have some further ones, and the newest
stranger of the network with most slots is evicted for one of a network with at least two fewer.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping

import trio

from cfnode.core.wire import WireError
from cfnode.core.wire.announces import AnnounceHandshake, Roles
from cfnode.network.admission import USEFUL_SLOTS, newest_of_largest_network
from cfnode.network.connection import PeerConnection
from cfnode.network.interface import BLOCK_ANNOUNCES
from cfnode.network.notifications import Notifications
from cfnode.network.peers import Peer
from cfnode.network.settings import NetworkSettings

__all__ = ["Membership"]


class Membership:
    """The notification protocols of one node. `reserved`, `connected`, `useful`: live views."""

    def __init__(
        self, settings: NetworkSettings, reserved: Collection[str], connected: Mapping[str, Peer],
        useful: Container[str] = frozenset(),
    ) -> None:  # fmt: skip
        self.protocols: dict[str, Notifications] = {}
        """The protocols by their suffixes."""
        self._settings, self._reserved, self._connected = settings, reserved, connected
        self._useful = useful

    def declare(self, protocol: str, added: Notifications) -> None:
        """Add a protocol, before the network runs."""
        self.protocols[protocol] = added
        if protocol == BLOCK_ANNOUNCES:
            added.on_opened, added.on_closed = self._on_opened, self._on_closed

    @property
    def _announces(self) -> Notifications | None:
        return self.protocols.get(BLOCK_ANNOUNCES)

    def includes(self, node: str) -> bool:
        """Return whether the node is a peer, or is about to become one."""
        return self._announces is not None and self._announces.has_link(node)

    def opened(self, peer: str) -> frozenset[str]:
        """Return the protocols that are open with the peer, both ways."""
        return frozenset(
            name for name, notifications in self.protocols.items() if notifications.includes(peer)
        )

    @property
    def count(self) -> int:
        """The number of connected nodes that are peers."""
        announces = self._announces
        return 0 if announces is None else sum(map(announces.includes, self._connected))

    def handshake(self, peer: str) -> bytes:
        """Return the block announces handshake of a peer; empty if the node is not a peer."""
        return self._announces.handshake(peer) if self._announces else b""

    @property
    def isolated(self) -> bool:
        """Whether this node has no peer."""
        return not (self._announces.is_open if self._announces else self._connected)

    @property
    def free_slots(self) -> int:
        """The number of free outgoing slots; a node without block announces counts its connections."""
        announces, connected = self._announces, len(self._connected)
        used_slots = announces.count(inbound=False, exempt=self._reserved) if announces else connected
        return self._settings.out_peers - used_slots

    def refusal(self, protocol: str, peer: str, handshake: bytes) -> str | None:
        """Return the reason to refuse a protocol that a peer opens; None to accept it."""
        if self._announces is None or self._announces.has_link(peer):
            return None
        if protocol != BLOCK_ANNOUNCES:
            return f"{BLOCK_ANNOUNCES} is not open"
        if peer in self._reserved:
            return None
        light = _is_light(handshake)
        used_slots = self._announces.count(
            inbound=True, exempt=self._reserved, matches=lambda theirs: _is_light(theirs) == light
        )
        slots = self._settings.in_peers_light if light else self._settings.in_peers
        if used_slots < slots or (peer in self._useful and used_slots < slots + USEFUL_SLOTS):
            return None
        if self._evict_for(peer, light):
            return None
        return f"all slots for {'light' if light else 'full'} nodes are taken"

    def _evict_for(self, peer: str, light: bool) -> bool:
        """Evict a stranger of the network with most slots if the peer's network has two fewer.

        Return whether a stranger was evicted.
        """
        assert self._announces is not None
        addresses = {
            identity: candidate.connection.address for identity, candidate in self._connected.items()
        }
        strangers = {
            identity: addresses[identity]
            for identity in self._announces.inbound_peers(lambda theirs: _is_light(theirs) == light)
            if identity in addresses and identity not in self._reserved and identity not in self._useful
        }
        evicted = newest_of_largest_network(strangers, addresses[peer]) if peer in addresses else None
        if evicted is not None:
            self._announces.close(evicted)
        return evicted is not None

    def keep_open(self, connection: PeerConnection) -> None:
        """Open block announces with a node if a slot is free, or else the other protocols with a peer.

        Inbound nodes open block announces themselves.
        """
        announces, peer = self._announces, connection.peer_id
        if announces is None:
            return
        if not announces.has_link(peer):
            if peer in self._reserved or (not connection.inbound and self.free_slots > 0):
                announces.open(connection, isolated=self.isolated)
        elif announces.includes(peer):
            self._open_others(connection)

    def _open_others(self, connection: PeerConnection) -> None:
        for protocol, notifications in self.protocols.items():
            if protocol != BLOCK_ANNOUNCES:
                notifications.open(connection)

    def _on_opened(self, connection: PeerConnection) -> None:
        if connection.peer_since is None:
            connection.peer_since = trio.current_time()
        self._open_others(connection)

    def _on_closed(self, connection: PeerConnection) -> None:
        for protocol, notifications in self.protocols.items():
            if protocol != BLOCK_ANNOUNCES:
                notifications.close(connection.peer_id)
        current = self._connected.get(connection.peer_id)
        if current is not None and current.connection is not connection:
            self.keep_open(current.connection)  # the peer has restarted


def _is_light(handshake: bytes) -> bool:
    try:
        return AnnounceHandshake.decode(handshake).roles == Roles.LIGHT
    except WireError:
        return False
