"""How far is the sync, in the official node's words?

One object that the parts of the sync write and the informant, the RPC and the metrics read. When nothing has
moved for a while, it says what is waited for: silent waiting is what people complain of most.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import islice

import trio

from cfnode.network.model import Network

__all__ = ["STALLED_S", "Phase", "Progress", "alone", "tell_waiting", "with_reasons"]

log = logging.getLogger("cfnode.sync")

MIB = 1 << 20
PACE_S = 60.0
ALMOST = 0.99
"""Shares are estimates: so much at most before all is there."""
MAX_REASONS = 3
NOTHING: Mapping[str, str] = {}
STALLED_S = 15.0
"""Seconds without a step after which the reason is said, each time."""


class Pace:
    """How much of a download has come, how fast does it go, and how long will it take? By its last minute."""

    def __init__(self) -> None:
        self.size = self.keys = 0
        self._share = 0.0
        self._noted: deque[tuple[float, int, float]] = deque()

    def note(self, now: float, size: int, keys: int, share: float) -> None:
        """So many further bytes and keys, and by an estimate this share of the whole, have come by now."""
        self.size += size
        self.keys += keys
        self._share += share
        self._noted.append((now, self.size, self._share))
        while now - self._noted[0][0] > PACE_S:
            self._noted.popleft()

    def line(self) -> str:
        """`, 2.1 MiB/s, 45 %, about 30 s left`; nothing before there is something to go by."""
        if len(self._noted) < 2:
            return ""
        (began, before, first), (now, size, share) = self._noted[0], self._noted[-1]
        seconds, gained = now - began, share - first
        if seconds <= 0 or gained <= 0:
            return ""
        done = min(share, ALMOST)
        left = (1 - done) * seconds / gained
        return f", {(size - before) / seconds / MIB:.1f} MiB/s, {done:.0%}, about {_duration(left)} left"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Phase(Enum):
    """The part of the way that the node is on."""

    PEERS = "Waiting for peers"
    PROOFS = "Downloading finality proofs"
    TARGET = "Downloading target block"
    STATE = "Downloading state"
    IMPORTING = "Importing state"
    BLOCKS = "Syncing"
    DONE = "Idle"


@dataclass(slots=True)
class Progress:
    """Counters of the sync under way; `size` is bytes of proofs or of state. `steps` grows with each step."""

    phase: Phase = Phase.PEERS
    sets: int = 0
    size: int = 0
    keys: int = 0
    target: int | None = None
    waiting_for: str = "no peer is connected yet"
    steps: int = 0
    pace: Pace | None = None

    @property
    def is_syncing(self) -> bool:
        """Is the node behind, or its state not whole?"""
        return self.phase is not Phase.DONE

    @property
    def words(self) -> str | None:
        """The phase and what is waited for, for whoever asks too early; None in step with the chain."""
        return f"{self.phase.value}: {self.waiting_for}" if self.is_syncing else None

    def enter(self, phase: Phase, waiting_for: str) -> None:
        """Begin a phase, or say what is waited for in it: that alone is no step."""
        if phase is not self.phase:
            self.phase, self.size, self.keys = phase, 0, 0
            self.steps += 1
        self.waiting_for = waiting_for

    def step(self, waiting_for: str) -> None:
        """Something has moved on; what is waited for next."""
        self.steps += 1
        self.waiting_for = waiting_for

    def line(self) -> str | None:
        """The informant's words for the phase; None when the node is in step with the chain."""
        amount = f"{self.size / MIB:.2f} MiB"
        match self.phase:
            case Phase.DONE:
                return None
            case Phase.PROOFS:
                return f"⏩ Warping, {self.phase.value}, {self.sets} sets, {amount}"
            case Phase.STATE:
                pace = self.pace.line() if self.pace else ""
                return f"⏩ Warping, {self.phase.value}, {self.keys} keys, {amount}{pace}"
            case Phase.IMPORTING:
                return f"⏩ Warping, {self.phase.value}, {self.keys} keys"
            case Phase.BLOCKS:
                return f"⚙️  {self.phase.value}, target=#{self.target}"
            case _:
                return f"⏩ {self.phase.value}"


def with_reasons(what: str, reasons: Mapping[str, str]) -> str:
    """What is missing, with the first few reasons: by which peer, and why."""
    first = [f"{peer}: {reason}" for peer, reason in islice(reasons.items(), MAX_REASONS)]
    more = [f"{len(reasons) - MAX_REASONS} more"] if len(reasons) > MAX_REASONS else []
    return f"{what} ({'; '.join(first + more)})" if reasons else what


def alone(network: Network, others: Mapping[str, str] = NOTHING) -> str:
    """Why there is no peer, as far as the network knows; `others`: why those that came are of no use."""
    return with_reasons("no peer is connected yet", {**network.unreachable, **others})


async def tell_waiting(progress: Progress) -> None:
    """Until cancelled: one line for each `STALLED_S` in which nothing moved."""
    while True:
        before = progress.steps
        await trio.sleep(STALLED_S)
        if progress.is_syncing and progress.steps == before:
            log.warning("%s: no progress for %d s: %s", progress.phase.value, STALLED_S, progress.waiting_for)
