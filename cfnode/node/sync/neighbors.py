"""Which packets of our rounds does a peer need, and when would it charge us for one?

A neighbour packet names our set, round and final number: peers send votes and commits by it. Substrate
charges a packet that goes back (a lower set, round or final number), and one that repeats what it knows
within a minute. A commit that we pass on names our final number as well: so the packet goes first, never
after it.

A peer more than two rounds behind asks for the votes of our last completed round, and charges silence. Where
those votes are not here, since a commit has led to this round, such a peer gets a lower round, about which it
does not ask. Substrate, `sc-consensus-grandpa`, gossip of neighbour packets.
"""

from __future__ import annotations

import trio

from cfnode.core.grandpa import NeighborPacket
from cfnode.network.model import NotificationProtocol

__all__ = ["CATCH_UP_THRESHOLD", "NEIGHBOUR_S", "Neighbors"]

NEIGHBOUR_S = 120.0
"""Seconds after which a packet is sent again, as Substrate does."""

MIN_REPEAT_S = 90.0
"""Seconds between two equal packets: a peer takes the second one after sixty by its own clock."""

CATCH_UP_THRESHOLD = 2
"""Rounds that a node may be behind without asking for the votes between."""


class Neighbors:
    """The packets of peers, and ours to them."""

    def __init__(self, protocol: NotificationProtocol) -> None:
        self._protocol = protocol
        self.packets: dict[str, NeighborPacket] = {}
        """The last packet of each peer."""
        self._sent: dict[str, tuple[NeighborPacket, float]] = {}

    def received(self, peer: str, packet: NeighborPacket) -> NeighborPacket | None:
        """A peer has sent a packet; the one before, if any."""
        before = self.packets.get(peer)
        self.packets[peer] = packet
        return before

    def forget(self, peer: str) -> None:
        """A peer is gone; it forgets our packets too."""
        self.packets.pop(peer, None)
        self._sent.pop(peer, None)

    def send(self, peer: str, set_id: int, current: int, completed: int, finalized: int) -> None:
        """Send a packet where it brings news. `completed`: the last round of which all votes are here."""
        number = current if completed >= current - 1 else self._modest(peer, set_id, current)
        sent = self._sent.get(peer)
        if sent is not None and sent[0].set_id == set_id:
            number = max(number, sent[0].round)
        packet = NeighborPacket(number, set_id, finalized)
        if self._is_news(sent, packet) and self._protocol.send(peer, packet.encode()):
            self._sent[peer] = packet, trio.current_time()

    def last_sent(self, peer: str) -> NeighborPacket | None:
        """Our last packet to a peer, if any."""
        sent = self._sent.get(peer)
        return None if sent is None else sent[0]

    def takes(self, peer: str, set_id: int, number: int) -> bool:
        """Does a peer take votes of this round?"""
        packet = self.packets.get(peer)
        return packet is not None and packet.set_id == set_id and abs(packet.round - number) <= 1

    def ahead(self, set_id: int, current: int) -> list[str]:
        """The peers that are too many rounds ahead to follow them by their votes."""
        far = current + CATCH_UP_THRESHOLD
        return [peer for peer, its in self.packets.items() if its.set_id == set_id and its.round > far]

    def _modest(self, peer: str, set_id: int, current: int) -> int:
        """A round about which the peer does not ask; one that has sent no packet is taken to be in the
        first."""
        packet = self.packets.get(peer)
        theirs = packet.round if packet is not None and packet.set_id == set_id else 1
        return min(current, theirs + CATCH_UP_THRESHOLD)

    @staticmethod
    def _is_news(sent: tuple[NeighborPacket, float] | None, packet: NeighborPacket) -> bool:
        if sent is None:
            return True
        before, at = sent
        if packet == before:
            return trio.current_time() >= at + MIN_REPEAT_S
        return packet.set_id >= before.set_id and packet.finalized >= before.finalized
