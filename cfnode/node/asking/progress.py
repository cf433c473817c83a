"""Progress of the sync, in the official node's words, and a warning when it stands still.

The parts of the sync write one `SyncProgress`; informant, JSON-RPC and metrics read it. When nothing has
moved for a while, a warning names what the sync waits for: silent waiting is the most frequent complaint.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import islice

import trio

from cfnode.network.interface import PeerNetwork

__all__ = ["SYNC_STALL_S", "Phase", "SyncProgress", "no_peers_reason", "warn_when_stuck", "with_reasons"]

log = logging.getLogger("cfnode.sync")

MIB = 1 << 20
RATE_WINDOW_S = 60.0
MAX_SHARE = 0.99
"""The highest share reported before the download is complete: shares are estimates."""
MAX_REASONS = 3
NOTHING: Mapping[str, str] = {}
SYNC_STALL_S = 15.0
"""Seconds between warnings while no step is made."""


class DownloadRate:
    """The size and the speed of a download, and an estimate of the time left, by its last minute."""

    def __init__(self) -> None:
        self.size = self.keys = 0
        self._share = 0.0
        self._samples: deque[tuple[float, int, float]] = deque()

    def add(self, now: float, size: int, keys: int, share: float) -> None:
        """Add bytes and keys that have arrived, an estimated `share` of the whole. `now`: seconds."""
        self.size += size
        self.keys += keys
        self._share += share
        self._samples.append((now, self.size, self._share))
        while now - self._samples[0][0] > RATE_WINDOW_S:
            self._samples.popleft()

    def line(self) -> str:
        """Return a text as in `, 2.1 MiB/s, 45 %, about 30 s left`; empty while there are too few samples."""
        if len(self._samples) < 2:
            return ""
        (start, first_size, first_share), (now, size, share) = self._samples[0], self._samples[-1]
        seconds, gained = now - start, share - first_share
        if seconds <= 0 or gained <= 0:
            return ""
        done = min(share, MAX_SHARE)
        eta = (1 - done) * seconds / gained
        return f", {(size - first_size) / seconds / MIB:.1f} MiB/s, {done:.0%}, about {_duration(eta)} left"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Phase(Enum):
    """A stage of the sync, by the name that the informant prints."""

    PEERS = "Waiting for peers"
    PROOFS = "Downloading finality proofs"
    TARGET = "Downloading target block"
    STATE = "Downloading state"
    IMPORTING = "Importing state"
    BLOCKS = "Syncing"
    DONE = "Idle"


@dataclass(slots=True)
class SyncProgress:
    """The state of the sync under way. `size`: bytes of proofs or of state. `steps` grows with each step."""

    phase: Phase = Phase.PEERS
    sets: int = 0
    size: int = 0
    keys: int = 0
    target: int | None = None
    waiting_for: str = "no peer is connected yet"
    steps: int = 0
    rate: DownloadRate | None = None

    @property
    def is_syncing(self) -> bool:
        """Whether the node is behind, or its state incomplete."""
        return self.phase is not Phase.DONE

    @property
    def waiting_text(self) -> str | None:
        """The phase and what it waits for, as an error names them; None when the node is synced."""
        return f"{self.phase.value}: {self.waiting_for}" if self.is_syncing else None

    def enter(self, phase: Phase, waiting_for: str) -> None:
        """Begin a phase, or change what the present one waits for, which is no step."""
        if phase is not self.phase:
            self.phase, self.size, self.keys = phase, 0, 0
            self.steps += 1
        self.waiting_for = waiting_for

    def step(self, waiting_for: str) -> None:
        """Record a step of the sync, and what it waits for next."""
        self.steps += 1
        self.waiting_for = waiting_for

    def line(self) -> str | None:
        """Return the informant's text for the phase; None when the node is synced."""
        amount = f"{self.size / MIB:.2f} MiB"
        match self.phase:
            case Phase.DONE:
                return None
            case Phase.PROOFS:
                return f"⏩ Warping, {self.phase.value}, {self.sets} sets, {amount}"
            case Phase.STATE:
                rate = self.rate.line() if self.rate else ""
                return f"⏩ Warping, {self.phase.value}, {self.keys} keys, {amount}{rate}"
            case Phase.IMPORTING:
                return f"⏩ Warping, {self.phase.value}, {self.keys} keys"
            case Phase.BLOCKS:
                return f"⚙️  {self.phase.value}, target=#{self.target}"
            case _:
                return f"⏩ {self.phase.value}"


def with_reasons(what: str, reasons: Mapping[str, str]) -> str:
    """Return `what` is missing, with the reasons of the first few peers."""
    listed = [f"{peer}: {reason}" for peer, reason in islice(reasons.items(), MAX_REASONS)]
    omitted = [f"{len(reasons) - MAX_REASONS} more"] if len(reasons) > MAX_REASONS else []
    return f"{what} ({'; '.join(listed + omitted)})" if reasons else what


def no_peers_reason(network: PeerNetwork, others: Mapping[str, str] = NOTHING) -> str:
    """Return why there is no peer, as far as the network knows.

    `others`: why peers that connected were of no use.
    """
    return with_reasons("no peer is connected yet", {**network.unreachable, **others})


async def warn_when_stuck(progress: SyncProgress) -> None:
    """Log a warning for each `SYNC_STALL_S` without a step, until cancelled."""
    while True:
        before = progress.steps
        await trio.sleep(SYNC_STALL_S)
        if progress.is_syncing and progress.steps == before:
            log.warning(
                "%s: no progress for %d s: %s", progress.phase.value, SYNC_STALL_S, progress.waiting_for
            )
