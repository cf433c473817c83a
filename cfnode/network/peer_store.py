"""Whom do we want to talk to, and when again?

Reputation follows Substrate's peer store: reports add to a score that fades towards zero, and below a
threshold a peer is banned until the score has faded back. Dialing backs off (`backoff.py`). Time (seconds
on any steady clock) is an argument.

A liar can come back under a new name. So half of what a stranger loses is also counted against its address,
if that is one of the internet, and a stranger that nobody knows begins with the score of its address,
though never so low that it is banned before it has done anything: an address may be shared by honest nodes,
and one liar must not lock them out. Reserved nodes are never banned.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from cfnode.network.backoff import BackOff

__all__ = ["BANNED", "PeerStore"]

BANNED = -(1 << 31) * 71 // 100
FADE = 0.995
"""What is left of a score after a second."""
MAX_PEERS = 4096
"""Peers remembered, and addresses; of more, those nearest to zero are forgotten."""
SHARE_OF_ADDRESS = 0.5
"""What an address loses of what a stranger that called from there loses."""
LOWEST_BEGINNING = BANNED * 0.9
"""The score with which a stranger begins at least: one serious lie is then enough for a ban."""
FLOOR, CEILING = -(1 << 31), (1 << 31) - 1


@dataclass(slots=True)
class _Record:
    score: float = 0.0
    at: float = 0.0

    def value(self, now: float) -> float:
        return float(self.score * FADE ** max(0.0, now - self.at))


@dataclass(slots=True)
class PeerStore:
    """What is remembered of peers, connected or not."""

    spared: Container[str] = frozenset()
    """Peers that are never banned."""
    bans: int = 0
    """How often a peer has been banned."""
    dials: BackOff = field(default_factory=BackOff)
    """When a peer may be called again."""
    _records: dict[str, _Record] = field(default_factory=dict)
    _addresses: dict[str, _Record] = field(default_factory=dict)

    def report(self, peer: str, change: int, now: float, address: str | None = None) -> bool:
        """Add to the score; True where the peer has lost all trust by it now, and is banned unless it is
        spared. `address`: from where it called, if it is a stranger."""
        if address is not None and change < 0:
            _add(self._addresses, address, change * SHARE_OF_ADDRESS, now)
        spared = peer in self.spared
        before, after = _add(self._records, peer, change, now, floor=BANNED if spared else FLOOR)
        self.bans += after <= BANNED < before and not spared
        return after <= BANNED

    def meet(self, peer: str, address: str, now: float) -> None:
        """A stranger calls from there: if nothing is known of it, it begins with the score of the address."""
        if peer not in self._records and address in self._addresses:
            score = max(LOWEST_BEGINNING, self._addresses[address].value(now))
            _add(self._records, peer, score, now)

    def pardon(self, peer: str) -> None:
        """The user wants this peer: what it has lost is forgotten."""
        self._records.pop(peer, None)

    def score(self, peer: str, now: float) -> int:
        record = self._records.get(peer)
        return round(record.value(now)) if record else 0

    def banned(self, peer: str, now: float) -> bool:
        return peer not in self.spared and self.score(peer, now) <= BANNED

    def may_dial(self, peer: str, now: float, *, alone: bool = False) -> bool:
        return self.dials.allows(peer, now, alone=alone) and not self.banned(peer, now)


def _add(
    records: dict[str, _Record], name: str, change: float, now: float, floor: float = FLOOR
) -> tuple[float, float]:
    """Change a score; what it was and what it is."""
    if name not in records and len(records) >= MAX_PEERS:
        del records[min(records, key=lambda known: abs(records[known].value(now)))]
    record = records.setdefault(name, _Record(at=now))
    before = record.value(now)
    record.score, record.at = min(CEILING, max(floor, before + change)), now
    return before, record.score
