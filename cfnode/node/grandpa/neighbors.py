"""Neighbor packets: what a peer needs from us, without packets that it would charge us for.

A neighbor packet names our set, round and final number: peers decide by it which votes and commits to send.
Substrate charges the sender of a packet that goes back (a lower set, round or final number), or that repeats
known values within a minute. A commit that we relay names our final number as well: so the packet is sent
before the commit, never after it.

A peer more than two rounds behind requests the votes of our last completed round, and charges us if no answer
comes. If we lack those votes, since a commit has led to this round, such a peer gets a lower round, for which
it makes no request. Substrate, `sc-consensus-grandpa`, gossip of neighbor packets.
"""

from __future__ import annotations

import trio

from cfnode.core.grandpa import NeighborPacket
from cfnode.network.interface import NotificationProtocol

__all__ = ["CATCH_UP_THRESHOLD", "NEIGHBOR_RESEND_S", "Neighbors"]

NEIGHBOR_RESEND_S = 120.0
"""Seconds after which a packet is sent again, as Substrate does."""

MIN_NEIGHBOR_REPEAT_S = 90.0
"""Seconds between two equal packets: a peer takes the second one after sixty by its own clock."""

CATCH_UP_THRESHOLD = 2
"""Rounds that a node may be behind without asking for the votes between."""


class Neighbors:
    """The last packet of each peer, and our last packet to it."""

    def __init__(self, protocol: NotificationProtocol) -> None:
        self._protocol = protocol
        self.packets: dict[str, NeighborPacket] = {}
        """The last packet of each peer."""
        self._sent: dict[str, tuple[NeighborPacket, float]] = {}

    def received(self, peer: str, packet: NeighborPacket) -> NeighborPacket | None:
        """Record a packet of a peer; return the previous one, None without one."""
        before = self.packets.get(peer)
        self.packets[peer] = packet
        return before

    def forget(self, peer: str) -> None:
        """Forget the packets of a peer that has disconnected: it forgets ours as well."""
        self.packets.pop(peer, None)
        self._sent.pop(peer, None)

    def send(self, peer: str, set_id: int, current: int, completed: int, finalized: int) -> None:
        """Send a packet if it contains news. `completed`: the last round of which we have all votes."""
        number = current if completed >= current - 1 else self._round_without_request(peer, set_id, current)
        sent = self._sent.get(peer)
        if sent is not None and sent[0].set_id == set_id:
            number = max(number, sent[0].round)
        packet = NeighborPacket(number, set_id, finalized)
        if self._is_news(sent, packet) and self._protocol.send(peer, packet.encode()):
            self._sent[peer] = packet, trio.current_time()

    def last_sent(self, peer: str) -> NeighborPacket | None:
        """Return our last packet to a peer; None without one."""
        sent = self._sent.get(peer)
        return None if sent is None else sent[0]

    def accepts_votes(self, peer: str, set_id: int, number: int) -> bool:
        """Return whether a peer accepts votes of this round."""
        packet = self.packets.get(peer)
        return packet is not None and packet.set_id == set_id and abs(packet.round - number) <= 1

    def ahead(self, set_id: int, current: int) -> list[str]:
        """Return the peers that are too many rounds ahead to be followed by their votes."""
        threshold = current + CATCH_UP_THRESHOLD
        return [
            peer
            for peer, packet in self.packets.items()
            if packet.set_id == set_id and packet.round > threshold
        ]

    def _round_without_request(self, peer: str, set_id: int, current: int) -> int:
        """Return a round for which the peer requests no votes.

        A peer without a packet counts as in the first round.
        """
        packet = self.packets.get(peer)
        peer_round = packet.round if packet is not None and packet.set_id == set_id else 1
        return min(current, peer_round + CATCH_UP_THRESHOLD)

    @staticmethod
    def _is_news(sent: tuple[NeighborPacket, float] | None, packet: NeighborPacket) -> bool:
        if sent is None:
            return True
        before, sent_at = sent
        if packet == before:
            return trio.current_time() >= sent_at + MIN_NEIGHBOR_REPEAT_S
        return packet.set_id >= before.set_id and packet.finalized >= before.finalized
