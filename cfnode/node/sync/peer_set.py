"""Which peers are there, what has each of them done for us, and whom do we ask first?

A peer's best block is what it says in its handshake and its announcements: a *claim*. It decides whom there
is a point in asking for a block, and never who is asked first. That is decided by what a peer cannot lie
about, its record:

1. peers that have delivered verified answers and rarely failed, the fastest first;
2. peers of whom nothing is known, in an order drawn by lot, so that many new identities are not always first;
3. peers that failed, those with the fewest penalties first.

Records stay when a peer is gone, so that a new connection is no new beginning.
"""

from __future__ import annotations

import random
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import trio

__all__ = ["PATIENCE_S", "STRANGER", "Known", "PeerSet", "Record", "middle"]

PATIENCE_S = 5.0
"""Seconds for an answer; a peer that takes longer gets a penalty."""

MAX_RECORDS = 4_096
"""Peers whose record is kept, connected or not: some hundred bytes each."""

MAX_CREDIT = 64
"""Good answers that count: nobody can save up for more failures than these allow."""

ANSWERS_A_PENALTY = 8
"""Good answers that make up for one failure."""

STRANGER = (1, 1)
"""The rank of a peer of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Known:
    """A peer's best block, as it claims."""

    number: int
    hash: bytes


@dataclass(slots=True)
class Record:
    """What a peer has done: verified answers, their bytes and seconds, and penalties.

    `met`: it has answered at all. `strikes`: its failures of each kind since it last delivered.
    `doubted`: it claimed blocks that it could not give, and has given none since.
    """

    lot: float
    answers: int = 0
    size: int = 0
    seconds: float = 0.0
    penalties: int = 0
    strikes: Counter[str] = field(default_factory=Counter)
    met: bool = False
    doubted: bool = False

    @property
    def in_credit(self) -> bool:
        """Has it delivered, and failed rarely in comparison?"""
        return self.answers > 0 and self.answers >= ANSWERS_A_PENALTY * self.penalties

    @property
    def rank(self) -> tuple[int, int, float, float]:
        """The smaller, the sooner it is asked."""
        if self.in_credit:
            return (0, 0, -self.size / max(self.seconds, 0.001), self.lot)
        if not self.penalties:
            return (1, int(not self.met), 0.0, self.lot)
        return (2, self.penalties, 0.0, self.lot)


def middle(numbers: Sequence[int]) -> int:
    """The median of sorted numbers (the lower one of two), 0 of none: one liar does not move it far."""
    return numbers[(len(numbers) - 1) // 2] if numbers else 0


class PeerSet:
    """The peers that one can sync from. It wakes those who wait for it to change.

    `draw`: the lot of a peer whose record begins.
    """

    def __init__(self, draw: Callable[[], float] = random.random) -> None:
        self._draw = draw
        self._peers: dict[str, Known] = {}
        self._records: OrderedDict[str, Record] = OrderedDict()
        self._changed = trio.Event()

    def __contains__(self, peer: str) -> bool:
        return peer in self._peers

    def __len__(self) -> int:
        return len(self._peers)

    def get(self, peer: str) -> Known | None:
        """What the peer claims; None when it is gone."""
        return self._peers.get(peer)

    def note(self, peer: str, number: int, block_hash: bytes) -> None:
        """A peer has said where it is."""
        self._peers[peer] = Known(number, block_hash)
        self.record(peer)
        self._wake()

    def forget(self, peer: str) -> None:
        """A peer is gone; its record stays."""
        if self._peers.pop(peer, None) is not None:
            self._wake()

    # --- records

    def record(self, peer: str) -> Record:
        """The peer's record; an empty one for a stranger."""
        found = self._records.get(peer)
        if found is None:
            found = self._records[peer] = Record(self._draw())
            self._make_room(peer)
        self._records.move_to_end(peer)
        return found

    def _make_room(self, newest: str) -> None:
        """Strangers that are gone are forgotten first, so that nobody can wash away who has delivered."""
        if len(self._records) <= MAX_RECORDS:
            return
        gone = [peer for peer in self._records if peer not in self._peers and peer != newest]
        useless = (peer for peer in gone if not self._records[peer].answers)
        oldest = next(useless, gone[0] if gone else None)
        if oldest is not None:
            del self._records[oldest]

    def delivered(self, peer: str, size: int, seconds: float) -> None:
        """The peer gave an answer that was verified, in time."""
        record = self.record(peer)
        record.answers = min(record.answers + 1, MAX_CREDIT)
        record.size, record.seconds = record.size + size, record.seconds + seconds
        record.strikes.clear()
        record.met = True

    def penalize(self, peer: str, times: int = 1) -> None:
        """The peer was slow, gave little or could not help: others are asked first."""
        self.record(peer).penalties += times

    def strikes(self, peer: str, failure: str) -> int:
        """Count a failure of the peer; how many of this kind there were since it last delivered."""
        strikes = self.record(peer).strikes
        strikes[failure] += 1
        return strikes[failure]

    def doubt(self, peer: str) -> None:
        """The peer could not give what it claims to have: its claims do not count until it gives blocks."""
        self.record(peer).doubted = True
        self._wake()

    def believe(self, peer: str) -> None:
        """The peer gave blocks beyond ours: its claims count."""
        self.record(peer).doubted = False

    # --- whom to ask

    def candidates(self, least: int = 0) -> list[str]:
        """Those that claim to be at `least` or higher, in the order in which to ask them."""
        found = [peer for peer, known in self._peers.items() if known.number >= least]
        return sorted(found, key=lambda peer: self.record(peer).rank)

    def outdone(self, peer: str, least: int = 0) -> bool:
        """Is there somebody at `least` or higher whose record is better by more than speed?"""
        mine = self.record(peer).rank[:2]
        return any(self.record(other).rank[:2] < mine for other in self.candidates(least) if other != peer)

    def witnesses(self, best: int = 0) -> list[int]:
        """The claims by which a node at `best` may take itself to be in step, lowest first: of peers that
        have delivered, else of all; but none that is higher and could not be made good.
        """
        counts = [
            peer
            for peer, known in self._peers.items()
            if known.number <= best or not self.record(peer).doubted
        ]
        proven = [peer for peer in counts if self.record(peer).answers]
        return sorted(self._peers[peer].number for peer in proven or counts)

    @property
    def highest(self) -> int:
        """The highest claim, 0 without any."""
        return max((known.number for known in self._peers.values()), default=0)

    @property
    def median_claim(self) -> int:
        """The claim in the middle of those that count, 0 without any: for those who look at it."""
        return middle(self.witnesses())

    async def changed(self, seconds: float) -> None:
        """Wait for a change, at most so long."""
        with trio.move_on_after(seconds):
            await self._changed.wait()

    async def until(self, met: Callable[[], bool]) -> None:
        """Wait until a condition over the book is met."""
        while not met():
            await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
