"""What follows from how a peer behaved?

Faults add up to a ban (`standing.py`), what was verified makes a peer useful (`useful.py`). A reserved node
is never banned: the user hears what it does, and it is called again after a pause.
"""

from __future__ import annotations

import logging
from collections.abc import Container

import trio

from cfnode.network.connections import Connections
from cfnode.network.rate import Rate
from cfnode.network.useful import UsefulPeers

__all__ = ["Reports"]

log = logging.getLogger("cfnode.sub-libp2p")

WORTH_A_WARNING = -(1 << 20)
"""What a reserved node has to lose at once for a warning."""
WARNINGS_PER_SECOND = 1 / 60
"""Warnings of one reserved node."""
DELIVERED = 1 << 10
"""Reputation for an answer that was verified: a peer that delivers stands above one that nobody knows."""


class Reports:
    """Takes reports of the peers of one node. `reserved`: a live view."""

    def __init__(self, connections: Connections, useful: UsefulPeers, reserved: Container[str]) -> None:
        self._connections, self._useful, self._reserved = connections, useful, reserved
        self._warnings: dict[str, Rate] = {}

    def report(self, peer: str, change: int, reason: str) -> None:
        """Add to a peer's reputation, and part with it where it has lost all trust."""
        lost = self._connections.report(peer, change)
        log.debug("reputation of %s: %+d (%s)", peer, change, reason)
        if peer in self._reserved:
            self._warn(peer, change, reason)
        elif lost:
            log.info("Banned %s: %s", peer, reason)
        if lost and peer in self._connections.peers:
            self._connections.peers[peer].connection.close(f"banned: {reason}")

    def mark_useful(self, peer: str) -> None:
        """A peer has delivered something that was verified."""
        self._useful.note(peer)
        self._connections.report(peer, DELIVERED)

    def _warn(self, peer: str, change: int, reason: str) -> None:
        rate = self._warnings.setdefault(peer, Rate(WARNINGS_PER_SECOND, 1))
        if change <= WORTH_A_WARNING and rate.allows(trio.current_time()):
            log.warning("The reserved node %s misbehaves, and is kept all the same: %s", peer, reason)
