"""Whom do we want to talk to, and when again?

Reputation follows Substrate's peer store: reports add to a score that fades towards zero, and below a
threshold a peer is banned until the score has faded back. Dialing backs off (`backoff.py`). Time (seconds on
any steady clock) is an argument.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cfnode.network.backoff import BackOff

__all__ = ["BANNED", "Standing"]

BANNED = -(1 << 31) * 71 // 100
FADE = 0.995
"""What is left of a score after a second."""
MAX_PEERS = 4096
"""Peers remembered; of more, those nearest to zero are forgotten."""
FLOOR, CEILING = -(1 << 31), (1 << 31) - 1


@dataclass(slots=True)
class _Record:
    score: float = 0.0
    at: float = 0.0

    def value(self, now: float) -> float:
        return float(self.score * FADE ** max(0.0, now - self.at))


@dataclass(slots=True)
class Standing:
    """What is remembered of peers, connected or not."""

    bans: int = 0
    """How often a peer has been banned."""
    dials: BackOff = field(default_factory=BackOff)
    """When a peer may be called again."""
    _records: dict[str, _Record] = field(default_factory=dict)

    def report(self, peer: str, change: int, now: float) -> bool:
        """Add to the score; True where the peer is banned by it now."""
        record = self._record(peer, now)
        before = record.value(now)
        record.score, record.at = min(CEILING, max(FLOOR, before + change)), now
        self.bans += record.score <= BANNED < before
        return record.score <= BANNED

    def score(self, peer: str, now: float) -> int:
        record = self._records.get(peer)
        return round(record.value(now)) if record else 0

    def banned(self, peer: str, now: float) -> bool:
        return self.score(peer, now) <= BANNED

    def may_dial(self, peer: str, now: float, *, alone: bool = False) -> bool:
        return self.dials.allows(peer, now, alone=alone) and not self.banned(peer, now)

    def _record(self, peer: str, now: float) -> _Record:
        if peer not in self._records and len(self._records) >= MAX_PEERS:
            mildest = min(self._records, key=lambda name: abs(self._records[name].value(now)))
            del self._records[mildest]
        return self._records.setdefault(peer, _Record(at=now))
