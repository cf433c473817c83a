"""Relay of GRANDPA votes to peers.

A vote goes to the peers whose neighbor packet names its set, and its round or the one before or after; never
twice, and not back to a peer that has sent it. In a normal round only some chosen peers get votes from us,
authorities first: so each vote takes a few messages of each node, however many peers it has. When a round
takes too long, all peers get them. Substrate, `sc-consensus-grandpa`, does the same.
"""

from __future__ import annotations

import random

import trio

from cfnode.network.interface import NotificationProtocol
from cfnode.node.grandpa.neighbors import Neighbors
from cfnode.node.grandpa.rounds import Rounds

__all__ = ["MAX_CHOSEN", "SLOW_ROUND_S", "VoteRelay"]

MAX_CHOSEN = 8
"""Peers that get the votes of a round at once: a vote reaches thousands of nodes in four steps."""

SLOW_ROUND_S = 5.0
"""Seconds after which a round is slow: three times the time of a round at the official gossip interval of
333 ms."""


class VoteRelay:
    """The votes that each peer has, and the peers chosen to get the votes of the round."""

    def __init__(self, protocol: NotificationProtocol, rounds: Rounds, neighbors: Neighbors) -> None:
        self._protocol = protocol
        self._rounds = rounds
        self._neighbors = neighbors
        self._authorities: set[str] = set()
        self._has: dict[str, dict[int, set[bytes]]] = {}
        self._round = (-1, 0)
        self._since = 0.0
        self._chosen: set[str] | None = set()

    def opened(self, peer: str, *, authority: bool) -> None:
        """Add a peer that has connected."""
        self._has[peer] = {}
        if authority:
            self._authorities.add(peer)
        self._choose()

    def forget(self, peer: str) -> None:
        """Forget a peer that has disconnected."""
        self._has.pop(peer, None)
        self._authorities.discard(peer)
        self._choose()

    def note_sent(self, peer: str, number: int, data: bytes) -> None:
        """Record that a peer has sent a vote, which is kept."""
        if peer in self._has:
            self._has[peer].setdefault(number, set()).add(data)

    def relay(self, number: int, data: bytes) -> None:
        """Relay a vote to the chosen peers, or to all peers in a slow round."""
        for peer in list(self._has) if self._chosen is None else sorted(self._chosen):
            self._send(peer, number, data)

    def send_missing(self, peer: str) -> None:
        """Send a peer the votes of its round that it lacks."""
        if self._chosen is None or peer in self._chosen:
            for number, data in self._rounds.messages():
                self._send(peer, number, data)

    def update(self) -> None:
        """Choose peers for a new round, or all peers in a slow one.

        Call it when a round may have begun, and periodically.
        """
        now, round_id = trio.current_time(), (self._rounds.set_id, self._rounds.current)
        if round_id != self._round:
            self._forget_old(round_id[0] != self._round[0])
            self._round, self._since, self._chosen = round_id, now, set()
            self._choose()
        elif self._chosen is not None and now >= self._since + SLOW_ROUND_S:
            self._chosen = None
            for peer in list(self._has):
                self.send_missing(peer)

    def _forget_old(self, all_rounds: bool) -> None:
        for votes in self._has.values():
            for old in [
                old for old in votes if all_rounds or not self._rounds.expects(old, self._rounds.set_id)
            ]:
                del votes[old]

    def _choose(self) -> None:
        """Choose authorities first, then the peers that are chosen already, then others at random."""
        before = self._chosen
        if before is not None:
            authorities = self._authorities
            ranks = {
                peer: (peer not in authorities, peer not in before, random.random()) for peer in self._has
            }
            self._chosen = set(sorted(ranks, key=lambda peer: ranks[peer])[:MAX_CHOSEN])
            for peer in self._chosen - before:
                self.send_missing(peer)

    def _send(self, peer: str, number: int, data: bytes) -> None:
        if peer not in self._has or not self._neighbors.accepts_votes(peer, self._rounds.set_id, number):
            return
        known_votes = self._has[peer].setdefault(number, set())
        if data not in known_votes and self._protocol.send(peer, data):
            known_votes.add(data)
