"""Reputation of peers and their addresses, bans, and when a peer may be dialed again.

Reputation follows Substrate's peer store: reports add to a score that decays towards zero, and below a
threshold a peer is banned until its score has recovered. Dialing backs off (`backoff.py`). Time (seconds on
any steady clock) is an argument.

A misbehaving node can come back with a new peer id. So an address of the internet takes half of the losses of
the inbound peers at it, and an unknown peer begins with the score of its address. That score never bans a
peer at once: honest nodes may share the address, and one liar must not lock them out. Reserved nodes are
never banned.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from cfnode.network.backoff import BackOff

__all__ = ["BANNED_THRESHOLD", "PeerStore"]

BANNED_THRESHOLD = -(1 << 31) * 71 // 100
DECAY = 0.995
"""The share of a score that remains after a second."""
MAX_PEERS = 4096
"""Peers remembered, and addresses; beyond that, those with scores nearest to zero are forgotten."""
ADDRESS_SHARE = 0.5
"""The share of an inbound peer's losses that its address loses as well."""
MIN_FIRST_SCORE = BANNED_THRESHOLD * 0.9
"""The lowest score of an unknown peer: one serious lie is then enough for a ban."""
MIN_SCORE, MAX_SCORE = -(1 << 31), (1 << 31) - 1


@dataclass(slots=True)
class _StoredPeer:
    score: float = 0.0
    at: float = 0.0

    def value(self, now: float) -> float:
        return float(self.score * DECAY ** max(0.0, now - self.at))


@dataclass(slots=True)
class PeerStore:
    """Reputation and dials of peers, connected or not."""

    exempt: Container[str] = frozenset()
    """Peers that are never banned."""
    bans: int = 0
    """The number of bans so far."""
    dials: BackOff = field(default_factory=BackOff)
    """When a peer may be dialed again."""
    _records: dict[str, _StoredPeer] = field(default_factory=dict)
    _addresses: dict[str, _StoredPeer] = field(default_factory=dict)

    def report(self, peer: str, change: int, now: float, address: str | None = None) -> bool:
        """Add to a peer's score; return whether it is below the ban threshold afterwards.

        Such a peer is banned unless it is `exempt`. `address`: that of an inbound peer, which shares the
        loss.
        """
        if address is not None and change < 0:
            _add(self._addresses, address, change * ADDRESS_SHARE, now)
        exempt = peer in self.exempt
        lowest = BANNED_THRESHOLD if exempt else MIN_SCORE
        before, after = _add(self._records, peer, change, now, lowest=lowest)
        self.bans += after <= BANNED_THRESHOLD < before and not exempt
        return after <= BANNED_THRESHOLD

    def add_stranger(self, peer: str, address: str, now: float) -> None:
        """Give an inbound peer the score of its address, if the peer itself is unknown."""
        if peer not in self._records and address in self._addresses:
            score = max(MIN_FIRST_SCORE, self._addresses[address].value(now))
            _add(self._records, peer, score, now)

    def reset(self, peer: str) -> None:
        """Forget the score of a peer that the user has just reserved."""
        self._records.pop(peer, None)

    def score(self, peer: str, now: float) -> int:
        """Return the reputation of a peer at a time; 0 for an unknown one."""
        record = self._records.get(peer)
        return round(record.value(now)) if record else 0

    def banned(self, peer: str, now: float) -> bool:
        """Return whether the reputation of a peer is below the ban threshold."""
        return peer not in self.exempt and self.score(peer, now) <= BANNED_THRESHOLD

    def may_dial(self, peer: str, now: float, *, isolated: bool = False) -> bool:
        """Return whether the peer is not banned and the wait after its failures is over."""
        return self.dials.allows(peer, now, isolated=isolated) and not self.banned(peer, now)


def _add(
    records: dict[str, _StoredPeer], name: str, change: float, now: float, lowest: float = MIN_SCORE
) -> tuple[float, float]:
    """Add to a score; return the score before and after."""
    if name not in records and len(records) >= MAX_PEERS:
        del records[min(records, key=lambda known: abs(records[known].value(now)))]
    record = records.setdefault(name, _StoredPeer(at=now))
    before = record.value(now)
    record.score, record.at = min(MAX_SCORE, max(lowest, before + change)), now
    return before, record.score
