"""Connected nodes, and the consequences of reports about them: reputation, bans, usefulness, and warnings.

Faults add up to a ban (`peer_store.py`), verified answers make a peer useful (`useful_peers.py`). A reserved
node is never banned: the log warns the user of its faults, and it is dialed again after a pause.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Mapping
from dataclasses import dataclass

import trio

from cfnode.core.p2p.identify import Identify
from cfnode.flow.rate import Rate
from cfnode.network.admission import origin_of
from cfnode.network.connection import PeerConnection
from cfnode.network.interface import PeerInfo
from cfnode.network.peer_store import PeerStore
from cfnode.network.settings import NetworkSettings
from cfnode.network.useful_peers import UsefulPeers

__all__ = ["FLOODED", "Peer", "Reports"]

log = logging.getLogger("cfnode.sub-libp2p")

FLOODED = -(1 << 29)
"""Reputation change for a flood of useless frames or messages: three of them are a ban."""
WARNING_THRESHOLD = -(1 << 20)
"""The loss of a reserved node from which on the log warns of the node."""
WARNINGS_PER_SECOND = 1 / 60
"""Warnings about one reserved node, per second."""
DELIVERED = 1 << 10
"""Reputation for a verified answer: a peer that delivers ranks above an unknown one."""


@dataclass(slots=True)
class Peer:
    """A connected node and its identify message."""

    connection: PeerConnection
    about: Identify | None = None

    def info(self, identity: str, opened: frozenset[str], reputation: int, handshake: bytes) -> PeerInfo:
        """Return a description of the peer, whose id is `identity`."""
        return PeerInfo(
            peer_id=identity,
            address=str(self.connection.address),
            inbound=self.connection.inbound,
            agent=self.about.agent if self.about else "",
            protocols=frozenset(self.about.protocols if self.about else ()),
            opened=opened,
            reputation=reputation,
            handshake=handshake,
        )


class Reports:
    """The receiver of reports about the peers of one node. `peers`, `reserved`: live views."""

    def __init__(
        self,
        peers: Mapping[str, Peer],
        peer_store: PeerStore,
        settings: NetworkSettings,
        reserved: Container[str],
        useful: UsefulPeers,
    ) -> None:
        self._peers, self._peer_store, self._settings = peers, peer_store, settings
        self._reserved, self._useful = reserved, useful
        self._warnings: dict[str, Rate] = {}

    def report(self, peer: str, change: int, reason: str) -> None:
        """Add to a peer's reputation, and disconnect the peer below the ban threshold."""
        banned = self._add(peer, change)
        log.debug("reputation of %s: %+d (%s)", peer, change, reason)
        if peer in self._reserved:
            self._warn(peer, change, reason)
        elif banned:
            log.info("Banned %s: %s", peer, reason)
        if banned and peer in self._peers:
            self._peers[peer].connection.close(f"banned: {reason}")

    def mark_useful(self, peer: str) -> None:
        """Record that a peer's answer was verified."""
        self._useful.note(peer)
        self._add(peer, DELIVERED)

    def _add(self, peer: str, change: int) -> bool:
        """Add to a peer's reputation; return whether it is below the ban threshold afterwards.

        The address of an inbound peer takes a share of the peer's loss.
        """
        connected = self._peers.get(peer)
        origin = None if connected is None else self.shared_origin(connected.connection)
        return self._peer_store.report(peer, change, trio.current_time(), origin)

    def shared_origin(self, connection: PeerConnection) -> str | None:
        """Return the origin that shares a peer's losses; None if none does.

        Only an inbound peer at a public address that the user did not name has one.
        """
        is_configured = (
            connection.peer_id in self._reserved or connection.peer_id in self._settings.named_peers
        )
        if is_configured or not connection.inbound or not connection.address.is_global:
            return None
        return origin_of(connection.address)

    def _warn(self, peer: str, change: int, reason: str) -> None:
        rate = self._warnings.setdefault(peer, Rate(WARNINGS_PER_SECOND, 1))
        if change <= WARNING_THRESHOLD and rate.allows(trio.current_time()):
            log.warning("The reserved node %s misbehaves, and is still kept: %s", peer, reason)
