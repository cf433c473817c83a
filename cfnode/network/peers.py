"""Consequences of reports about peers: reputation, bans, usefulness, and warnings.

Faults add up to a ban (`peer_store.py`), verified answers make a peer useful (`useful_peers.py`). A reserved
node is never banned: the log warns the user of its faults, and it is dialed again after a pause.
"""

from __future__ import annotations

import logging
from collections.abc import Container

import trio

from cfnode.flow.rate import Rate
from cfnode.network.connections import Connections
from cfnode.network.useful_peers import UsefulPeers

__all__ = ["Reports"]

log = logging.getLogger("cfnode.sub-libp2p")

WARNING_THRESHOLD = -(1 << 20)
"""The loss of a reserved node from which on the log warns of the node."""
WARNINGS_PER_SECOND = 1 / 60
"""Warnings about one reserved node, per second."""
DELIVERED = 1 << 10
"""Reputation for a verified answer: a peer that delivers ranks above an unknown one."""


class Reports:
    """The receiver of reports about the peers of one node. `reserved`: a live view."""

    def __init__(self, connections: Connections, useful: UsefulPeers, reserved: Container[str]) -> None:
        self._connections, self._useful, self._reserved = connections, useful, reserved
        self._warnings: dict[str, Rate] = {}

    def report(self, peer: str, change: int, reason: str) -> None:
        """Add to a peer's reputation, and disconnect the peer below the ban threshold."""
        banned = self._connections.report(peer, change)
        log.debug("reputation of %s: %+d (%s)", peer, change, reason)
        if peer in self._reserved:
            self._warn(peer, change, reason)
        elif banned:
            log.info("Banned %s: %s", peer, reason)
        if banned and peer in self._connections.peers:
            self._connections.peers[peer].connection.close(f"banned: {reason}")

    def mark_useful(self, peer: str) -> None:
        """Record that a peer's answer was verified."""
        self._useful.note(peer)
        self._connections.report(peer, DELIVERED)

    def _warn(self, peer: str, change: int, reason: str) -> None:
        rate = self._warnings.setdefault(peer, Rate(WARNINGS_PER_SECOND, 1))
        if change <= WARNING_THRESHOLD and rate.allows(trio.current_time()):
            log.warning("The reserved node %s misbehaves, and is still kept: %s", peer, reason)
