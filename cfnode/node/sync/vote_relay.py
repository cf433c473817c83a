"""To which peers does a vote go on?

To those whose neighbour packet names its set, and its round or the one before or after; never twice, and not
back to a peer that has sent it. In a round that goes well only some peers get votes from us, authorities
first: so each vote takes a few messages of each node, however many peers it has. When a round lasts too
long, all get them. Substrate, `sc-consensus-grandpa`, does the same.
"""

from __future__ import annotations

import random

import trio

from cfnode.network.model import NotificationProtocol
from cfnode.node.sync.neighbors import Neighbors
from cfnode.node.sync.rounds import Rounds

__all__ = ["MAX_FIRST", "SLOW_ROUND_S", "VoteRelay"]

MAX_FIRST = 8
"""Peers that get the votes of a round at once: a vote reaches thousands of nodes in four steps."""

SLOW_ROUND_S = 5.0
"""Seconds after which a round is slow: three times what one takes at the official gossip interval, 333 ms."""


class VoteRelay:
    """Which votes each peer has, and who is the next to get them."""

    def __init__(self, protocol: NotificationProtocol, rounds: Rounds, neighbours: Neighbors) -> None:
        self._protocol = protocol
        self._rounds = rounds
        self._neighbours = neighbours
        self._authorities: set[str] = set()
        self._has: dict[str, dict[int, set[bytes]]] = {}
        self._round = (-1, 0)
        self._since = 0.0
        self._first: set[str] | None = set()

    def opened(self, peer: str, *, authority: bool) -> None:
        """A peer has come."""
        self._has[peer] = {}
        if authority:
            self._authorities.add(peer)
        self._choose()

    def forget(self, peer: str) -> None:
        """A peer is gone."""
        self._has.pop(peer, None)
        self._authorities.discard(peer)
        self._choose()

    def has(self, peer: str, number: int, data: bytes) -> None:
        """A peer has sent a vote that is kept."""
        if peer in self._has:
            self._has[peer].setdefault(number, set()).add(data)

    def spread(self, number: int, data: bytes) -> None:
        """Pass a vote on."""
        for peer in list(self._has) if self._first is None else sorted(self._first):
            self._send(peer, number, data)

    def catch(self, peer: str) -> None:
        """A peer has named its round: it gets what it lacks of it."""
        if self._first is None or peer in self._first:
            for number, data in self._rounds.messages():
                self._send(peer, number, data)

    def turn(self) -> None:
        """To be called when a round may have begun, and now and then: choose peers, or widen the choice."""
        now, place = trio.current_time(), (self._rounds.set_id, self._rounds.current)
        if place != self._round:
            self._forget_old(place[0] != self._round[0])
            self._round, self._since, self._first = place, now, set()
            self._choose()
        elif self._first is not None and now >= self._since + SLOW_ROUND_S:
            self._first = None
            for peer in list(self._has):
                self.catch(peer)

    def _forget_old(self, all_rounds: bool) -> None:
        for votes in self._has.values():
            for old in [
                old for old in votes if all_rounds or not self._rounds.expects(old, self._rounds.set_id)
            ]:
                del votes[old]

    def _choose(self) -> None:
        """Authorities first, then the peers that are chosen already, the others by lot."""
        before = self._first
        if before is not None:
            authorities = self._authorities
            lots = {
                peer: (peer not in authorities, peer not in before, random.random()) for peer in self._has
            }
            self._first = set(sorted(lots, key=lambda peer: lots[peer])[:MAX_FIRST])
            for peer in self._first - before:
                self.catch(peer)

    def _send(self, peer: str, number: int, data: bytes) -> None:
        if peer not in self._has or not self._neighbours.takes(peer, self._rounds.set_id, number):
            return
        has = self._has[peer].setdefault(number, set())
        if data not in has and self._protocol.send(peer, data):
            has.add(data)
