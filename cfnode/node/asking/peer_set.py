"""The connected peers, the record of what each has delivered, and the order in which they are asked.

The best block in a peer's handshake and announcements is a *claim*. A claim decides whether it makes sense to
ask the peer for a block, never the order in which peers are asked. The order comes from something a peer
cannot lie about, its record:

1. peers that have delivered verified answers and rarely failed, the fastest first;
2. unknown peers, in random order, so that many new identities are not always first;
3. peers that failed, those with the fewest penalties first.

A record outlives the connection: a peer that reconnects does not start again from zero.
"""

from __future__ import annotations

import random
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import trio

from cfnode.flow.wakeup import Wakeup

__all__ = ["SLOW_ANSWER_S", "UNKNOWN_RANK", "BestBlockClaim", "PeerRecord", "PeerSet", "lower_median"]

SLOW_ANSWER_S = 5.0
"""Seconds for an answer; a peer that takes longer gets a penalty."""

MAX_RECORDS = 4_096
"""Peers whose record is kept, connected or not: some hundred bytes each."""

MAX_ANSWER_CREDIT = 64
"""Good answers that count: a peer cannot earn a reserve against more failures than these make up for."""

ANSWERS_A_PENALTY = 8
"""Good answers that make up for one failure."""

UNKNOWN_RANK = (1, 1)
"""The rank of a peer that has neither answered nor failed yet."""


@dataclass(frozen=True, slots=True)
class BestBlockClaim:
    """The best block that a peer claims to have."""

    number: int
    hash: bytes


@dataclass(slots=True)
class PeerRecord:
    """A peer's record: verified answers, their bytes and seconds, and penalties.

    `tiebreak`: the random order of peers with equal records. `responsive`: the peer has answered at least
    once. `strikes`: its failures of each kind since its last verified answer. `claims_discounted`: it claimed
    blocks that it could not provide, and has provided none since.
    """

    tiebreak: float
    answers: int = 0
    size: int = 0
    seconds: float = 0.0
    penalties: int = 0
    strikes: Counter[str] = field(default_factory=Counter)
    responsive: bool = False
    claims_discounted: bool = False

    @property
    def in_credit(self) -> bool:
        """Whether the peer has delivered, and rarely failed in comparison."""
        return self.answers > 0 and self.answers >= ANSWERS_A_PENALTY * self.penalties

    @property
    def rank(self) -> tuple[int, int, float, float]:
        """The peer's rank: the lower it is, the earlier the peer is asked."""
        if self.in_credit:
            return (0, 0, -self.size / max(self.seconds, 0.001), self.tiebreak)
        if not self.penalties:
            return (1, int(not self.responsive), 0.0, self.tiebreak)
        return (2, self.penalties, 0.0, self.tiebreak)


def lower_median(numbers: Sequence[int]) -> int:
    """Return the lower median of sorted numbers, 0 without any: one liar does not move it far."""
    return numbers[(len(numbers) - 1) // 2] if numbers else 0


class PeerSet:
    """The connected peers to sync from, and the records of all peers. A task can wait for a change.

    `draw_tiebreak`: returns the tiebreak of a new record.
    """

    def __init__(self, draw_tiebreak: Callable[[], float] = random.random) -> None:
        self._draw_tiebreak = draw_tiebreak
        self._peers: dict[str, BestBlockClaim] = {}
        self._records: OrderedDict[str, PeerRecord] = OrderedDict()
        self._change = Wakeup()

    def __contains__(self, peer: str) -> bool:
        """Return whether the peer is connected."""
        return peer in self._peers

    def __len__(self) -> int:
        """Return the number of connected peers."""
        return len(self._peers)

    def get(self, peer: str) -> BestBlockClaim | None:
        """Return the peer's claim; None for a peer that is not connected."""
        return self._peers.get(peer)

    def update(self, peer: str, number: int, block_hash: bytes) -> None:
        """Record that a peer claims a best block."""
        self._peers[peer] = BestBlockClaim(number, block_hash)
        self.record(peer)
        self._change.notify()

    def forget(self, peer: str) -> None:
        """Record that a peer has disconnected; keep its record."""
        if self._peers.pop(peer, None) is not None:
            self._change.notify()

    # --- records

    def record(self, peer: str) -> PeerRecord:
        """Return the peer's record; an empty one for an unknown peer."""
        record = self._records.get(peer)
        if record is None:
            record = self._records[peer] = PeerRecord(self._draw_tiebreak())
            self._make_room(peer)
        self._records.move_to_end(peer)
        return record

    def _make_room(self, newest: str) -> None:
        """Drop an old record if there are too many, first those of disconnected peers that never delivered.

        A flood of unknown peers must not displace the record of a peer that has delivered.
        """
        if len(self._records) <= MAX_RECORDS:
            return
        disconnected = [peer for peer in self._records if peer not in self._peers and peer != newest]
        useless = (peer for peer in disconnected if not self._records[peer].answers)
        oldest = next(useless, disconnected[0] if disconnected else None)
        if oldest is not None:
            del self._records[oldest]

    def delivered(self, peer: str, size: int, seconds: float) -> None:
        """Record that the peer has sent a verified answer of `size` bytes in `seconds`."""
        record = self.record(peer)
        record.answers = min(record.answers + 1, MAX_ANSWER_CREDIT)
        record.size, record.seconds = record.size + size, record.seconds + seconds
        record.strikes.clear()
        record.responsive = True

    def penalize(self, peer: str, times: int = 1) -> None:
        """Penalize a peer that was slow, gave little or could not help: others are asked first."""
        self.record(peer).penalties += times

    def strikes(self, peer: str, failure: str) -> int:
        """Count a failure of the peer; return how many of this kind there were since it last delivered."""
        strikes = self.record(peer).strikes
        strikes[failure] += 1
        return strikes[failure]

    def discount_claims(self, peer: str) -> None:
        """Discount a peer's claims, since it could not provide what it claims, until it provides blocks."""
        self.record(peer).claims_discounted = True
        self._change.notify()

    def count_claims(self, peer: str) -> None:
        """Count a peer's claims again, since it has provided blocks beyond ours."""
        self.record(peer).claims_discounted = False

    # --- which peers to ask

    def candidates(self, min_number: int = 0) -> list[str]:
        """Return the peers that claim a best block of `min_number` or higher, in the order of asking."""
        peers = [peer for peer, claim in self._peers.items() if claim.number >= min_number]
        return sorted(peers, key=lambda peer: self.record(peer).rank)

    def has_better(self, peer: str, min_number: int = 0) -> bool:
        """Return whether another peer at `min_number` or higher has a record better by more than speed."""
        rank = self.record(peer).rank[:2]
        return any(
            self.record(other).rank[:2] < rank for other in self.candidates(min_number) if other != peer
        )

    def credible_claims(self, best: int = 0) -> list[int]:
        """Return the claims by which a node at `best` may consider itself synced, lowest first.

        They are those of peers that have delivered, or else of all peers. A discounted claim above `best` is
        left out.
        """
        credible = [
            peer
            for peer, claim in self._peers.items()
            if claim.number <= best or not self.record(peer).claims_discounted
        ]
        proven = [peer for peer in credible if self.record(peer).answers]
        return sorted(self._peers[peer].number for peer in proven or credible)

    @property
    def highest_claim(self) -> int:
        """The highest claim; 0 without any."""
        return max((claim.number for claim in self._peers.values()), default=0)

    @property
    def median_claim(self) -> int:
        """The lower median of the credible claims, 0 without any: for JSON-RPC and metrics."""
        return lower_median(self.credible_claims())

    async def wait_changed(self, seconds: float) -> None:
        """Wait for a change, at most `seconds`."""
        with trio.move_on_after(seconds):
            await self._change.wait()

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on the peer set holds."""
        while not condition():
            await self._change.wait()
